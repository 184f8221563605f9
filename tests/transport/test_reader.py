"""How much of one plugin's output is read: fair to all other tasks, on a clock that jumps."""

from __future__ import annotations

import os
import pkgutil
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
import trio
import trio.testing

from sliphook.transport import descriptors
from sliphook.transport.call import Call
from sliphook.transport.deadlines import Deadlines
from sliphook.transport.pace import READING_S, REPLY_BYTES, Pace, SharedTime
from sliphook.transport.reader import PipeReader
from sliphook.wire.framing import Body, FramingError, Stray

LINE = b'{"jsonrpc":"2.0","method":"x"}\n'


class Owner:
    """Notes when each message was handled."""

    def __init__(self, *, asked: bool) -> None:
        self.at: list[float] = []
        self.unreadable_at: list[float] = []
        self.is_owed = False
        self.fault: Exception | None = None
        self.reader: PipeReader
        self._asked = asked

    def message(self, body: Body) -> bool:
        if self.fault is not None:
            raise self.fault
        self.at.append(trio.current_time())
        return self._asked

    def stray(self, stray: Stray) -> None:
        self.at.append(trio.current_time())

    def unreadable(self, error: FramingError) -> None:
        self.unreadable_at.append(trio.current_time())


@asynccontextmanager
async def reading(
    owner: Owner, *, task: bool = True, pace: Pace | None = None
) -> AsyncGenerator[int]:
    """A reader at work, or without its task; gives the descriptor to write to."""
    out, into = os.pipe()
    descriptor = descriptors.take(out)
    os.close(out)
    os.set_blocking(into, False)
    deadlines = Deadlines()
    owner.reader = reader = PipeReader(descriptor, deadlines, pace or Pace(), owner)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(deadlines.run)
            if task:
                nursery.start_soon(reader.run)
            yield into
            nursery.cancel_scope.cancel()
    finally:
        reader.close()
        os.close(into)


def use_up(budget: SharedTime) -> None:
    """Nothing is left of it, and no pass renews it."""
    budget.left_s, budget._used_up = 0.0, object()  # pyright: ignore[reportPrivateUsage]


async def until_handled(owner: Owner, count: int) -> None:
    while len(owner.at) < count:
        await trio.lowlevel.checkpoint()


async def write(into: int, data: bytes) -> None:
    while data:
        await trio.lowlevel.wait_writable(into)
        data = data[os.write(into, data) :]


@pytest.mark.parametrize(
    ("messages", "asked", "goes_on_at"),
    [(1_000, False, 0.0), (1_001, False, 1.0), (1_001, True, 0.0)],
)
async def test_above_a_thousand_messages_a_second_reading_rests_for_the_rest_of_it(
    autojump_clock: trio.testing.MockClock, messages: int, asked: bool, goes_on_at: float
) -> None:
    """Answers that the host has asked for do not count."""
    owner = Owner(asked=asked)
    async with reading(owner) as into:
        await write(into, LINE * messages)
        await until_handled(owner, messages)
        await write(into, LINE)
        await trio.sleep(5)
    assert owner.at == [0.0] * messages + [goes_on_at]


@pytest.mark.parametrize(("mebibytes", "goes_on_at"), [(16, 0.0), (17, 1.0)])
async def test_above_16_mib_a_second_the_pipe_pushes_back(
    autojump_clock: trio.testing.MockClock, mebibytes: int, goes_on_at: float
) -> None:
    owner = Owner(asked=False)
    frame = b'{"jsonrpc":"2.0","method":"x","params":{"text":"%b"}}\n'
    message = frame % (b"x" * (1024 * 1024 - len(frame)))
    async with reading(owner) as into:
        for _ in range(mebibytes):
            await write(into, message)
        await until_handled(owner, mebibytes)
        await write(into, LINE)
        await trio.sleep(5)
    assert owner.at == [0.0] * mebibytes + [goes_on_at]


