"""The reading end of one plugin's pipe: cuts it into messages and hands them to the connection.

Theory of operation. Only one task at a time may wait for a pipe. It is either the reader's own task
(`run`) or a caller that waits for a reply (`read_for`). `reader_roles` has the table of the roles:

- *The task reads* at first, and whenever something is outstanding that no caller reads for: several
  calls are under way, or a call whose caller does not read.
- *A caller reads* for the only reply that is outstanding. The pipe then wakes the very task that
  wants the reply, which saves a pass of trio's scheduler. The reader's task is parked meanwhile.
- *A lull* begins if a caller leaves and nothing is outstanding. The next caller often comes soon,
  and to wake the task for the time between would cost more than the caller has saved. So no task
  reads until the next caller comes, or a request is sent that no caller reads for, or `LULL_S` to
  twice that have passed. What the plugin says unasked waits in the pipe for so long.
- *Ended, closed*: no task reads any more, as the stream is over or the host has closed the pipe.

Hand-over. A move never waits, so no two tasks read at a time. If a caller takes the pipe while the
task waits for it, `notify_closing` ends that wait at once: trio lets the caller wait for the pipe
even before the task has run. If the task gets the pipe, it is rescheduled from where it is parked;
at the end too, so that it returns.

Why no message is lost or stuck. What is read is handled in the order of its bytes, in one pass of
the scheduler `MESSAGES_PER_PASS` at most, and while the host's readers have time (`Pace`); a small
reply needs none. What is left is the task's, in its turn: a caller that leaves some gives the pipe
to the task and not to a lull, and the task handles it before it waits for the pipe, or returns.
"""

from __future__ import annotations

import os
from time import perf_counter

import trio

from sliphook.wire.envelope import Reply
from sliphook.wire.framing import Body, FrameReader, FramingError, Stray
from sliphook_sdk.spin_wait import SPIN_S, TOOL_SPIN_S, SpinWait, processors

from . import descriptors
from .backpressure import Backpressure
from .call import Call
from .deadlines import Deadlines, IdleTimer
from .owner import ReaderOwner
from .pace import MESSAGES_PER_PASS, REPLY_BYTES, SMALL_LOOK_S, Pace
from .reader_roles import TABLE, ReaderEvent, ReaderRole
from .silence_watch import SilenceWatch

READ_BYTES = 64 * 1024  # what a pipe holds on Linux
LAST_READS = 17  # of a dead process's pipe: 1 MiB unless root wrote it; a child may go on for ever
LULL_S = 0.005  # and up to twice as long, if nothing ends it before


