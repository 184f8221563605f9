"""The reading end of one plugin's pipe: cut into messages, fair to everybody else, by a task or by a caller itself.

Usually a task of its own waits for the pipe. A caller that waits for the one answer that is under way may take its place: it
reads the pipe itself and saves a pass of the scheduler. Only one may wait at a time, so the role is passed on, not shared.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

import trio

from sliphook_sdk.protocol.limits import MAX_UNASKED_BYTES_PER_SECOND, MAX_UNASKED_MESSAGES_PER_SECOND, MESSAGE_SILENCE_S

from . import pipes
from .deadlines import Deadlines, Timer
from .framing import Body, FrameReader, FramingError, Stray

READ_BYTES = 64 * 1024
MESSAGES_PER_PASS = 100
LAST_READS = 256
"""At most so many pieces are read from a dead process; a grandchild may go on writing for ever."""


class ReaderOwner(Protocol):
    """Whoever owns the conversation; none of these may raise anything but `FramingError`."""

    def message(self, body: Body) -> bool:
        """Handle one message; False where nobody asked for it."""
        ...

    def stray(self, stray: Stray) -> None:
        """Something was no message."""
        ...

    def unreadable(self, error: FramingError) -> None:
        """The stream cannot be read on."""
        ...


class PipeReader:
    """Reads messages in order.

    Args:
        descriptor: the pipe, non-blocking; closed by `close`.
        deadlines: the host's watchdog, for messages that are begun and not ended.
        owner: who handles them.

    Attributes:
        cut_short: in what the stream ended, where it was not between two messages.
    """

    def __init__(self, descriptor: int, deadlines: Deadlines, owner: ReaderOwner) -> None:
        self._descriptor = descriptor
        self._deadlines = deadlines
        self._owner = owner
        self._frames = FrameReader()
        self._silence = Timer(self._silent)
        self.cut_short: str | None = None
        self._ended = False
        self._empty = False
        self._caller_reads = False
        self._in_message = False
        self._waiter: trio.lowlevel.Task | None = None
        self._task: trio.lowlevel.Task | None = None
        self._second = 0.0
        self._messages = 0
        self._bytes = 0

    @property
    def closed(self) -> bool:
        """The pipe is closed on our side."""
        return self._descriptor < 0

    async def run(self) -> None:
        """The task. Returns at the end of the stream, or when the pipe is closed."""
        while not self.closed and not self._ended:
            if self._caller_reads:
                await self._park()
                continue
            if not await self._readable():
                continue  # closed, or a caller takes over
            self._read()
            while self._handle_some():
                await trio.lowlevel.checkpoint()
            await self._hold_back()

    async def read_until(self, done: Callable[[], bool]) -> None:
        """Read in the caller's task until `done`, if nobody else's task does so already; may return before it is done.

        What makes `done` true without a message (a timeout, an interrupt) must call `nudge`.
        """
        if self._caller_reads or self.closed or self._ended or self._over_limit():
            return
        self._caller_reads = True
        self.nudge()
        try:
            while not done() and not self.closed and not self._ended and not self._over_limit():
                if await self._readable():
                    self._read()
                    if self._handle_some():
                        break  # a flood is the task's to deal with
        finally:
            self._caller_reads = False
            if self._task is not None:
                trio.lowlevel.reschedule(self._task)
                self._task = None

    def nudge(self) -> None:
        """Wake whoever waits for the pipe, so that they look again whether they still should."""
        if self._waiter is not None and not self.closed:
            trio.lowlevel.notify_closing(self._descriptor)

    def read_now(self) -> None:
        """Handle what can be read without waiting, one piece of it: nothing of it may be left, as the pipe will not tell of it again."""
        if not self.closed:
            self._read()
            while self._handle_some():
                pass

    def read_rest(self) -> None:
        """The writer is dead: handle what it left in the pipe, without waiting."""
        for _ in range(LAST_READS):
            if self.closed or self._ended:
                return
            self._read()
            while self._handle_some():
                pass
            if self._empty:
                break
        self._end()

    def violation(self, why: str, excerpt: str, *, fatal: bool = False) -> None:
        """Count a breach of the protocol that the owner found while handling a message.

        Raises:
            FramingError: it is one too many, or `fatal`; for the reader itself, let it pass.
        """
        if fatal:
            raise FramingError(why, excerpt)
        self._frames.violation(why)

    def close(self) -> None:
        """Close the pipe; who waits for it is woken."""
        self._deadlines.remove(self._silence, MESSAGE_SILENCE_S)
        if not self.closed:
            pipes.close(self._descriptor)
            self._descriptor = -1

    async def _readable(self) -> bool:
        """Wait for the pipe; False after a nudge, or where it was closed."""
        self._waiter = task = trio.lowlevel.current_task()
        try:
            await trio.lowlevel.wait_readable(self._descriptor)
        except trio.ClosedResourceError:
            return False
        finally:
            if self._waiter is task:  # else the role has been taken over before this task could run
                self._waiter = None
        return True

    async def _park(self) -> None:
        self._task = trio.lowlevel.current_task()

        def give_up(_: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
            self._task = None
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(give_up)

    def _read(self) -> None:
        """Read one piece."""
        try:
            data = os.read(self._descriptor, READ_BYTES)
        except BlockingIOError:
            self._empty = True
            return
        except OSError:
            data = b""
        if data:
            self._empty = False
            self._frames.feed(data)
        else:
            self._end()

    def _end(self) -> None:
        """The stream is over: the last line counts without its end."""
        if not self._ended:
            self._ended = True
            self._frames.close()
            while self._handle_some():
                pass

    def _handle_some(self) -> bool:
        """Handle at most `MESSAGES_PER_PASS` messages; True where more wait."""
        try:
            for _ in range(MESSAGES_PER_PASS):
                if self.closed:
                    return False
                piece = self._frames.next()
                if piece is None:
                    self._watch_silence()
                    return False
                if isinstance(piece, Stray):
                    self._owner.stray(piece)
                    asked = False
                else:
                    asked = self._owner.message(piece)
                if not asked:
                    if not self._messages:
                        self._second = trio.current_time()
                    self._messages += 1
                    self._bytes += len(piece.data)
        except FramingError as error:
            if self._ended:
                self.cut_short = error.why  # how the process ended says more, and is known soon
            else:
                self._owner.unreadable(error)
            return False
        return True

    def _over_limit(self) -> bool:
        """The plugin sends more than it may. A reply that was asked for is not counted: the host itself set its pace."""
        if self._messages <= MAX_UNASKED_MESSAGES_PER_SECOND and self._bytes <= MAX_UNASKED_BYTES_PER_SECOND:
            return False
        if trio.current_time() - self._second < 1.0:
            return True
        self._messages = self._bytes = 0
        return False

    async def _hold_back(self) -> None:
        """Stop reading for the rest of the second; the pipe pushes back."""
        if self._over_limit():
            await trio.sleep_until(self._second + 1.0)

    def _watch_silence(self) -> None:
        if self._frames.mid_message and not self._ended:
            self._deadlines.add(self._silence, MESSAGE_SILENCE_S)
            self._in_message = True
        elif self._in_message:
            self._deadlines.remove(self._silence, MESSAGE_SILENCE_S)
            self._in_message = False

    def _silent(self) -> None:
        self._read()
        if self._ended or not self._empty:
            # it was the agent that held the loop: the message has gone on meanwhile
            while self._handle_some():
                pass
            return
        why = f"it began a message and was silent for {MESSAGE_SILENCE_S:g} s"
        self._owner.unreadable(FramingError(why, self._frames.unfinished))
