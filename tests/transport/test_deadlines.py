"""One watchdog for all timeouts, on a clock that jumps."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from sliphook.transport.call import Call
from sliphook.transport.deadlines import PASS_S, Deadlines


class Watched:
    """Something with a timeout: remembers when it expired and how late that was."""

    def __init__(self, on_expired: Callable[[], object] = lambda: None) -> None:
        self.at: list[tuple[float, float]] = []
        self._on_expired = on_expired

    def expired(self, late_s: float) -> None:
        self.at.append((trio.current_time(), late_s))
        self._on_expired()


@asynccontextmanager
async def watching(deadlines: Deadlines) -> AsyncGenerator[None]:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(deadlines.run)
        await trio.testing.wait_all_tasks_blocked()
        yield
        nursery.cancel_scope.cancel()


async def test_each_expires_at_its_own_time(autojump_clock: trio.testing.MockClock) -> None:
    deadlines = Deadlines()
    late, early, early_too = Watched(), Watched(), Watched()
    async with watching(deadlines):
        deadlines.add(late, 5.0)
        deadlines.add(early, 1.0)
        await trio.sleep(0.5)
        deadlines.add(early_too, 1.0)
        await trio.sleep(100)
    assert early.at == [(1.0, 0.0)]
    assert early_too.at == [(1.5, 0.0)]
    assert late.at == [(5.0, 0.0)]


async def test_what_was_added_before_the_watchdog_ran_expires_too(
    autojump_clock: trio.testing.MockClock,
) -> None:
    deadlines, item = Deadlines(), Watched()
    deadlines.add(item, 2.0)
    async with watching(deadlines):
        await trio.sleep(3)
    assert item.at == [(2.0, 0.0)]


async def test_what_is_removed_in_time_never_expires(
    autojump_clock: trio.testing.MockClock,
) -> None:
    deadlines, gone, kept = Deadlines(), Watched(), Watched()
    async with watching(deadlines):
        deadlines.add(gone, 1.0)
        deadlines.add(kept, 1.0)
        deadlines.remove(gone, 1.0)
        deadlines.remove(gone, 1.0)
        deadlines.remove(Watched(), 7.0)
        await trio.sleep(2)
        deadlines.remove(kept, 1.0)
    assert (gone.at, kept.at) == ([], [(1.0, 0.0)])


async def test_an_entry_that_is_removed_leaves_nothing_behind() -> None:
    deadlines = Deadlines()
    for number in range(1_000):
        item = Watched()
        deadlines.add(item, 1.0 + number / 1_000)
        deadlines.remove(item, 1.0 + number / 1_000)
    assert deadlines._queues == {}  # pyright: ignore[reportPrivateUsage]


async def test_added_again_it_waits_anew_and_delays_nothing_behind_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    deadlines, again, behind = Deadlines(), Watched(), Watched()
    async with watching(deadlines):
        deadlines.add(again, 5.0)
        await trio.sleep(1)
        deadlines.add(behind, 5.0)
        await trio.sleep(1)
        deadlines.add(again, 5.0)
        await trio.sleep(100)
    assert (behind.at, again.at) == ([(6.0, 0.0)], [(7.0, 0.0)])


async def test_what_expires_may_add_and_remove_others(
    autojump_clock: trio.testing.MockClock,
) -> None:
    deadlines, victim, follower = Deadlines(), Watched(), Watched()

    def act() -> None:
        deadlines.remove(victim, 1.0)
        deadlines.add(follower, 1.0)

    async with watching(deadlines):
        actor = Watched(act)
        deadlines.add(actor, 1.0)
        deadlines.add(victim, 1.0)
        await trio.sleep(10)
    assert actor.at == [(1.0, 0.0)]
    assert victim.at == []
    assert follower.at == [(2.0, 0.0)]


async def test_a_fault_in_one_delays_no_other(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    deadlines = Deadlines()

    def fault() -> None:
        raise RuntimeError("boom")

    faulty, behind, later = Watched(fault), Watched(), Watched()
    async with watching(deadlines):
        deadlines.add(faulty, 1.0)
        deadlines.add(behind, 1.0)
        deadlines.add(later, 2.0)
        await trio.sleep(5)
    assert len(faulty.at) == 1
    assert len(behind.at) == 1
    assert len(later.at) == 1
    assert [record.getMessage() for record in caplog.records] == [
        "what a timeout should have done failed"
    ]


async def test_what_expires_may_wait_again(autojump_clock: trio.testing.MockClock) -> None:
    deadlines = Deadlines()
    ticks = Watched(lambda: deadlines.add(ticks, 2.0))
    async with watching(deadlines):
        deadlines.add(ticks, 2.0)
        await trio.sleep(7)
    assert ticks.at == [(2.0, 0.0), (4.0, 0.0), (6.0, 0.0)]


async def test_each_is_told_how_late_it_is_noticed(mock_clock: trio.testing.MockClock) -> None:
    """A caller can tell a slow plugin from an agent that held the loop."""
    deadlines, first, second = Deadlines(), Watched(), Watched()
    async with watching(deadlines):
        deadlines.add(first, 1.0)
        deadlines.add(second, 2.75)
        await trio.testing.wait_all_tasks_blocked()
        mock_clock.jump(3.0)  # the agent holds the loop for three seconds
        await trio.testing.wait_all_tasks_blocked()
    assert (first.at, second.at) == ([(3.0, 2.0)], [(3.0, 0.25)])


async def test_a_loop_that_is_blocked_right_after_the_call_was_made_is_noticed_too(
    mock_clock: trio.testing.MockClock,
) -> None:
    deadlines, item = Deadlines(), Watched()
    async with watching(deadlines):
        deadlines.add(Watched(), 100.0)
        await trio.testing.wait_all_tasks_blocked()
        deadlines.add(item, 1.0)
        mock_clock.jump(3.0)  # before the watchdog has had a chance to set its alarm
        await trio.testing.wait_all_tasks_blocked()
    assert item.at == [(3.0, 2.0)]


@pytest.mark.parametrize("timeout_s", [0.0, -1.0])
async def test_no_time_left_expires_at_once(
    timeout_s: float, autojump_clock: trio.testing.MockClock
) -> None:
    deadlines, item = Deadlines(), Watched()
    async with watching(deadlines):
        deadlines.add(item, timeout_s)
        await trio.testing.wait_all_tasks_blocked()
        assert [at for at, _ in item.at] == [0.0]


async def test_the_watchdog_can_be_cancelled_and_run_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    deadlines, item = Deadlines(), Watched()
    async with watching(deadlines):
        deadlines.add(item, 5.0)
        await trio.sleep(1)
    await trio.sleep(1)
    deadlines.add(Watched(), 1.0)
    async with watching(deadlines):
        await trio.sleep(10)
    assert item.at == [(5.0, 0.0)]


async def test_other_tasks_run_while_many_expire_together(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings = itertools.count(0.0, PASS_S / 10)
    monkeypatch.setattr("sliphook.transport.deadlines.perf_counter", lambda: next(readings))
    deadlines, expired, looks = Deadlines(), list[int](), list[int]()

    first = trio.Event()

    def one_more() -> None:
        expired.append(1)
        first.set()

    items = [Watched(one_more) for _ in range(100)]

    async def look() -> None:
        await first.wait()
        while len(expired) < len(items):
            looks.append(len(expired))
            await trio.lowlevel.checkpoint()

    async with watching(deadlines), trio.open_nursery() as nursery:
        for item in items:
            deadlines.add(item, 1.0)
        nursery.start_soon(look)
        await trio.sleep(10)
    assert len(looks) >= 5, looks
    assert [len(item.at) for item in items] == [1] * len(items)


@pytest.mark.parametrize(
    ("timeout_s", "words"),
    [(600.0, "600 s"), (4.987_654, "4.988 s"), (0.05, "0.05 s"), (4.4925e-05, "0.001 s")],
)
async def test_what_a_person_reads_of_a_time(timeout_s: float, words: str) -> None:
    """A plugin that is asked behind a slow one may have next to nothing left."""
    call = Call("hook/x", timeout_s, lambda _: None)
    assert call.unanswered() == f"no answer within {words}"
