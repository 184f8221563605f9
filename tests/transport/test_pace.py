"""Few plugins go on in one pass of the loop."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing

from sliphook.process import streams
from sliphook.process.streams import read_by_turns
from sliphook.transport.pace import READING_S, Pace
from tests.passes import Passes


async def in_each_pass(count: int, wait: Callable[[], Awaitable[None]]) -> Counter[int]:
    """How many of so many tasks went on in each pass."""
    went_on: Counter[int] = Counter()

    async def one() -> None:
        await wait()
        went_on[passes.number] += 1

    with Passes() as passes:
        async with trio.open_nursery() as nursery:
            for _ in range(count):
                nursery.start_soon(one)
    return went_on


async def test_fifty_tasks_go_on_four_in_a_pass() -> None:
    went_on = await in_each_pass(50, Pace().step)
    assert went_on.total() == 50
    assert max(went_on.values()) == 4


@pytest.mark.parametrize("wait", [Pace.step, Pace.reader_turn])
async def test_a_task_that_is_cancelled_gives_its_place_away(
    wait: Callable[[Pace], Awaitable[None]],
) -> None:
    pace = Pace()
    left: list[int] = []

    async def one(number: int) -> None:
        await wait(pace)
        left.append(number)

    with trio.fail_after(120):
        async with trio.open_nursery() as nursery, trio.open_nursery() as given_up:
            for number in range(20):
                given_up.start_soon(one, number)
            given_up.cancel_scope.cancel()
            nursery.start_soon(one, 20)
    assert left == [20]


async def test_readers_that_have_used_up_their_time_go_on_one_in_a_pass() -> None:
    pace = Pace()

    async def turn() -> None:
        await pace.reader_turn()
        assert pace.reading.left_s == READING_S
        pace.reading.spend(READING_S)

    went_on = await in_each_pass(20, turn)
    assert went_on.total() == 20
    assert max(went_on.values()) == 1


async def test_what_is_used_up_is_there_again_in_the_next_pass() -> None:
    pace = Pace()
    left_s: list[float] = []
    with Passes() as passes:
        for _ in range(3):
            pace.reading.spend(READING_S)
            used_up_in = passes.number
            pace.reading.spend(READING_S)
            left_s.append(pace.reading.left_s)
            while pace.reading.left_s < READING_S:
                assert passes.number <= used_up_in + 1
                await trio.lowlevel.checkpoint()
            assert passes.number > used_up_in
    assert left_s == [-READING_S] * 3


@pytest.fixture
def pieces_are_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "STEP_PIECES", 1)


@pytest.mark.usefixtures("pieces_are_steps")
async def test_pipes_that_are_written_to_at_once_are_read_four_in_a_pass() -> None:
    passes, pace = Passes(), Pace()
    reads: Counter[int] = Counter()
    pipes = [os.pipe() for _ in range(20)]

    def read(descriptor: int) -> int:
        reads[passes.number] += 1
        return len(os.read(descriptor, 1024))

    try:
        with trio.fail_after(120), passes:
            async with trio.open_nursery() as nursery:
                for ours, _ in pipes:
                    nursery.start_soon(read_by_turns, ours, read, pace)
                await trio.testing.wait_all_tasks_blocked()
                for _, theirs in pipes:
                    os.write(theirs, b"x")
                await trio.testing.wait_all_tasks_blocked()
                bursts = reads.copy()
                for _, theirs in pipes:
                    os.close(theirs)
    finally:
        for ours, _ in pipes:
            os.close(ours)
    assert bursts.total() == 20
    assert reads.total() == 40
    assert max(reads.values()) == 4


@pytest.mark.usefixtures("pieces_are_steps")
async def test_pieces_that_take_all_the_time_of_readers_are_read_one_by_one() -> None:
    passes, pace = Passes(), Pace()
    reads: Counter[int] = Counter()
    pipes = [os.pipe() for _ in range(20)]

    def read(descriptor: int) -> int:
        reads[passes.number] += 1
        pace.reading.spend(READING_S)
        return len(os.read(descriptor, 1024))

    try:
        with trio.fail_after(120), passes:
            async with trio.open_nursery() as nursery:
                for ours, theirs in pipes:
                    os.write(theirs, b"x")
                    os.close(theirs)
                    nursery.start_soon(read_by_turns, ours, read, pace)
    finally:
        for ours, _ in pipes:
            os.close(ours)
    assert reads.total() == 40
    # one whose turn it is, and one that has found the time of a new pass
    assert max(reads.values()) <= 2
