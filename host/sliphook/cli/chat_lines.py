"""A chat without a terminal: each line of stdin is a message, the model's text is stdout."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from typing import Final

import click
import trio

from sliphook.agent.display import PlainDisplay
from sliphook.agent.questions import Question

from .chat_face import Listener

__all__ = ["Lines"]

_AHEAD: Final = 16
"""Lines that are read before their turn has come; `/stop` among them works at once."""
_READ_BYTES: Final = 65_536


class Lines:
    """See `Face`. Nobody is asked anything: who writes into a pipe does not read on the other side of it."""

    asks = False
    write = None

    def __init__(self) -> None:
        self.display = PlainDisplay()

    async def talk(self, listener: Listener) -> None:
        """Take the lines in their order, each when the one before has its reply; return at their end."""
        send, receive = trio.open_memory_channel[str](_AHEAD)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_read, send, listener)
            async for line in receive:
                message = listener.line(line)
                if message is not None:
                    await message.wait()
        listener.end()

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


async def _read(send: trio.MemorySendChannel[str], listener: Listener) -> None:
    """Read ahead. `/stop` does not wait for what it shall stop."""
    async with send, contextlib.aclosing(_lines()) as lines:
        async for line in lines:
            if line.strip() == "/stop":
                listener.line(line)
            elif line.strip():
                await send.send(line)


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
