"""One watchdog for all timeouts: a call costs two dictionary operations instead of a cancel scope.

Entries with the same timeout expire in the order in which they were added, so each timeout has a
queue of its own, and only the heads have to be looked at. An entry that is removed in time leaves
nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import perf_counter
from typing import Protocol

import trio

from sliphook.agent_log import agent_log

_log = agent_log(__name__)
BLOCKED_LOOP_S = 0.25
"""A watchdog that wakes later than this found the loop blocked by the agent itself."""
PASS_S = 0.005
"""What expires together is told for so long, then other tasks run: there may be thousands."""


class Expiring(Protocol):
    """Something that may not take for ever."""

    def expired(self, late_s: float) -> None:
        """The deadline has passed, `late_s` seconds ago; must not raise."""
        ...


class Deadlines:
    """The deadlines of one host. Times are `trio.current_time()`.

    An item may wait once for each timeout.
    """

    def __init__(self) -> None:
        self._queues: dict[float, dict[Expiring, float]] = {}
        # a scope that is never entered: `add` may come before the watchdog runs
        self._sleep = trio.CancelScope()
        self._wakes_at = inf

    def add(self, item: Expiring, timeout_s: float, now: float | None = None) -> None:
        """Call `item.expired` in `timeout_s` unless it is removed; added again, it waits anew.

        Args:
            item: what expires.
            timeout_s: in how many seconds.
            now: `trio.current_time()`, if the caller has it already.
        """
        deadline = (trio.current_time() if now is None else now) + timeout_s
        queue = self._queues.get(timeout_s)
        if queue is None:
            queue = self._queues[timeout_s] = {}
        queue.pop(item, None)  # its old place would hold up those behind it
        queue[item] = deadline
        # usually it is not the next to expire, and the scope, with trio's heap, is left alone
        if deadline < self._wakes_at:
            self._wakes_at = self._sleep.deadline = deadline

    def remove(self, item: Expiring, timeout_s: float) -> None:
        """Forget `item`; does nothing if it has expired or was never added."""
        queue = self._queues.get(timeout_s)
        if queue is not None:
            # the watchdog is not told: at worst it wakes once for nothing
            queue.pop(item, None)
            # timeouts may be any number: empty queues would pile up, and each is looked at
            if not queue:
                del self._queues[timeout_s]

    @trio.lowlevel.enable_ki_protection
    async def run(self) -> None:
        """The watchdog; runs until it is cancelled."""
        while True:
            # computed anew: what has just expired may have added and removed others
            self._wakes_at = min(
                (next(iter(queue.values())) for queue in self._queues.values()), default=inf
            )
            with trio.CancelScope(deadline=self._wakes_at) as self._sleep:
                await trio.sleep_forever()
            now, until = trio.current_time(), perf_counter() + PASS_S
            for timeout_s in list(self._queues):
                # looked up each time: what expires may remove and add others, and the queue with
                # them
                while queue := self._queues.get(timeout_s):
                    item, deadline = next(iter(queue.items()))
                    if deadline > now:
                        break
                    # before it is told, as it may add itself again
                    self.remove(item, timeout_s)
                    try:
                        item.expired(now - deadline)
                    except (
                        Exception
                    ):  # a fault of the host: it must not end the watchdog, and with it the agent
                        _log.exception("what a timeout should have done failed")
                    if perf_counter() > until:
                        await trio.lowlevel.checkpoint()
                        until = perf_counter() + PASS_S


class Timer:
    """A deadline that calls a function."""

    def __init__(self, action: Callable[[], None]) -> None:
        self._action = action

    def expired(self, late_s: float) -> None:
        """Call it (see `Deadlines`)."""
        del late_s
        self._action()


class IdleTimer:
    """Calls a function once `restart` has not been called for a while.

    To restart it while it runs costs a flag: it fires `span_s` to twice `span_s` after the last
    restart.

    Args:
        deadlines: the host's deadlines.
        span_s: the while, in seconds.
        action: the function.
    """

    def __init__(self, deadlines: Deadlines, span_s: float, action: Callable[[], None]) -> None:
        self._deadlines = deadlines
        self._span_s = span_s
        self._action = action
        self._runs = False
        self._restarted = False

    def restart(self) -> None:
        """Have the function called later, however soon it would have been."""
        # only a flag: to move the deadline each time would cost two dictionary operations
        self._restarted = True
        if not self._runs:
            self._runs = True
            self._deadlines.add(self, self._span_s)

    def stop(self) -> None:
        """Have it not called until the next `restart`."""
        if self._runs:
            self._runs = False
            self._deadlines.remove(self, self._span_s)

    def expired(self, late_s: float) -> None:
        """Go on, or call the function (see `Deadlines`)."""
        del late_s
        if self._restarted:
            self._restarted = False
            self._deadlines.add(self, self._span_s)
        else:
            self._runs = False
            self._action()
