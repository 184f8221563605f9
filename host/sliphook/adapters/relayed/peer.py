"""One of our MCP servers, on the connection that it has opened to the daemon."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from typing import Any, Final

import msgspec
import trio

from sliphook import HostError

from .messages import ANSWER, MAX_ANSWER_BYTES, PersonAnswer, PersonQuestion, QuestionOver, Said

SETTLE_S: Final = 1.0
"""How long a client may take to read that a question is over."""


class Peer:
    """One connection, on which a reply is a line, and so is an answer.

    Args:
        socket: the connection.
    """

    def __init__(self, socket: trio.socket.SocketType) -> None:
        self._socket = socket
        self._saying = trio.Lock()
        self._ids = count(1)
        self._questions: dict[int, trio.MemorySendChannel[PersonAnswer]] = {}

    async def say(self, said: Said) -> None:
        """Send one reply.

        Raises:
            OSError: the peer is gone.
        """
        view = memoryview(msgspec.json.encode(said) + b"\n")
        async with self._saying:
            while view:
                view = view[await self._socket.send(view) :]

    async def ask(self, prompt: str, schema: dict[str, Any]) -> dict[str, Any] | None:
        """Have the client's person asked; None if they decline.

        Raises:
            HostError: they cannot be asked.
        """
        id = next(self._ids)
        self._questions[id], answered = trio.open_memory_channel[PersonAnswer](1)
        settled = False
        try:
            await self.say(PersonQuestion(id, prompt, schema))
            answer = await answered.receive()
            settled = True
        except OSError as error:
            raise HostError(f"the client is gone: {error}") from None
        finally:
            del self._questions[id]
            if not settled:
                with trio.move_on_after(SETTLE_S, shield=True), suppress(OSError):
                    await self.say(QuestionOver(id))
        if answer.failed is not None:
            raise HostError(answer.failed)
        return answer.content

    async def gone(self) -> None:
        """Take the peer's answers; return when it has closed the connection."""
        read = b""
        try:
            while (piece := await self._socket.recv(4096)) and len(read) < MAX_ANSWER_BYTES:
                *lines, read = (read + piece).split(b"\n")
                for line in lines:
                    self._take(line)
        except OSError:
            pass

    def _take(self, line: bytes) -> None:
        with suppress(msgspec.DecodeError, UnicodeDecodeError):  # what is no answer is dropped
            answer = ANSWER.decode(line)
            if (asked := self._questions.get(answer.id)) is not None:
                with suppress(trio.WouldBlock):  # the first answer counts
                    asked.send_nowait(answer)
