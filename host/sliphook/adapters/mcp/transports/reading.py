"""The server's output: lines, some of which are dealt with as soon as they are read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sliphook.errors import SliphookError


class LineTooLong(SliphookError):
    """A line is longer than lines may be."""


class LineReader(asyncio.Protocol):
    """Cuts what comes into lines.

    Args:
        most_bytes: what a line may have.
        at_once: is offered a line that came alone, if none waits. Returns True if it has dealt
            with it. This saves a pass of the loop. Must not raise.
    """

    def __init__(self, most_bytes: int, at_once: Callable[[bytes], bool]) -> None:
        self._most_bytes = most_bytes
        self._at_once = at_once
        self._buffer = bytearray()
        self._scanned = 0  # bytes that hold no end of a line
        self._pipe: asyncio.ReadTransport | None = None
        self._is_paused = False
        self._has_ended = False
        self._waiter: asyncio.Future[None] | None = None

    async def line(self) -> bytes | None:
        """The next line with its end; None at the end of the output. For one task.

        Raises:
            LineTooLong: it is; nothing more can be read.
        """
        buffer = self._buffer
        while True:
            end = buffer.find(b"\n", self._scanned)
            if max(end, 0) > self._most_bytes or (end < 0 and len(buffer) > self._most_bytes):
                raise LineTooLong
            if end >= 0:
                line = bytes(buffer[: end + 1])
                del buffer[: end + 1]
                self._scanned = 0
                self._read_on()
                return line
            if self._has_ended:
                return None
            self._scanned = len(buffer)
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        assert isinstance(transport, asyncio.ReadTransport)
        self._pipe = transport

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        if self._has_ended:
            return
        if not self._buffer and data.find(b"\n") == len(data) - 1 and self._at_once(data):
            return
        self._buffer += data
        # as in `asyncio.StreamReader`: a whole line always fits
        if len(self._buffer) > 2 * self._most_bytes and self._pipe is not None:
            self._is_paused = True
            self._pipe.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self.end()

    def end(self) -> None:
        """Nothing more is read; what has been read is still passed on."""
        self._has_ended = True
        self._wake()

    def _read_on(self) -> None:
        if self._is_paused and len(self._buffer) <= self._most_bytes and self._pipe is not None:
            self._is_paused = False
            self._pipe.resume_reading()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