class PipeReader:
    """Reads messages in order.

    Args:
        descriptor: the pipe, non-blocking; closed by `close`.
        deadlines: the host's deadlines.
        pace: the host's: how long its readers may work in one pass of the loop.
        owner: handles the messages.

    Attributes:
        cut_short: what is wrong with the end of the stream, if it is not between two messages.
    """

    def __init__(
        self, descriptor: int, deadlines: Deadlines, pace: Pace, owner: ReaderOwner
    ) -> None:
        self._descriptor = descriptor
        self._pace = pace
        self._owner = owner
        self._frames = FrameReader()
        self._role: ReaderRole = "task"
        self._parked: trio.lowlevel.Task | None = None  # the reader's task while it is parked
        self._waiter: object | None = None  # what waits for the pipe: a call or this reader
        self._fault: Exception | None = None
        self._lull = IdleTimer(deadlines, LULL_S, lambda: self._move("lull over"))
        spins = {"hook/": SPIN_S, "tool/": TOOL_SPIN_S}  # a command may take its time
        self._spins = {kind: SpinWait(spin_s, processors()) for kind, spin_s in spins.items()}
        self._backpressure = Backpressure()
        self._silence = SilenceWatch(deadlines, self._silent)
        self._brought_one = False
        self._left_some = False  # of what was read: the task has to handle it
        self._left_small = False  # it is of one small piece
        self._left_in_pipe = False  # a piece, of which only the beginning was read
        self.cut_short: str | None = None

    def brought_one(self) -> bool:
        """Whether the last read brought one message and no more; True once.

        What the host sends because of it then comes from one task: no other write will join it.
        """
        brought_one, self._brought_one = self._brought_one, False
        return brought_one

    async def run(self) -> None:
        """Be the reader's task; returns at the end of the stream, or when the pipe is closed."""
        while not self._over():
            if self._fault is not None:
                raise self._fault
            # before any wait: a caller may have left some, even before this task could look
            await self._handle_all()
            rest_until_s = self._backpressure.rest_until()
            if rest_until_s is not None:
                await trio.sleep_until(rest_until_s)
            elif self._role == "caller" or self._role == "lull":
                await self._park()
            elif self._role == "task" and await self._readable(self):
                self._read_and_handle()
        # what found the end of the stream may have left some
        await self._handle_all()

    async def read_for(self, call: Call) -> None:
        """Read in the caller's task until `call` is settled; may return before that.

        Does nothing if another caller reads. What settles the call without a message must `nudge`.
        """
        if self._role != "task" and self._role != "lull":
            return
        self._role = TABLE[self._role, "caller came"]
        if self._waiter is not None:
            self.nudge()  # the task's wait ends before this caller's begins
        began = perf_counter()  # the processor's time, whatever clock trio has
        spin = self._spins.get(call.method[:5])
        awake_until = began + spin.spin_s if spin is not None and spin.pays else began
        try:
            while (
                call.status is None
                and self._role == "caller"
                and not self._left_some
                # callers keep to the limit too, or a flood could come in by way of hooks
                and not (self._backpressure.exceeded and self._backpressure.rest_until())
            ):
                if perf_counter() < awake_until:
                    await trio.lowlevel.checkpoint()  # awake; all other tasks run in between
                elif not await self._readable(call):
                    continue  # nudged
                self._read_and_handle()
        except Exception as error:
            self._fault = error  # the host's: the plugin's task raises it, not the agent's call
        finally:
            # also if the caller was cancelled: the pipe must never be left without a reader
            if spin is not None:
                spin.took(perf_counter() - began)
            work = self._left_some or self._owner.is_owed or self._fault is not None
            self._move("caller left work" if work else "caller left")

    def attend(self) -> None:
        """A request was sent whose reply no caller reads: the task reads unless a caller does."""
        self._move("reply due")

    def nudge(self) -> None:
        """Wake the task that waits for the pipe, if any: it decides anew whether to go on."""
        if self._waiter is not None and self._role != "closed":
            # Ends the wait and closes nothing; the descriptor can be waited for again.
            trio.lowlevel.notify_closing(self._descriptor)

    def read_now(self) -> None:
        """Handle all that was read before, and what can be read without waiting, up to one piece.

        What takes too long is left to the reader's task, as many calls may look in one pass.
        Nothing read may be forgotten: the pipe does not become readable for it again.
        """
        self._handle_at_once()
        if self._role != "closed" and not self._left_some:
            self._read()
            self._handle_at_once()

    async def read_rest(self) -> None:
        """Handle what a dead process left in the pipe, without waiting for more."""
        for _ in range(LAST_READS):
            if self._over() or not self._read():
                break
            await self._handle_all()
            await trio.lowlevel.checkpoint()
        # not only at EOF: a child of the plugin may hold the other end of the pipe open
        self._end()
        await self._handle_all()

    def violation(self, why: str, excerpt: str, *, fatal: bool = False) -> None:
        """Count a breach of the protocol that the owner found while handling a message.

        Raises:
            FramingError: it is one too many, or `fatal`; for the reader itself, let it pass.
        """
        if fatal:
            raise FramingError(why, excerpt)
        self._frames.violation(why)

    def close(self) -> None:
        """Close the pipe; wakes what waits for it."""
        self._silence.stop()
        if self._role != "closed":
            descriptors.close(self._descriptor)
            # before any task wakes: the number may soon be that of another file
            self._descriptor = -1
            self._move("close")

    def _move(self, event: ReaderEvent) -> None:
        """Make a move, other than that to a caller, and what it asks for."""
        self._role = role = TABLE[self._role, event]
        if role == "lull":
            self._lull.restart()
        # a caller leaves the lull's timer running: to stop it for each hook would cost more
        elif role != "caller":
            self._lull.stop()
            if self._parked is not None:
                trio.lowlevel.reschedule(self._parked)
                self._parked = None

    def _over(self) -> bool:
        return self._role == "ended" or self._role == "closed"

    async def _park(self) -> None:
        self._parked = trio.lowlevel.current_task()

        def give_up(_: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
            self._parked = None
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(give_up)

    async def _readable(self, waiter: object) -> bool:
        """Wait for the pipe; False after a nudge, or if the pipe was closed."""
        self._waiter = waiter
        try:
            await trio.lowlevel.wait_readable(self._descriptor)
        except trio.ClosedResourceError:
            return False
        finally:
            # A nudged task runs later; the next reader may wait for the pipe by then.
            if self._waiter is waiter:
                self._waiter = None
        return True

    def _read(self) -> bool:
        """Read one piece; False if there was none."""
        if data := self._pull():
            self._feed(data)
        return bool(data)

    def _read_and_handle(self) -> None:
        """Read one piece and handle it, if there is time; the usual piece is one message."""
        began = perf_counter()
        has_time = self._pace.may_read()
        # to read a large piece costs as much as to handle it; one byte more tells that it is large
        if not (data := self._pull(READ_BYTES if has_time else REPLY_BYTES + 1)):
            return
        # a small reply waits for no turn; a request does, also if escapes hide its method
        is_reply = len(data) <= REPLY_BYTES and self._owner.is_owed and b'"method"' not in data
        body = self._frames.whole(data) if has_time or is_reply else None
        body = body if has_time or isinstance(body and body.message, Reply) else None
        self._brought_one = body is not None
        if body is None:
            self._feed(data)
            self._left_in_pipe = not has_time and len(data) > REPLY_BYTES
        else:
            try:
                if not self._owner.message(body):
                    self._backpressure.count(body.size)
            except FramingError as error:
                self._give_up_on(error)
        self._pace.reading.spend(perf_counter() - began)
        if body is None and has_time:
            self._handle_some()

    def _feed(self, data: bytes) -> None:
        self._left_small = not self._left_some and len(data) <= REPLY_BYTES
        self._left_some, self._left_in_pipe = True, False
        self._frames.feed(data)
        self._silence.grew()

    def _pull(self, size: int = READ_BYTES) -> bytes:
        """Read at most so much; b"" if nothing can be read now, or at the stream's end."""
        try:
            data = os.read(self._descriptor, size)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""  # also if the pipe was closed after it had become readable
        if not data:
            self._end()
        return data

    def _end(self) -> None:
        """The stream is over: the last line counts without its end. Handles nothing."""
        if not self._over():
            # the role first: `_give_up_on` then takes an error in the last piece for a cut
            self._move("end")
            self._left_some = True
            self._frames.close()

    async def _handle_all(self) -> None:
        """Handle all that was read; other tasks have their turns in between."""
        while self._left_some:
            await self._pace.reader_turn()
            if self._left_in_pipe:
                self._read()
            self._handle_some()

    def _handle_at_once(self) -> None:
        """Handle what was read; what takes longer is left to the reader's task."""
        began = now = perf_counter()
        until = began + max(self._pace.looking.left_s, SMALL_LOOK_S if self._left_small else 0.0)
        while self._left_some and now < until:
            self._handle_some()
            now = perf_counter()
        self._pace.looking.spend(now - began)
        if self._left_some:
            self._move("reply due")
            self.nudge()

    def _handle_some(self) -> None:
        """Handle messages until the pass is over; then more may be left."""
        began = perf_counter()
        until = began + self._pace.reading.left_s
        piece = None
        try:
            for _ in range(MESSAGES_PER_PASS):
                # asked each time: handling a message may close the connection
                piece = self._frames.next() if self._role != "closed" else None
                if piece is None:
                    self._silence.look(self._frames.mid_message and not self._over())
                    break
                self._handle(piece)
                if perf_counter() > until:
                    break
        except FramingError as error:
            piece = None
            self._give_up_on(error)
        self._left_some = piece is not None
        self._pace.reading.spend(perf_counter() - began)  # also for looks into an unfinished piece

    def _handle(self, piece: Body | Stray) -> None:
        if isinstance(piece, Stray):
            self._owner.stray(piece)
        elif self._owner.message(piece):
            return
        self._backpressure.count(len(piece.data) if isinstance(piece, Stray) else piece.size)

    def _give_up_on(self, error: FramingError) -> None:
        if self._role == "ended":
            self.cut_short = error.why  # how the process ended says more, and is known soon
        else:
            self._owner.unreadable(error)

    def _silent(self, why: str) -> None:  # the agent may have held the loop meanwhile
        if self._left_some or self._read() or self._role == "ended":
            self._handle_at_once()
        else:
            self._owner.unreadable(FramingError(why, self._frames.unfinished))
