"""Pure: the params of a large hook, of which many plugins are sent the same bytes."""

from __future__ import annotations

from typing import Final

import msgspec

from sliphook_sdk.framing import frame_head

from . import envelope

SHARED_BYTES: Final = 4 * 1024
"""Params of more bytes are shared. To copy and decode smaller ones takes a few microseconds."""

END: Final = b"}\n"
"""Behind the params: the end of the message, and the newline after it."""

_TIMEOUT: Final = b',"timeout_s":'


class SharedParams:
    """Params whose timeout alone differs from plugin to plugin: nothing else is made anew.

    Attributes:
        rest: what follows the timeout.
    """

    __slots__ = ("_before", "_timeout", "rest")

    def __init__(self, before: bytes, timeout: bytes, rest: memoryview) -> None:
        self._before = before
        self._timeout = timeout
        self.rest = rest

    @classmethod
    def cut(cls, params: msgspec.Raw, before: bytes, timeout_s: float) -> SharedParams | None:
        """Cut params that are whole; None if they do not begin so.

        Args:
            params: an object, as `envelope.encode` writes it.
            before: what stands before its timeout.
            timeout_s: that timeout.
        """
        timeout = _TIMEOUT + envelope.encode(timeout_s)
        end = len(before) + len(timeout)
        whole = memoryview(params)
        if bytes(whole[:end]) != before + timeout:
            return None
        return cls(before, timeout, whole[end:])

    def with_timeout(self, timeout_s: float) -> SharedParams:
        """The same with another timeout."""
        return SharedParams(self._before, _TIMEOUT + envelope.encode(timeout_s), self.rest)

    def __len__(self) -> int:
        return len(self._before) + len(self._timeout) + len(self.rest)

    def whole(self) -> msgspec.Raw:
        """The params in one piece."""
        return msgspec.Raw(b"".join([self._before, self._timeout, self.rest]))

    def request(self, id: int, method: str, traceparent: str | None) -> bytes:
        """The frame of a request, up to `rest`; arguments as in `envelope.request`."""
        head = envelope.request_head(id, method, traceparent)
        return self._frame(head + self._before + self._timeout)

    def event(self, method: str, traceparent: str | None) -> bytes:
        """The frame of the event that tells the same, up to `rest`: it has no timeout."""
        return self._frame(envelope.notification_head(method, traceparent) + self._before)

    def _frame(self, head: bytes) -> bytes:
        return frame_head(head, len(self.rest) + len(END))
