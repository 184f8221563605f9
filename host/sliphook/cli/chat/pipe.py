"""A chat without a terminal: each line of stdin is a message, the model's text goes to stdout."""

from __future__ import annotations

import contextlib
import os
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TYPE_CHECKING, Final

import trio

from sliphook.agent.chat.replies import PendingMessage
from sliphook.agent.ui.display import PlainDisplay
from sliphook.agent.ui.filling import Question
from sliphook.cli.tracing import stderr_of

from .frontend import Listener

if TYPE_CHECKING:
    from sliphook.trace.record import TraceSink

__all__ = ["Lines"]

_AHEAD: Final = 16
"""Lines that are read ahead. `/stop` does not wait for its turn, and drops the lines before it."""
_READ_BYTES: Final = 65_536


class Lines:
    """A `ChatFrontend` without questions: the writer of a pipe does not read the answers."""

    asks = False
    write = None

    def __init__(self) -> None:
        self.display = _Output()
        self._ahead: deque[str] = deque()
        self._room = trio.Semaphore(_AHEAD)
        self._busy = False

    def follow(self, trace: TraceSink | None) -> None:
        """See `ChatFrontend`; the model's text has a stream of its own."""
        self.display.set_lines(stderr_of(trace))

    async def talk(self, listener: Listener) -> None:
        """Take the lines in order, each after the reply to the one before, until they end.

        Raises:
            OSError: stdout is broken; in a group.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.display.raise_when_broken)
            await self._take_lines(listener)
            nursery.cancel_scope.cancel()
        listener.end()

    async def _take_lines(self, listener: Listener) -> None:
        async with trio.open_nursery() as nursery, contextlib.aclosing(_lines()) as lines:
            async for line in lines:
                # never queued: it would wait for the very turn that it is to stop
                if line.strip() == "/stop":
                    listener.stop(self._drop())
                elif line.strip():
                    await self._room.acquire()
                    self._ahead.append(line)
                    if not self._busy:
                        self._busy = True
                        nursery.start_soon(self._answer, listener, self._next(listener))

    async def _answer(self, listener: Listener, message: PendingMessage | None) -> None:
        while True:
            if message is not None:
                await message.wait()
            if not self._ahead:
                self._busy = False
                return
            message = self._next(listener)

    def _next(self, listener: Listener) -> PendingMessage | None:
        self._room.release()
        return listener.line(self._ahead.popleft())

    def _drop(self) -> int:
        dropped = len(self._ahead)
        self._ahead.clear()
        for _ in range(dropped):
            self._room.release()
        return dropped

    def say(self, text: str) -> None:
        """See `ChatFrontend`."""
        self.display.text(f"{text}\n")

    def ask(self, question: Question | None) -> None:
        """See `ChatFrontend`; never called."""

    def working(self, busy: bool) -> None:
        """See `ChatFrontend`."""

    def progress(self, line: str) -> None:
        """See `ChatFrontend`."""

    def offer(self, commands: Mapping[str, str]) -> None:
        """See `ChatFrontend`."""

    def forget_typed(self) -> None:
        """See `ChatFrontend`."""


class _Output(PlainDisplay):
    """Stdout and stderr. If stdout is broken, the chat ends, but not with an error of the agent."""

    def __init__(self) -> None:
        super().__init__()
        self._broken = trio.Event()
        self._error: OSError | None = None

    async def raise_when_broken(self) -> None:
        """Wait until a write fails, and raise its error."""
        await self._broken.wait()
        assert self._error is not None
        raise self._error

    def text(self, delta: str) -> None:
        """See `Display`."""
        self._unless_broken(lambda: super(_Output, self).text(delta))

    def text_end(self) -> None:
        """See `Display`."""
        self._unless_broken(super().text_end)

    def _unless_broken(self, write: Callable[[], None]) -> None:
        if self._error is None:
            try:
                write()
            except OSError as error:
                self._error = error
                self._broken.set()


async def _lines() -> AsyncGenerator[str]:
    """The lines of stdin, also a last one without a line break."""
    begun = b""
    descriptor = sys.stdin.fileno()
    while True:
        try:
            # in a thread, as stdin may be a file; not through `sys.stdin`, because the thread
            # would still hold its lock when the program ends
            piece = await trio.to_thread.run_sync(
                os.read, descriptor, _READ_BYTES, abandon_on_cancel=True
            )
        except OSError:
            piece = b""
        *whole, begun = (begun + piece).split(b"\n")
        if not piece and begun:
            whole.append(begun)
        for line in whole:
            yield line.decode("utf-8", "replace").rstrip("\r")
        if not piece:
            return
