"""Who reads a plugin's pipe: the table, and the reader that follows it over a real descriptor."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

import itertools
import os
import socket
import threading
from collections.abc import Awaitable, Callable
from typing import Any, get_args

import pytest
import trio
import trio.testing
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from sliphook.transport import descriptors
from sliphook.transport.call import Call
from sliphook.transport.deadlines import Deadlines
from sliphook.transport.pace import Pace
from sliphook.transport.reader import LULL_S, PipeReader
from sliphook.transport.reader_roles import TABLE, ReaderEvent, ReaderRole
from sliphook.wire import envelope
from sliphook.wire.framing import Body, FramingError, Stray

MOVES: dict[ReaderRole, dict[ReaderEvent, ReaderRole]] = {
    "task": {"caller came": "caller", "reply due": "task", "end": "ended", "close": "closed"},
    "caller": {
        "caller left": "lull",
        "caller left work": "task",
        "reply due": "caller",
        "lull over": "caller",
        "end": "ended",
        "close": "closed",
    },
    "lull": {
        "caller came": "caller",
        "reply due": "task",
        "lull over": "task",
        "end": "ended",
        "close": "closed",
    },
    "ended": {
        "caller left": "ended",
        "caller left work": "ended",
        "reply due": "ended",
        "close": "closed",
    },
    "closed": {"caller left": "closed", "caller left work": "closed", "reply due": "closed"},
}
"""The table, written a second time."""


def test_the_table() -> None:
    assert {
        (role, event): target for role, moves in MOVES.items() for event, target in moves.items()
    } == TABLE
    assert MOVES.keys() == set(get_args(ReaderRole))
    assert {event for moves in MOVES.values() for event in moves} == set(get_args(ReaderEvent))


@pytest.mark.parametrize("role", ["task", "caller", "lull"])
def test_from_every_role_that_reads_the_pipe_can_end_and_be_closed(role: ReaderRole) -> None:
    assert TABLE[role, "end"] == "ended"
    assert TABLE[role, "close"] == "closed"


class Owner:
    """Handles what is read, and settles the calls whose replies come."""

    def __init__(self) -> None:
        self.calls: dict[int, Call] = {}
        self.handled: list[int] = []
        self.unreadable_why: str | None = None

    def message(self, body: Body) -> bool:
        if isinstance(body.message, envelope.Reply):
            assert isinstance(body.message.id, int)
            self.handled.append(body.message.id)
            call = self.calls.pop(body.message.id, None)
            if call is not None:
                call.replied(body.message.result, None)
            return True
        assert isinstance(body.message, envelope.Notification)
        self.handled.append(-int(body.message.method))
        return True  # the limit on what comes unasked has tests of its own

    def stray(self, stray: Stray) -> None:
        raise AssertionError(stray.why)

    def unreadable(self, error: FramingError) -> None:
        self.unreadable_why = error.why

    @property
    def is_owed(self) -> bool:
        return bool(self.calls)


class OnTrio:
    """A loop in a thread, with a clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.clock = trio.testing.MockClock()
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._begun.wait(120)

    def _run(self) -> None:
        trio.run(self._main, clock=self.clock)

    async def _main(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._stop = trio.Event()
        async with trio.open_nursery() as self.nursery:
            self._begun.set()
            await self._stop.wait()
            self.nursery.cancel_scope.cancel()

    def do(self, step: Callable[[], Awaitable[None]]) -> None:
        """Run one step in the loop; it may take ten seconds of the real clock at most."""
        done = threading.Event()
        failed: list[BaseException] = []

        async def run() -> None:
            try:
                await step()
            except Exception as error:  # raised in the test's own thread
                failed.append(error)
            finally:
                done.set()

        self._token.run_sync_soon(lambda: self.nursery.start_soon(run))
        assert done.wait(120), "the loop does not come to rest"
        if failed:
            raise failed[0]

    def end(self) -> None:
        """End the loop."""
        self._token.run_sync_soon(self._stop.set)
        self._thread.join(120)
        assert not self._thread.is_alive()


def waiting_for_pipes() -> int:
    """How many tasks wait until something can be read."""
    io: Any = trio.lowlevel.current_statistics().io_statistics
    waiting: int = io.tasks_waiting_read if hasattr(io, "tasks_waiting_read") else io.tasks_waiting
    return waiting


def unasked(number: int) -> bytes:
    """A message that the host has not asked for."""
    return b'{"jsonrpc":"2.0","method":"%d"}\n' % number


class Caller:
    """A task that asks, as `SingleFire` does: it reads if nothing else is outstanding."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.scope = trio.CancelScope()
        self.settled = trio.Event()
        self.over = False


class Reading(RuleBasedStateMachine):
    """A plugin that writes, callers that come and go, timeouts, time: in any order, also in one pass.

    What a rule does waits for the first rule with `passes` of None: then all of it happens in the
    loop, so many passes apart, and the loop comes to rest and is checked.
    """

    PASSES = st.one_of(st.none(), st.integers(0, 4))

    # set in the loop
    into: int
    idle: int
    reader: PipeReader
    handled_at_close: int

    @initialize(spins=st.booleans())
    def begin(self, spins: bool) -> None:
        self.loop = OnTrio()
        self.owner = Owner()
        self.actions: list[tuple[Callable[[], None], int]] = []
        self.callers: list[Caller] = []
        self.written: list[int] = []
        self.rest = b""  # of a message that has been begun
        self.numbers = itertools.count(1)
        self.run_returned = False
        self.over: str | None = None

        async def begin() -> None:
            # a pair of sockets: where a user has many pipes, a new one may hold no more than a page
            out, into = socket.socketpair()
            into.setblocking(False)
            self.into = into.detach()
            self.idle = waiting_for_pipes()
            descriptor = descriptors.take(out.fileno())
            out.close()
            deadlines = Deadlines()
            self.reader = PipeReader(descriptor, deadlines, Pace(), self.owner)
            if spins:
                for spin in self.reader._spins.values():
                    spin._wanted = 0
                    spin._possible = True
            self.loop.nursery.start_soon(deadlines.run)
            self.loop.nursery.start_soon(self._run)
            await trio.testing.wait_all_tasks_blocked()
            self._check()

        self.loop.do(begin)

    async def _run(self) -> None:
        await self.reader.run()
        self.run_returned = True

    def _do(self, action: Callable[[], None], passes: int | None) -> None:
        self.actions.append((action, passes or 0))
        if passes is None:
            self.loop.do(self._come_to_rest)

    async def _come_to_rest(self) -> None:
        actions, self.actions = self.actions, []
        for action, passes in actions:
            action()
            for _ in range(passes):
                await trio.lowlevel.checkpoint()
        await trio.testing.wait_all_tasks_blocked()
        self._check()

    # -- what the plugin does

    @precondition(lambda self: self.over is None)
    @rule(count=st.sampled_from([1, 1, 2, 150]), passes=PASSES)
    def say(self, count: int, passes: int | None) -> None:
        """Something that was not asked for; 150 messages are more than one pass handles."""
        self._do(lambda: self._write(None, count), passes)

    @precondition(lambda self: self.over is None)
    @rule(which=st.integers(0, 9), behind=st.sampled_from([0, 0, 1, 150]), passes=PASSES)
    def reply(self, which: int, behind: int, passes: int | None) -> None:
        """A reply to a call that is outstanding, alone or with more behind it."""

        def reply() -> None:
            unanswered = [number for number in self.owner.calls if number not in self.written]
            if unanswered:
                self._write(unanswered[which % len(unanswered)], behind)

        self._do(reply, passes)

    @precondition(lambda self: self.over is None)
    @rule(passes=PASSES)
    def begin_a_message(self, passes: int | None) -> None:
        """Its first bytes; the rest comes before what is written next."""

        def write() -> None:
            if not self.rest:
                line = unasked(next(self.numbers))
                os.write(self.into, line[:9])
                self.rest = line[9:]

        self._do(write, passes)

    def _write(self, reply_to: int | None, unasked_for: int) -> None:
        data, self.rest = self.rest, b""
        if data:
            self.written.append(-int(data.split(b'"')[-2]))
        if reply_to is not None:
            data += b'{"jsonrpc":"2.0","id":%d,"result":null}\n' % reply_to
            self.written.append(reply_to)
        for number in itertools.islice(self.numbers, unasked_for):
            data += unasked(number)
            self.written.append(-number)
        if data:
            assert os.write(self.into, data) == len(data)

    # -- what the host does

    @precondition(lambda self: self.over is None)
    @rule(
        alone=st.booleans(),
        replies=st.booleans(),
        behind=st.sampled_from([0, 1, 150]),
        passes=PASSES,
    )
    def ask(self, alone: bool, replies: bool, behind: int, passes: int | None) -> None:
        """A caller comes; alone, it reads. The reply may come soon, with more behind it."""
        if alone:
            self._do(lambda: self._reply_to_all(0), 4)
        self._do(self._ask, passes if not replies else 2)
        if replies:
            self._do(lambda: self._reply_to_all(behind), passes)

    def _reply_to_all(self, behind: int) -> None:
        for number in list(self.owner.calls):
            if number not in self.written:
                self._write(number, behind)

    def _ask(self) -> None:
        def settled(_: Call) -> None:  # as `SingleFire`
            caller.settled.set()
            self.reader.nudge()  # the reply may have been read by another than the caller

        caller = Caller(Call("hook/x", 5.0, settled))
        caller.call.id = number = next(self.numbers)
        alone = not self.owner.calls
        self.owner.calls[number] = caller.call
        self.callers.append(caller)
        if not alone:
            self.reader.attend()
        self.loop.nursery.start_soon(self._wait, caller, alone)

    async def _wait(self, caller: Caller, reads: bool) -> None:
        with caller.scope:
            if reads:
                await self.reader.read_for(caller.call)
            await caller.settled.wait()
        if self.owner.calls.pop(caller.call.id, None) is not None:
            caller.call.settle("cancelled", "cancelled")
        caller.over = True

    @rule(which=st.integers(0, 9), passes=PASSES)
    def cancel(self, which: int, passes: int | None) -> None:
        """A caller is cancelled from outside."""

        def cancel() -> None:
            if self.callers:
                self.callers[which % len(self.callers)].scope.cancel()

        self._do(cancel, passes)

    @rule(which=st.integers(0, 9), unread=st.sampled_from([0, 0, 150]), passes=PASSES)
    def time_out(self, which: int, unread: int, passes: int | None) -> None:
        """A call is settled without a message, after a last look at the pipe."""

        def time_out() -> None:
            if self.over is None:
                self._write(None, unread)
            self.reader.read_now()
            if self.owner.calls:
                number = list(self.owner.calls)[which % len(self.owner.calls)]
                self.owner.calls.pop(number).settle("timed_out", "timed out")

        self._do(time_out, passes)

    @rule(passes=PASSES)
    def ask_without_reading(self, passes: int | None) -> None:
        """A request is sent that no caller reads for, a ping."""

        def ask() -> None:
            if self.over != "closed":
                call = Call("ping", 5.0, lambda _: None)
                call.id = next(self.numbers)
                self.owner.calls[call.id] = call
            self.reader.attend()

        self._do(ask, passes)

    @rule(lulls=st.lists(st.sampled_from([0.3, 1.0]), min_size=1, max_size=3))
    def time_passes(self, lulls: list[float]) -> None:
        """Some of a lull, or more than one, in steps in which a timer is not late by a lull."""

        async def jump() -> None:
            await self._come_to_rest()
            for lull in lulls:
                self.loop.clock.jump(lull * LULL_S)
                await trio.testing.wait_all_tasks_blocked()
            self._check(no_lull=lulls[-2:] == [1.0, 1.0])

        self.loop.do(jump)

    @precondition(lambda self: self.over is None)
    @rule(
        how=st.sampled_from(["closed", "ended", "died"]),
        during=st.sampled_from(["anything", "call", "lull"]),
        passes=PASSES,
    )
    def end(self, how: str, during: str, passes: int | None) -> None:
        """The host closes the pipe, the plugin does, or the plugin dies and its pipe is emptied."""
        if during != "anything":
            self.ask(alone=True, replies=during == "lull", behind=0, passes=4)
        self.over = how

        def end() -> None:
            self._write(None, 0)
            os.close(self.into)
            if how == "closed":  # as `Connection.close`: calls are settled first
                for call in list(self.owner.calls.values()):
                    call.settle("crashed", "closed")
                self.owner.calls.clear()
                self.reader.close()
                self.handled_at_close = len(self.owner.handled)
            elif how == "died":
                self.loop.nursery.start_soon(self.reader.read_rest)

        self._do(end, passes)

    # -- what must be true when nothing moves

    def _check(self, *, no_lull: bool = False) -> None:
        """Called in the loop, at rest; `no_lull`: a lull would be over by now."""
        handled, role = self.owner.handled, self.reader._role
        reading = waiting_for_pipes() - self.idle
        assert handled == self.written[: len(handled)], "lost, twice or out of order"
        if self.over == "closed":
            assert (role, len(handled)) == ("closed", self.handled_at_close)
        elif self.over == "died" or (self.over == "ended" and no_lull):
            assert (role, handled) == ("ended", self.written)
        if role in ("ended", "closed"):
            assert self.over is not None
            assert reading == 0, "a task reads a pipe that is over"
            assert self.run_returned, "the task waits for ever"
        elif reading == 0:
            assert role == "lull"
            frames = self.reader._frames
            assert b"\n" not in frames._buffer[frames._start :], "read and not handled"
            assert not self.owner.calls, "a reply is outstanding and no task reads"
            assert not no_lull, "no task reads, though a lull is over"
        else:
            assert reading == 1
            assert handled == self.written, "a task reads and has left something"
        for caller in self.callers:
            done = caller.call.status is not None or caller.scope.cancel_called
            assert caller.over == done, "a caller that is answered waits, or one that is not left"

    def teardown(self) -> None:
        """Closed in the end, every task ends; nothing that was written before is missing."""
        if not hasattr(self, "loop"):
            return
        try:
            if self.over is None:
                self._do(lambda: self._write(None, 0), 0)
            self.time_passes(lulls=[1.0, 1.0])
            if self.over is None:
                assert self.owner.handled == self.written
                self.end(how="closed", during="anything", passes=None)

            async def close() -> None:
                self.reader.close()
                for call in list(self.owner.calls.values()):
                    call.settle("crashed", "closed")
                self.owner.calls.clear()
                await trio.testing.wait_all_tasks_blocked()
                assert self.run_returned
                assert all(caller.over for caller in self.callers)

            self.loop.do(close)
            assert self.owner.unreadable_why is None
        finally:
            self.loop.end()


TestReading = Reading.TestCase
TestReading.settings = settings(max_examples=150, stateful_step_count=25, deadline=None)