async def test_others_come_to_their_turn_after_a_hundred_messages(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A flood of one plugin must not take the loop from the agent."""
    owner = Owner(asked=True)
    seen: list[int] = []
    async with reading(owner) as into:
        await write(into, LINE * 1_000)
        while len(owner.at) < 1_000:
            await trio.lowlevel.checkpoint()
            seen.append(len(owner.at))
    steps = [more - before for before, more in pairwise([0, *seen])]
    assert max(steps) <= 200  # of two passes, the second may come first


async def test_what_a_caller_leaves_is_handled_though_the_task_had_no_time_to_park(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The caller reads more than one pass may handle before the nudged task can run."""
    for _ in range(20):  # which of the two comes first is chance
        owner = Owner(asked=True)
        owner.is_owed = True
        async with reading(owner) as into:
            await trio.testing.wait_all_tasks_blocked()
            os.write(into, LINE * 150)
            await owner.reader.read_for(Call("hook/x", 5.0, lambda _: None))
            await trio.sleep(1)
        assert len(owner.at) == 150


async def test_what_a_caller_leaves_does_not_wait_for_the_next_callers_reply(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The plugin may need an answer to one of these messages before it can reply."""
    owner = Owner(asked=True)
    async with reading(owner) as into:
        await trio.testing.wait_all_tasks_blocked()
        os.write(into, LINE * 150)
        for _ in range(2):
            with trio.move_on_after(1):
                await owner.reader.read_for(Call("hook/x", 5.0, lambda _: None))
        await until_handled(owner, 150)
    assert owner.at == [0.0] * 150


async def test_after_a_caller_no_task_waits_for_the_pipe_until_the_lull_is_over(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """So the next caller, if it comes soon, takes the pipe from no task."""
    owner = Owner(asked=True)
    async with reading(owner) as into:
        await trio.testing.wait_all_tasks_blocked()
        call = Call("hook/x", 5.0, lambda _: None)
        call.settle("cancelled", "its reply has come")
        await owner.reader.read_for(call)
        os.write(into, LINE)
        await trio.sleep(1)
    assert owner.at == [0.01]


async def test_a_pipe_closed_in_the_pass_in_which_it_becomes_readable_is_read_no_more(
    autojump_clock: trio.testing.MockClock,
) -> None:
    owner = Owner(asked=True)
    call = Call("hook/x", 5.0, lambda _: None)
    async with reading(owner) as into, trio.open_nursery() as nursery:

        async def close() -> None:
            await trio.lowlevel.wait_readable(watched)
            owner.reader.close()

        watched, also = os.pipe()
        nursery.start_soon(close)
        nursery.start_soon(owner.reader.read_for, call)
        await trio.testing.wait_all_tasks_blocked()
        os.write(also, b"x")
        os.write(into, LINE)
    os.close(watched)
    os.close(also)
    assert owner.at in ([], [0.0])  # which of the two wakes first is chance


async def test_a_message_that_is_begun_may_be_silent_for_ten_seconds_for_every_reader(
    autojump_clock: trio.testing.MockClock,
) -> None:
    owner = Owner(asked=True)
    async with reading(owner) as into:
        await write(into, LINE[:9])
        for _ in range(4):
            await trio.sleep(3)
            owner.reader.read_now()
    assert owner.unreadable_at == [10.0]


async def test_a_fault_of_the_host_is_the_tasks_to_bear_not_the_callers(
    autojump_clock: trio.testing.MockClock,
) -> None:
    owner = Owner(asked=True)
    owner.is_owed = True
    owner.fault = RuntimeError("a fault of the host")

    async def a_hook() -> None:
        async with reading(owner) as into:
            await trio.testing.wait_all_tasks_blocked()
            os.write(into, LINE)
            await owner.reader.read_for(Call("hook/x", 5.0, lambda _: None))
            owner.at.append(trio.current_time())
            await trio.sleep_forever()

    with pytest.raises(ExceptionGroup) as raised:
        await a_hook()
    assert (raised.value.exceptions, owner.at) == ((owner.fault,), [0.0])


class Grandchild(Owner):
    """Each message that is handled makes it write another: its pipe is never empty."""

    def __init__(self) -> None:
        super().__init__(asked=True)
        self.into = -1

    def message(self, body: Body) -> bool:
        os.write(self.into, LINE)
        return super().message(body)


async def test_a_grandchild_that_floods_a_dead_plugins_pipe_is_read_for_a_while_and_in_turns(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """At most what a pipe can hold, 1 MiB and one read more."""
    owner = Grandchild()
    seen: list[int] = []
    async with reading(owner, task=False) as owner.into, trio.open_nursery() as nursery:
        await trio.testing.wait_all_tasks_blocked()

        async def look_on() -> None:
            while True:
                seen.append(len(owner.at))
                await trio.lowlevel.checkpoint()

        nursery.start_soon(look_on)
        os.write(owner.into, LINE * 2_000)
        await owner.reader.read_rest()
        nursery.cancel_scope.cancel()
    assert len(owner.at) * len(LINE) <= 17 * 64 * 1024
    assert len(owner.at) > 2_000
    assert max(more - before for before, more in pairwise([0, *seen, len(owner.at)])) <= 200


async def test_what_takes_long_to_handle_is_done_in_several_turns(
    autojump_clock: trio.testing.MockClock, clock: Clock
) -> None:
    """By the clock too: a hundred messages may be much work."""
    owner = Owner(asked=True)
    seen: list[int] = []

    owner.at = Slow(clock)
    async with reading(owner) as into:
        os.write(into, LINE * 20)
        while len(owner.at) < 20:
            seen.append(len(owner.at))
            await trio.lowlevel.checkpoint()
    assert max(more - before for before, more in pairwise([0, *seen, 20])) <= 2


async def test_a_look_finds_what_came_behind_what_waits_for_its_turn(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A reply that came in time is not late, though other plugins write much."""
    pace = Pace()
    owner = Owner(asked=True)
    async with reading(owner, task=False, pace=pace) as into:
        use_up(pace.reading)
        os.write(into, LINE * 2)
        await owner.reader.read_for(Call("hook/x", 5.0, lambda _: None))
        assert owner.at == []
        os.write(into, LINE)
        owner.reader.read_now()
        assert len(owner.at) == 3


@pytest.mark.parametrize(
    ("more", "handled"),
    [
        ('"result":{}', True),
        (f'"result":"{"x" * 5_000}"', False),
        ('"method":"host/tools","params":{}', False),
        (r'"meth\u006fd":"host/tools","params":{}', False),
    ],
    ids=["a small reply", "a large one", "a request", "a request in escapes"],
)
async def test_a_small_reply_does_not_wait_behind_what_others_write(
    autojump_clock: trio.testing.MockClock, more: str, handled: bool
) -> None:
    pace, owner = Pace(), Owner(asked=True)
    owner.is_owed = True
    async with reading(owner, task=False, pace=pace) as into:
        use_up(pace.reading)
        os.write(into, f'{{"jsonrpc":"2.0","id":"1",{more}}}\n'.encode())
        with trio.move_on_after(1):
            await owner.reader.read_for(Call("hook/x", 5.0, lambda _: None))
        assert bool(owner.at) is handled


class Slow(list[float]):
    """Where an owner notes its messages; to handle each takes more than the readers have."""

    def __init__(self, clock: Clock, took_s: float = 1.1 * READING_S) -> None:
        super().__init__()
        self._clock = clock
        self._took_s = took_s

    def append(self, at: float, /) -> None:
        super().append(at)
        self._clock.now_s += self._took_s


class Clock:
    """In place of `perf_counter`: on a busy machine other work counts there too."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("sliphook.transport.reader.perf_counter", clock)
    return clock


# also where something else has the processor for a while, in the midst of a pass
@pytest.mark.parametrize("took_s", [1.1 * READING_S, 60.0])
async def test_readers_of_many_plugins_share_the_time_of_a_pass(
    autojump_clock: trio.testing.MockClock, clock: Clock, took_s: float
) -> None:
    pace, owners = Pace(), [Owner(asked=True) for _ in range(12)]
    at_once: list[int] = []
    before = 0
    async with AsyncExitStack() as stack:
        pipes = [await stack.enter_async_context(reading(one, pace=pace)) for one in owners]
        await trio.testing.wait_all_tasks_blocked()
        for owner, into in zip(owners, pipes, strict=True):
            owner.at = Slow(clock, took_s)
            os.write(into, LINE * 3)
        while before < 36:
            await trio.lowlevel.checkpoint()
            after = sum(len(owner.at) for owner in owners)
            at_once.append(after - before)
            before = after
    # between two looks lie up to two passes
    assert max(at_once) <= 2
    assert [len(owner.at) for owner in owners] == [3] * 12


@pytest.mark.parametrize("works", ["os.read", "FrameReader.next"])
async def test_to_read_and_to_look_into_an_unfinished_message_takes_of_their_time(
    autojump_clock: trio.testing.MockClock,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    works: str,
) -> None:
    pace, owners = Pace(), [Owner(asked=True) for _ in range(12)]
    steps = 0
    where = f"sliphook.transport.reader.{works}"
    function = pkgutil.resolve_name(where)

    def step(*args: Any) -> object:
        nonlocal steps
        done = function(*args)
        if works == "FrameReader.next" or len(done) > REPLY_BYTES + 1:
            steps += 1
            clock.now_s += 1.1 * READING_S
        return done

    at_once: list[int] = []
    async with AsyncExitStack() as stack:
        pipes = [await stack.enter_async_context(reading(one, pace=pace)) for one in owners]
        await trio.testing.wait_all_tasks_blocked()
        monkeypatch.setattr(where, step)
        for into in pipes:
            os.write(into, b'{"jsonrpc":"2.0","method":"' + b"x" * 50_000)
        while steps < len(owners):
            before = steps
            await trio.lowlevel.checkpoint()
            at_once.append(steps - before)
        for into in pipes:
            os.write(into, b'"}\n')
        with trio.fail_after(1):
            for owner in owners:
                await until_handled(owner, 1)
    # between two looks lie up to two passes
    assert max(at_once) <= 2


async def test_looks_at_what_many_plugins_have_written_share_their_time(
    autojump_clock: trio.testing.MockClock, clock: Clock
) -> None:
    """Many calls may expire at once; the small reply of one that floods not is in time all the same."""
    pace = Pace()
    floods, quiet = [Owner(asked=True) for _ in range(12)], Owner(asked=True)
    async with AsyncExitStack() as stack:
        pipes = [
            await stack.enter_async_context(reading(one, task=False, pace=pace))
            for one in (*floods, quiet)
        ]
        for owner, into in zip(floods, pipes, strict=False):
            owner.at = Slow(clock)
            os.write(into, LINE * 300)
        for owner in floods:
            owner.reader.read_now()
        assert sum(len(owner.at) for owner in floods) == 1
        # it was read already, or lies in the pipe
        os.write(pipes[-1], LINE * 2)
        for budget in (pace.reading, pace.looking):
            use_up(budget)
        await quiet.reader.read_for(Call("hook/x", 5.0, lambda _: None))
        assert quiet.at == []
        quiet.reader.read_now()
        assert len(quiet.at) == 2
        os.write(pipes[-1], LINE * 2)
        quiet.reader.read_now()
        assert len(quiet.at) == 4
        for owner in floods:
            owner.reader.read_now()
        assert sum(len(owner.at) for owner in floods) == 1
        pace.looking.renew()
        floods[-1].reader.read_now()
        assert len(floods[-1].at) == 1


async def test_a_plugin_that_ends_while_it_waits_for_its_turn_is_read_to_its_end(
    autojump_clock: trio.testing.MockClock,
) -> None:
    pace, owner = Pace(), Owner(asked=True)
    another = pace._turns  # pyright: ignore[reportPrivateUsage]
    async with reading(owner, task=False, pace=pace) as into:
        async with trio.open_nursery() as nursery:
            use_up(pace.reading)
            another.acquire_nowait()
            nursery.start_soon(owner.reader.run)
            os.write(into, LINE * 3)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        assert owner.at == []
        another.release()
        await owner.reader.read_rest()
        assert len(owner.at) == 3
        with trio.fail_after(1):
            await pace.reader_turn()


async def test_a_look_at_the_pipe_leaves_what_takes_long_to_the_task_also_in_a_lull(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many calls may expire in one pass, each with a look."""
    monkeypatch.setattr("sliphook.transport.pace.READING_S", 0.0)
    monkeypatch.setattr("sliphook.transport.pace.LOOKING_S", 0.0)
    owner = Owner(asked=True)
    async with reading(owner) as into:
        await trio.testing.wait_all_tasks_blocked()
        call = Call("hook/x", 5.0, lambda _: None)
        call.settle("cancelled", "its reply has come")
        await owner.reader.read_for(call)
        os.write(into, LINE * 200)
        for _ in range(10):
            owner.reader.read_now()
        assert owner.at == []
        await trio.testing.wait_all_tasks_blocked()
        assert len(owner.at) == 200


# -- who reads after a caller (see `reader_roles`): the clock stands still, so no timer helps
# --------------------------------------------------------------------------------------------------

PASSES = 100
"""So many passes of the loop are enough for any task to read what is there."""


async def left_by_a_caller(owner: Owner, into: int) -> None:
    """A caller was about to read, and was cancelled; then a message comes."""
    await trio.testing.wait_all_tasks_blocked()
    with trio.CancelScope() as scope:
        scope.cancel()
        await owner.reader.read_for(Call("hook/x", 5.0, lambda _: None))
    os.write(into, LINE)


async def handled(owner: Owner) -> int:
    """How many messages are handled without the help of a timer."""
    for _ in range(PASSES):
        await trio.lowlevel.checkpoint()
    return len(owner.at)


async def test_a_caller_that_leaves_work_hands_it_to_the_task(
    mock_clock: trio.testing.MockClock,
) -> None:
    owner = Owner(asked=True)
    async with reading(owner) as into:
        owner.is_owed = True
        await left_by_a_caller(owner, into)
        assert await handled(owner) == 1


async def test_a_reply_that_is_due_ends_the_lull(mock_clock: trio.testing.MockClock) -> None:
    owner = Owner(asked=True)
    async with reading(owner) as into:
        await left_by_a_caller(owner, into)
        owner.is_owed = True
        owner.reader.attend()
        assert await handled(owner) == 1
