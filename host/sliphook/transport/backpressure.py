"""When to stop reading one plugin's pipe: the pipe then fills, and the plugin's writes block."""

from __future__ import annotations

import trio

from sliphook_sdk.protocol.limits import (
    MAX_UNASKED_BYTES_PER_SECOND,
    MAX_UNASKED_MESSAGES_PER_SECOND,
)


class Backpressure:
    """Counts what a plugin sends unasked, in windows of a second.

    A reply to a request of the host is not counted: the host itself has set its pace. Unlike a
    `RateLimit`, nothing is left out; what is too much is read later.

    Attributes:
        exceeded: the window has more than it may. Only then `rest_until` has to be asked, so the
            usual read costs no call.
    """

    __slots__ = ("_bytes", "_messages", "_window_s", "exceeded")

    def __init__(self) -> None:
        self._window_s = 0.0
        self._messages = 0
        self._bytes = 0
        self.exceeded = False

    def count(self, size: int) -> None:
        """Something of `size` bytes was sent unasked."""
        if not self._messages:
            self._window_s = trio.current_time()
        # A window that is not exceeded has no end: how old it is matters only in `rest_until`.
        self._messages += 1
        self._bytes += size
        self.exceeded = (
            self._messages > MAX_UNASKED_MESSAGES_PER_SECOND
            or self._bytes > MAX_UNASKED_BYTES_PER_SECOND
        )

    def rest_until(self) -> float | None:
        """When reading may go on, by `trio.current_time()`; None: now."""
        if not self.exceeded:
            return None
        end_s = self._window_s + 1.0
        if trio.current_time() < end_s:
            return end_s
        # the rest is over, or the plugin took more than a second to send so much
        self._messages = self._bytes = 0
        self.exceeded = False
        return None
