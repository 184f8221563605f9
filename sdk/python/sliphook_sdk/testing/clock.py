"""The time of calls under test: the real one, or one that jumps."""

from __future__ import annotations

import asyncio
import selectors
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from sliphook_sdk.command.awaited import THREAD
from sliphook_sdk.wire.call import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

ValueT = TypeVar("ValueT")
_MONOTONIC, _SLEEP = time.monotonic, time.sleep
_GRACE_S: Final = 0.005
"""How long an event loop is idle before its time jumps: a thread may have something for it."""


class Clock:
    """Real time, in which calls are cancelled when it is time."""

    def __init__(self) -> None:
        self._alarms: list[_Alarm] = []
        self._lock = threading.Lock()

    @contextmanager
    def alarm(
        self, after_s: float | None, ring: Callable[[], object]
    ) -> Generator[None, None, None]:
        """Call `ring` after so many seconds, unless the block has ended before. None: never."""
        if after_s is None:
            yield
            return
        alarm = _Alarm(time.monotonic() + after_s, ring)
        with self._lock:
            self._alarms.append(alarm)
        alarm.set()
        try:
            yield
        finally:
            with self._lock:
                self._alarms.remove(alarm)
            alarm.stop()

    @contextmanager
    def running(self, call: Call) -> Generator[None, None, None]:
        """While the block runs, the call's handler does."""
        call.arrived = time.monotonic()
        if isinstance(call, ClockCall):
            call.clock = self
        yield

    def wait(self, call: Call, seconds: float) -> bool:
        """See `Call.wait`."""
        return Call.wait(call, seconds)

    def event_loop(self) -> asyncio.AbstractEventLoop:
        """An event loop on this clock."""
        return asyncio.new_event_loop()

    @contextmanager
    def awaiting(self) -> Generator[None, None, None]:
        """While the block runs, an `async def` under test does."""
        yield


class JumpingClock(Clock):
    """Time jumps on where a handler does nothing but wait.

    So it does in `ctx.wait`, in `time.sleep`, and where all tasks of the event loop wait. It is
    real while a command of `ctx.run` or a function of `asyncio.to_thread` runs, and in other
    threads. `time.monotonic` says what time it is, while a call runs.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ahead_s = 0.0
        self._sleeper: int | None = None
        self._awaited = 0
        self._pool = _Pool()

    @contextmanager
    def running(self, call: Call) -> Generator[None, None, None]:
        """While the block runs, the call's handler does, and `time` is this clock's."""
        self._sleeper = threading.get_ident()
        time.monotonic, time.sleep = self._monotonic, cast("Any", self._sleep)
        try:
            with super().running(call):
                yield
        finally:
            time.monotonic, time.sleep = _MONOTONIC, _SLEEP

    def wait(self, call: Call, seconds: float) -> bool:
        """See `Call.wait`; it takes no time."""
        until = self._monotonic() + seconds
        while not call.cancelled and self._monotonic() < until:
            self.jump(until - self._monotonic())
        return call.cancelled

    def jump(self, seconds: float | None) -> bool:
        """Go on by so many seconds, but not beyond the next alarm, which then rings.

        Args:
            seconds: how far; None: to the next alarm.

        Returns:
            False if there is nothing to jump to.
        """
        with self._lock:
            waiting = [alarm for alarm in self._alarms if not alarm.rung]
            first = min(waiting, key=lambda alarm: alarm.at, default=None)
            ends = None if seconds is None else self._monotonic() + seconds
            rings = first is not None and (ends is None or first.at <= ends)
            until = first.at if first is not None and rings else ends
            if until is None:
                return False
            self._ahead_s += max(0.0, until - self._monotonic())
        for alarm in waiting:
            alarm.set()  # what is left of it in real time
        if first is not None and rings:
            first.go_off()
        return True

    def event_loop(self) -> asyncio.AbstractEventLoop:
        """An event loop on this clock."""
        loop = asyncio.SelectorEventLoop(_JumpingSelector(self))
        loop.set_default_executor(self._pool)
        return loop

    @contextmanager
    def awaiting(self) -> Generator[None, None, None]:
        """While the block runs, an `async def` under test does."""
        self._awaited += 1
        try:
            yield
        finally:
            self._awaited -= 1

    def stands_idle(self) -> bool:
        """An `async def` under test runs, and neither a command nor a thread works for it."""
        return (
            self._awaited > 0
            and self._pool.works == 0
            and not any(thread.name == THREAD for thread in threading.enumerate())
        )

    def _monotonic(self) -> float:
        return _MONOTONIC() + self._ahead_s

    def _sleep(self, seconds: float) -> None:
        if threading.get_ident() != self._sleeper:
            _SLEEP(seconds)
            return
        until = self._monotonic() + seconds
        while self._monotonic() < until:
            self.jump(until - self._monotonic())


class ClockCall(Call):
    """A call that waits on a clock."""

    __slots__ = ("clock",)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.clock = Clock()

    def wait(self, seconds: float) -> bool:
        """See `Call.wait`."""
        return self.clock.wait(self, seconds)


class _Alarm:
    """Rings once, when its time comes or is jumped to."""

    def __init__(self, at: float, ring: Callable[[], object]) -> None:
        self.at = at
        self.rung = False
        self._ring = ring
        self._timer: threading.Timer | None = None

    def set(self) -> None:
        self.stop()
        if not self.rung:
            self._timer = threading.Timer(max(0.0, self.at - time.monotonic()), self.go_off)
            self._timer.daemon = True
            self._timer.start()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def go_off(self) -> None:
        self.rung = True
        self._ring()


class _Pool(ThreadPoolExecutor):
    """The threads of `asyncio.to_thread`.

    Attributes:
        works: how many calls are under way.
    """

    def __init__(self) -> None:
        super().__init__()
        self.works = 0

    def submit(self, fn: Callable[..., ValueT], /, *args: Any, **kwargs: Any) -> Future[ValueT]:
        self.works += 1
        future = super().submit(fn, *args, **kwargs)
        # behind the callback that asyncio adds, so that the loop knows of the result by then
        asyncio.get_running_loop().call_soon(future.add_done_callback, self._is_done)
        return future

    def _is_done(self, _: object) -> None:
        self.works -= 1


class _JumpingSelector(selectors.DefaultSelector):
    """Where an event loop would wait, time jumps to what it would wait for."""

    def __init__(self, clock: JumpingClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, Any]]:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if self._clock.stands_idle():
            ready = super().select(_GRACE_S)
            if ready or self._clock.jump(timeout):
                return ready or super().select(0)
        return super().select(timeout)
