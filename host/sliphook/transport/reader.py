"""The reading end of one plugin's pipe: cut into messages, fair to everybody else, by a task or by a caller itself.

Usually a task of its own waits for the pipe. A caller that waits for the one answer that is under
way may take its place: it reads the pipe itself and saves a pass of the scheduler. Only one may
wait at a time, so the role is passed on, not shared.

Where hooks follow each other quickly, giving the role back after each would cost more than it
saves. So the task takes over at once only where something is owed; else after a lull, and what the
plugin says unasked waits in the pipe for so long.
"""

from __future__ import annotations

import os
from time import perf_counter
from typing import Protocol

import trio

from sliphook.wire.framing import Body, FrameReader, FramingError, Stray
from sliphook_sdk.protocol.limits import (
    MAX_UNASKED_BYTES_PER_SECOND,
    MAX_UNASKED_MESSAGES_PER_SECOND,
    MESSAGE_SILENCE_S,
)

from . import descriptors
from .call import Call
from .deadlines import Deadlines, Timer
from .spin_wait import SPIN_S, SpinWait, processors

READ_BYTES = 64 * 1024
MESSAGES_PER_PASS = 100
LAST_READS = 256
"""At most so many pieces are read from a dead process; a grandchild may go on writing for ever."""
LULL_S = 0.005
"""How long the pipe stays unwatched after a caller has read its answer, if the next caller does not come first."""


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

    @property
    def is_owed(self) -> bool:
        """Some request has no reply yet."""
        ...


