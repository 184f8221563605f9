"""The base of both kinds of fires: tasks can wait for the outcome, and the fire can be given up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

import trio

from sliphook.agent_log import agent_log
from sliphook.quoting import quote
from sliphook.transport.call import Call, Carrier
from sliphook_sdk.protocol import Payload

from .hook_recorder import HookRecord
from .outcome import Outcome, cancelled_outcome
from .parking import park, wake
from .shares import Result

_log = agent_log(__name__)

R = TypeVar("R")


def result_of(call: Call) -> Result:
    """Turn a settled call of a hook into the policy's result."""
    if call.status == "answered":
        return Result(status="answered", raw=call.result, elapsed_ms=call.elapsed_ms)
    if call.status is None or call.status == "error":
        why = call.why
        if call.error is not None:
            why = f"it answered with an error: {quote(call.error.message, 300)} ({call.error.code})"
        return Result(status="refused_answer", error=why, elapsed_ms=call.elapsed_ms)
    return Result(status=call.status, error=call.why, elapsed_ms=call.elapsed_ms)


def read_or_refuse(read: Callable[[Result], R], result: Result) -> R:
    """What `read` makes of a result, or of a refused answer if it fails, by a fault of the host.

    The outcome must come all the same: someone waits for it, and a guard that fails closed denies.
    """
    try:
        return read(result)
    except Exception as error:
        _log.exception("a fault of the host: an answer could not be read")
        why = f"the host failed to read its answer: {quote(repr(error), 200)}"
        elapsed_ms = result.elapsed_ms
        return read(Result(status="refused_answer", error=why, elapsed_ms=elapsed_ms))


class PendingOutcome(ABC):
    """The outcome of one fire, from the first request until it is known.

    A subclass asks the plugins. It calls `_finish` inside the code that settles the last call: an
    answer, a timeout, the death of a plugin, or an interrupt. A task that waits is only woken.

    Args:
        payload: the hook's payload, heavy fields filled in.
        record: takes the outcome, or None.

    Attributes:
        seq: the payload's `seq`.
        outcome: None while the fire is under way.
    """

    __slots__ = ("_payload", "_reading", "_record", "_waiters", "outcome", "seq")

    def __init__(self, payload: Payload, record: HookRecord | None) -> None:
        self.seq = payload.seq
        self.outcome: Outcome | None = None
        self._payload = payload
        self._record = record
        self._reading: Carrier | None = None
        self._waiters: list[trio.lowlevel.Task] = []

    async def wait(self, *, owned: bool = True) -> Outcome:
        """Wait for the outcome.

        Args:
            owned: if the caller is cancelled, withdraw the calls; False if other tasks wait too.

        Raises:
            trio.Cancelled: the caller was cancelled, or its turn was interrupted and the caller
                runs inside it.
        """
        try:
            await self._read_for_it()
            if self.outcome is None:
                await park(self._waiters)
        except BaseException:  # cancelled, or Ctrl+C: the caller does not want the outcome now
            if owned:
                self.withdraw()
            raise
        assert self.outcome is not None
        if self.outcome.cancelled:
            # an interrupt also cancels the turn's scope: if the caller is inside it, raise that now
            await trio.lowlevel.checkpoint_if_cancelled()
        return self.outcome

    def abandon(self) -> None:
        """Make the outcome `cancelled` because the turn has ended; the caller settles the calls."""
        if self.outcome is None:
            self._finish(cancelled_outcome(self._payload))

    def withdraw(self) -> None:
        """Make the outcome `cancelled`, and cancel the calls at the plugins."""
        self.abandon()
        self._cancel_calls()

    @abstractmethod
    async def _read_for_it(self) -> None:
        """Read a plugin's pipe in this task if only that plugin's answer is missing."""

    @abstractmethod
    def _cancel_calls(self) -> None:
        """Cancel the calls that are still open at the plugins."""

    def _finish(self, outcome: Outcome) -> None:
        self.outcome = outcome
        if self._record is not None:
            self._record.over(outcome)
        if self._waiters:
            wake(self._waiters)
        if self._reading is not None:
            # a timeout or an interrupt makes no pipe readable: wake the task that reads
            self._reading.nudge()
