"""A chat without a terminal: each line of stdin is a message, the model's text is stdout."""

from __future__ import annotations

import contextlib
import os
import sys
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from typing import Final

import click
import trio

from sliphook.agent.display import PlainDisplay
from sliphook.agent.questions import Question
from sliphook.agent.replies import Pending

from .chat_face import Listener

__all__ = ["Lines"]

_AHEAD: Final = 16
"""Lines that are read before their turn has come; `/stop` does not wait for its own, and drops those before it."""
_READ_BYTES: Final = 65_536


class Lines:
    """See `Face`. Nobody is asked anything: who writes into a pipe does not read on the other side of it."""

    asks = False
    write = None

    def __init__(self) -> None:
        self.display = PlainDisplay()
        self._ahead: deque[str] = deque()
        self._room = trio.Semaphore(_AHEAD)
        self._busy = False

    async def talk(self, listener: Listener) -> None:
        """Take the lines in their order, each when the one before has its reply; return at their end."""
        async with trio.open_nursery() as nursery, contextlib.aclosing(_lines()) as lines:
            async for line in lines:
                if line.strip() == "/stop":
                    self._drop()
                    listener.line(line)
                elif line.strip():
                    await self._room.acquire()
                    self._ahead.append(line)
                    if not self._busy:
                        self._busy = True
                        nursery.start_soon(self._answer, listener, self._next(listener))
        listener.end()

    async def _answer(self, listener: Listener, message: Pending | None) -> None:
        while True:
            if message is not None:
                await message.wait()
            if not self._ahead:
                self._busy = False
                return
            message = self._next(listener)

    def _next(self, listener: Listener) -> Pending | None:
        self._room.release()
        return listener.line(self._ahead.popleft())

    def _drop(self) -> None:
        while self._ahead:
            self._ahead.pop()
            self._room.release()

    def say(self, text: str) -> None:
        """See `Face`."""
        click.echo(text)

    def ask(self, question: Question | None) -> None:
        """See `Face`; never called."""

    def working(self, busy: bool) -> None:
        """See `Face`."""

    def progress(self, line: str) -> None:
        """See `Face`."""

    def offer(self, commands: Mapping[str, str]) -> None:
        """See `Face`."""

    def forget_typed(self) -> None:
        """See `Face`."""


async def _lines() -> AsyncGenerator[str]:
    """The lines of stdin, the last one also without its end."""
    begun = b""
    descriptor = sys.stdin.fileno()
    while True:
        try:
            # a thread, for stdin may be a file; and not through `sys.stdin`, whose lock a reader would hold when the program ends
            piece = await trio.to_thread.run_sync(os.read, descriptor, _READ_BYTES, abandon_on_cancel=True)
        except OSError:
            piece = b""
        *whole, begun = (begun + piece).split(b"\n")
        if not piece and begun:
            whole.append(begun)
        for line in whole:
            yield line.decode("utf-8", "replace").rstrip("\r")
        if not piece:
            return