class PipeReader:
    """Reads messages in order.

    Args:
        descriptor: the pipe, non-blocking; closed by `close`.
        deadlines: the host's deadlines, for messages that are begun and not ended.
        owner: who handles them.

    Attributes:
        cut_short: in what the stream ended, where it was not between two messages.
    """

    def __init__(self, descriptor: int, deadlines: Deadlines, owner: ReaderOwner) -> None:
        self._descriptor = descriptor
        self._deadlines = deadlines
        self._owner = owner
        self._frames = FrameReader()
        self._spin = SpinWait(processors())
        self._silence = Timer(self._silent)
        self._lull = Timer(self._lull_over)
        self._in_lull = False
        self._read_in_lull = False
        self.cut_short: str | None = None
        self._brought_one = False
        self._ended = False
        self._empty = False
        self._caller_reads = False
        self._in_message = False
        self._has_grown = False
        self._fault: Exception | None = None
        self._waiter: object | None = None
        self._task: trio.lowlevel.Task | None = None
        self._second = 0.0
        self._messages = 0
        self._bytes = 0

    @property
    def closed(self) -> bool:
        """The pipe is closed on our side."""
        return self._descriptor < 0

    def brought_one(self) -> bool:
        """True once after a read of one message: whoever sends something because of it is the only one."""
        brought_one, self._brought_one = self._brought_one, False
        return brought_one

    async def run(self) -> None:
        """The task. Returns at the end of the stream, or when the pipe is closed."""
        while not self.closed and not self._ended:
            if self._fault is not None:
                raise self._fault
            while (
                self._handle_some()
            ):  # each time: a caller may have left some, also before this task could look
                await trio.lowlevel.checkpoint()
            if self._over_limit():
                await trio.sleep_until(
                    self._second + 1.0
                )  # for the rest of the second the pipe pushes back
            elif self._caller_reads or self._in_lull:
                await self._park()
            elif not self.closed and await self._readable(self) and self._read_and_handle():
                await trio.lowlevel.checkpoint()

    async def read_for(self, call: Call) -> None:
        """Read in the caller's task until `call` is settled, if nobody else's task does so already; may return before that.

        What settles it without a message (a timeout, an interrupt) must call `nudge`.
        """
        if self._caller_reads:
            return
        self._caller_reads = True
        if self._waiter is not None:
            self.nudge()
        began = perf_counter()  # the processor's time, whatever clock trio has
        awake_until = began + SPIN_S if self._spin.pays else began
        try:
            while (
                call.status is None
                and self._descriptor >= 0
                and not self._ended
                and not self._over_limit()
            ):
                if await self._next_look(call, awake_until) and self._read_and_handle():
                    break  # a flood is the task's to deal with
        except (
            Exception
        ) as error:  # a fault of the host: the plugin bears it, as ever, and not the agent
            self._fault = error
        finally:
            self._spin.took(perf_counter() - began)
            self._caller_reads = False
            if (
                self._owner.is_owed
                or self._ended
                or self._descriptor < 0
                or self._fault is not None
            ):
                self.attend()
            else:
                self._begin_lull()

    def attend(self) -> None:
        """Have the pipe watched from now on, by the task if no caller does."""
        if self._in_lull:
            self._in_lull = False
            self._deadlines.remove(self._lull, LULL_S)
        if self._task is not None and not self._caller_reads:
            trio.lowlevel.reschedule(self._task)
            self._task = None

    def _begin_lull(self) -> None:
        self._read_in_lull = True
        if not self._in_lull:
            self._in_lull = True
            self._deadlines.add(self._lull, LULL_S)

    def _lull_over(self) -> None:
        if self._caller_reads:
            self._in_lull = False  # the next one begins when the caller has read
        elif self._read_in_lull:
            self._read_in_lull = False
            self._deadlines.add(self._lull, LULL_S)
        else:
            self.attend()

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
            descriptors.close(self._descriptor)
            self._descriptor = -1
            self.attend()

    async def _next_look(self, call: Call, awake_until: float) -> bool:
        """Let everybody else run, and wait for the pipe too unless the caller stays awake; False where there is nothing to read."""
        if perf_counter() >= awake_until:
            return await self._readable(call)
        await trio.lowlevel.checkpoint()
        return not self.closed

    async def _readable(self, waiter: object) -> bool:
        """Wait for the pipe; False after a nudge, or where it was closed."""
        self._waiter = waiter
        try:
            await trio.lowlevel.wait_readable(self._descriptor)
        except trio.ClosedResourceError:
            return False
        finally:
            if (
                self._waiter is waiter
            ):  # else the role has been taken over before this one could run
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
        data = self._pull()
        if data:
            self._feed(data)

    def _read_and_handle(self) -> bool:
        """Read one piece and handle it; True where more messages wait.

        The usual piece is one message.
        """
        data = self._pull()
        if not data:
            return self._handle_some()
        body = self._frames.whole(data)
        self._brought_one = body is not None
        if body is None:
            self._feed(data)
            return self._handle_some()
        try:
            if not self._owner.message(body):
                self._count(body)
        except FramingError as error:
            self._give_up_on(error)
        return False

    def _feed(self, data: bytes) -> None:
        self._frames.feed(data)
        self._has_grown = True

    def _pull(self) -> bytes:
        """What can be read now; nothing too where the stream is over, which then has been dealt with."""
        try:
            data = os.read(self._descriptor, READ_BYTES)
        except BlockingIOError:
            self._empty = True
            return b""
        except OSError:
            data = b""
        if data:
            self._empty = False
        else:
            self._end()
        return data

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
                self._handle(piece)
        except FramingError as error:
            self._give_up_on(error)
            return False
        return True

    def _handle(self, piece: Body | Stray) -> None:
        if isinstance(piece, Stray):
            self._owner.stray(piece)
        elif self._owner.message(piece):
            return
        self._count(piece)

    def _count(self, piece: Body | Stray) -> None:
        """It was not asked for."""
        if not self._messages:
            self._second = trio.current_time()
        self._messages += 1
        self._bytes += len(piece.data)

    def _give_up_on(self, error: FramingError) -> None:
        if self._ended:
            self.cut_short = error.why  # how the process ended says more, and is known soon
        else:
            self._owner.unreadable(error)

    def _over_limit(self) -> bool:
        """The plugin sends more than it may.

        A reply that was asked for is not counted: the host itself set its pace.
        """
        if (
            self._messages <= MAX_UNASKED_MESSAGES_PER_SECOND
            and self._bytes <= MAX_UNASKED_BYTES_PER_SECOND
        ):
            return False
        if trio.current_time() - self._second < 1.0:
            return True
        self._messages = self._bytes = 0
        return False

    def _watch_silence(self) -> None:
        if self._frames.mid_message and not self._ended:
            if self._has_grown:  # to look again is no sign of life
                self._deadlines.add(self._silence, MESSAGE_SILENCE_S)
                self._in_message = True
        elif self._in_message:
            self._deadlines.remove(self._silence, MESSAGE_SILENCE_S)
            self._in_message = False
        self._has_grown = False

    def _silent(self) -> None:
        self._read()
        if self._ended or not self._empty:
            # it was the agent that held the loop: the message has gone on meanwhile
            while self._handle_some():
                pass
            return
        why = f"it began a message and was silent for {MESSAGE_SILENCE_S:g} s"
        self._owner.unreadable(FramingError(why, self._frames.unfinished))
