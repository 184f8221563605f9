"""One message of the host on its way through a handler."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import msgspec


class Call:
    """A request, or a notification where `id` is None.

    Attributes:
        id: the host's id of the request.
        method: the method.
        params: the params as they came, undecoded.
        traceparent: the agent's span that it is part of; None where it has none.
        arrived: when it was read, on `time.monotonic()`.
        cancelled: the host withdrew it; its answer is dropped.
        stop: what else a cancel does, set by whoever works on the call; it is called in the thread
            that read the cancel.
    """

    __slots__ = ("_woken", "arrived", "cancelled", "id", "method", "params", "stop", "traceparent")

    def __init__(
        self, id: int | str | None, method: str, params: msgspec.Raw, traceparent: str | None = None
    ) -> None:
        self.id = id
        self.method = method
        self.params = params
        self.traceparent = traceparent
        self.arrived = time.monotonic()
        self.cancelled = False
        self.stop: Callable[[], object] | None = None
        self._woken: threading.Event | None = None

    def cancel(self) -> None:
        """Tell the handler that nobody waits any more. A second time changes nothing."""
        self.cancelled = True
        if self._woken is not None:
            self._woken.set()
        if self.stop is not None:
            self.stop()

    def wait(self, seconds: float) -> bool:
        """Sleep until the call is cancelled or the time is up; True where it is cancelled."""
        if self._woken is None:
            self._woken = threading.Event()
        if (
            self.cancelled
        ):  # looked at after the event is in place, so that a cancel in between is seen
            return True
        return self._woken.wait(seconds)
