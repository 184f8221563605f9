"""One message of the host while a handler works on it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from .given import check_number

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from typing import Any

    import msgspec


class Call:
    """A request, or a notification if `id` is None.

    Attributes:
        id: the host's id of the request.
        method: the method.
        params: the params as JSON, not yet decoded.
        traceparent: the agent's span that the call is part of, or None.
        arrived: when it was read, on `time.monotonic()`.
        begun: its handler runs or has run.
        cancelled: the host has withdrawn the request; it no longer waits for the answer.
        cancelled_at: when it did, on `time.monotonic()`; None if it has not.
        stop: called on a cancel, in the thread that reads it; an engine sets it.
        written: called when the reply to a direct handler's call is written.
    """

    __slots__ = (
        "_wakes",
        "_woken",
        "arrived",
        "begun",
        "cancelled",
        "cancelled_at",
        "id",
        "method",
        "params",
        "stop",
        "traceparent",
        "written",
    )

    def __init__(
        self, id: int | str | None, method: str, params: msgspec.Raw, traceparent: str | None = None
    ) -> None:
        self.id = id
        self.method = method
        self.params = params
        self.traceparent = traceparent
        self.arrived = time.monotonic()
        self.begun = False
        self.cancelled = False
        self.cancelled_at: float | None = None
        self.stop: Callable[[], object] | None = None
        self.written: Callable[[], object] | None = None
        self._woken: threading.Event | None = None
        self._wakes: list[threading.Event] = []

    def cancel(self) -> None:
        """Tell the handler that its answer is no longer wanted. A second call changes nothing."""
        self.cancelled_at = self.cancelled_at or time.monotonic()
        # set before the event: `wait` looks at it after it has made its event
        self.cancelled = True
        if self._woken is not None:
            self._woken.set()
        for wake in tuple(self._wakes):
            wake.set()
        if self.stop is not None:
            self.stop()

    def wait(self, seconds: float) -> bool:
        """Sleep until the call is cancelled or the time is up; True if it is cancelled."""
        check_number("seconds", seconds)
        if self._woken is None:
            self._woken = threading.Event()
        # checked after the event exists, so that a cancel in between is not missed
        if self.cancelled:
            return True
        return self._woken.wait(seconds)

    def wait_for(self, future: Future[Any]) -> bool:
        """Wait until the future is done; False as soon as the call is cancelled before."""
        wake = threading.Event()
        self._wakes.append(wake)
        try:
            future.add_done_callback(lambda _: wake.set())
            # checked after the event is there, so that a cancel in between is not missed
            if not self.cancelled:
                wake.wait()
            return future.done()
        finally:
            self._wakes.remove(wake)
