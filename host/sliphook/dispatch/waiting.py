"""What every fire under way has in common: tasks wait for its outcome, and it can be given up."""

from __future__ import annotations

from abc import ABC, abstractmethod

import trio

from sliphook.quoting import quote
from sliphook.transport.call import Call, Carrier
from sliphook_sdk.protocol import Payload

from .hook_recorder import HookRecord
from .outcome import Outcome, cancelled_outcome
from .policy import Result


def result_of(call: Call) -> Result:
    """What a settled hook call means to the policy."""
    if call.status == "answered":
        return Result(status="answered", raw=call.result, elapsed_ms=call.elapsed_ms)
    if call.status is None or call.status == "error":
        why = call.why
        if call.error is not None:
            why = f"it answered an error: {quote(call.error.message, 300)} ({call.error.code})"
        return Result(status="refused_answer", error=why, elapsed_ms=call.elapsed_ms)
    return Result(status=call.status, error=call.why, elapsed_ms=call.elapsed_ms)


class PendingOutcome(ABC):
    """The outcome of one fire, from `begin` until it is known.

    A subclass asks the plugins, and calls `_finish` inside whatever settles the last call: an
    answer, a timeout, a death, an interrupt. A task that waits is only woken.

    Args:
        payload: what the hook is about, heavy fields filled in.
        record: what is recorded of it, or None.

    Attributes:
        seq: the payload's.
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
            owned: the caller's cancellation withdraws the calls; False if others wait too.

        Raises:
            trio.Cancelled: the caller was cancelled, or its turn was interrupted and the caller
                runs inside it.
        """
        try:
            await self._read_for_it()
            if self.outcome is None:
                await self._park()
        except BaseException:  # cancelled, or Ctrl+C: the outcome is not wanted any more
            if owned:
                self.withdraw()
            raise
        assert self.outcome is not None
        if self.outcome.cancelled:
            await trio.lowlevel.checkpoint_if_cancelled()
        return self.outcome

    def abandon(self) -> None:
        """The turn has ended: the outcome is `cancelled`; the caller settles the calls."""
        if self.outcome is None:
            self._finish(cancelled_outcome(self._payload))

    def withdraw(self) -> None:
        """Give up: the outcome is `cancelled`, and the calls are cancelled at the plugins."""
        self.abandon()
        self._cancel_calls()

    @abstractmethod
    async def _read_for_it(self) -> None:
        """Read a plugin's pipe in this task, if one answer is all that is missing."""

    @abstractmethod
    def _cancel_calls(self) -> None:
        """Cancel the calls that are under way at the plugins."""

    def _finish(self, outcome: Outcome) -> None:
        self.outcome = outcome
        if self._record is not None:
            self._record.over(outcome)
        for task in self._waiters:
            trio.lowlevel.reschedule(task)
        self._waiters.clear()
        if self._reading is not None:
            self._reading.nudge()

    async def _park(self) -> None:
        task = trio.lowlevel.current_task()
        self._waiters.append(task)

        def give_up(_: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
            self._waiters.remove(task)
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(give_up)
