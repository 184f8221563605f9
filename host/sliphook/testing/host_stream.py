"""The plugin's end of the pipes: lines of JSON in, lines of JSON out."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import trio

from sliphook.wire.surrogates import escaping_json

from .process import FakeProcess

_READ_BYTES = 64 * 1024


class Stream:
    """The messages between a fake plugin and the host.

    Args:
        process: the owner of the pipes.
        frozen: awaited before every read and write.
    """

    def __init__(self, process: FakeProcess, frozen: Callable[[], Awaitable[None]]) -> None:
        self._process = process
        self._frozen = frozen
        self._writing = trio.Lock()

    async def messages(self) -> AsyncIterator[dict[str, Any]]:
        """The host's messages, until the host closes the pipe or the process ends.

        Each is one line of JSON between lines of headers.
        """
        waiting = b""
        while not self._process.dead():
            try:
                await trio.lowlevel.wait_readable(self._process.reads)
            except trio.ClosedResourceError:
                return
            await self._frozen()
            # It may have died while it was frozen; then another file may have this descriptor.
            if self._process.dead():
                return
            data = os.read(self._process.reads, _READ_BYTES)
            if not data:
                return
            *lines, waiting = (waiting + data).split(b"\n")
            for line in lines:
                if line.startswith(b"{"):
                    yield msgspec.json.decode(line)

    async def send(self, message: dict[str, Any]) -> None:
        """Send one message; it is lost after the end of the process."""
        await self.write(line_of(message))

    async def write(self, data: bytes) -> None:
        """Write all the bytes, without another message in between."""
        async with self._writing:
            await self._frozen()
            while data := self._process.write(data):
                try:
                    await trio.lowlevel.wait_writable(self._process.writes)
                except trio.ClosedResourceError:
                    return


def line_of(message: dict[str, Any]) -> bytes:
    """The message as a line, with its texts as the SDKs write them.

    Raises:
        Exception: JSON cannot hold a value of it, or a value's own conversion raised.
    """
    return escaping_json({"jsonrpc": "2.0", **message}) + b"\n"
