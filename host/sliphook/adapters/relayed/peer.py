"""One of our MCP servers, on the connection that it has opened to the daemon."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import Any, Final, NamedTuple

import msgspec
import trio

from sliphook import HostError
from sliphook.wire.decoding import DECODE_ERRORS

from .messages import (
    ANSWER,
    MAX_ANSWER_BYTES,
    PersonAnswer,
    PersonQuestion,
    Progressed,
    QuestionOver,
    Said,
)

_MOST_WAITING: Final = 32
"""Lines for a peer that does not read."""
_MOST_PROGRESS: Final = 16
"""Of these; more progress is left out."""


class _Line(NamedTuple):
    line: bytes
    sent: trio.Event | None = None


class Peer:
    """One request, and the lines that answer it; `talking` makes it."""

    def __init__(self, socket: trio.socket.SocketType) -> None:
        self._socket = socket
        self._put, self._get = trio.open_memory_channel[_Line](_MOST_WAITING)
        self._ids = count(1)
        self._asked: dict[int, trio.MemorySendChannel[PersonAnswer]] = {}

    async def say(self, said: Said) -> None:
        """Send a line, behind those that wait."""
        await self.say_line(_line(said).line)

    async def say_line(self, line: bytes) -> None:
        """The same for what is encoded, with the end of its line."""
        sent = trio.Event()
        await self._put.send(_Line(line, sent))
        await sent.wait()

    def progressed(self, fraction: float | None, message: str | None) -> None:
        """Send how far it has come; left out if much waits. Never waits."""
        if self._put.statistics().current_buffer_used < _MOST_PROGRESS:
            self._put.send_nowait(_line(Progressed(fraction, message)))

    async def ask(self, prompt: str, schema: dict[str, Any]) -> dict[str, Any] | None:
        """Have the client's person asked; None if they decline.

        Raises:
            HostError: they cannot be asked, or the request is over.
        """
        id = next(self._ids)
        self._asked[id], answered = trio.open_memory_channel[PersonAnswer](1)
        try:
            await self._put.send(_line(PersonQuestion(id, prompt, schema)))
            answer = await answered.receive()
        except (trio.EndOfChannel, trio.ClosedResourceError):
            raise HostError("the call is over") from None
        except trio.Cancelled:
            self._withdraw(id)
            raise
        finally:
            del self._asked[id]
        if answer.failed is not None:
            raise HostError(answer.failed)
        return answer.content

    def _withdraw(self, id: int) -> None:
        """The question is over. A peer that reads nothing is not told; the call's end tells it."""
        with suppress(trio.WouldBlock, trio.ClosedResourceError):
            self._put.send_nowait(_line(QuestionOver(id)))

    def end(self) -> None:
        """The request is over, and with it what it asks; what waits is still sent."""
        self._put.close()
        for asked in self._asked.values():
            asked.close()

    async def read(self, gone: trio.CancelScope) -> None:
        """Take the peer's answers; cancel the scope when it has closed the connection."""
        read = bytearray()
        with suppress(OSError):
            while (piece := await self._socket.recv(4096)) and len(read) <= MAX_ANSWER_BYTES:
                read += piece
                while (end := read.find(b"\n")) >= 0:
                    self._take(bytes(read[:end]))
                    del read[: end + 1]
                    await trio.lowlevel.checkpoint()  # a peer may send thousands of empty lines
        gone.cancel()

    def _take(self, line: bytes) -> None:
        # dropped is what is no answer, a second one, and one that comes too late
        with suppress(*DECODE_ERRORS, trio.WouldBlock, trio.ClosedResourceError):
            answer = ANSWER.decode(line)
            if (asked := self._asked.get(answer.id)) is not None:
                asked.send_nowait(answer)

    async def write(self, done: trio.CancelScope) -> None:
        """Send the lines, each as a whole; cancel the scope behind the last one."""
        with suppress(OSError):
            async for line, sent in self._get:
                view = memoryview(line)
                while view:
                    view = view[await self._socket.send(view) :]
                if sent is not None:
                    sent.set()
        done.cancel()


@asynccontextmanager
async def talking(socket: trio.socket.SocketType) -> AsyncGenerator[Peer]:
    """Talk with a peer; when it is gone, the block is cancelled.

    Args:
        socket: the connection.
    """
    peer = Peer(socket)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(peer.read, nursery.cancel_scope)
        nursery.start_soon(peer.write, nursery.cancel_scope)
        try:
            yield peer
        finally:
            peer.end()


def _line(said: Said) -> _Line:
    return _Line(msgspec.json.encode(said) + b"\n")
