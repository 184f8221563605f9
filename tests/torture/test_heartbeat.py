"""What holds the loop is seen, and whose it is."""

from __future__ import annotations

import time

import pytest
import trio

from tests.heartbeat import Held, heartbeat, timed_interrupt, unmeasured

SPIN_MS = 30.0


def spin(ms: float) -> None:
    """Use so much CPU on this thread."""
    end = time.thread_time() + ms / 1000
    while time.thread_time() < end:
        pass


async def _spin() -> None:
    spin(SPIN_MS)


async def test_a_stretch_is_held_against_whom_its_task_works_for() -> None:
    async with heartbeat() as beat, trio.open_nursery() as nursery:
        with beat.measure() as idle:
            await trio.lowlevel.checkpoint()

            async def other() -> None:
                with beat.measure() as busy:
                    async with trio.open_nursery() as inner:
                        inner.start_soon(_spin)
                seen.append(busy)

            seen: list[Held] = []
            nursery.start_soon(other)
            while not seen:
                await trio.lowlevel.checkpoint()
    assert seen[0].own_ms >= SPIN_MS
    assert idle.own_ms < SPIN_MS


async def test_all_steps_of_one_pass_are_one_stretch() -> None:
    async with heartbeat() as beat:
        with beat.measure() as held:
            async with trio.open_nursery() as nursery:
                for _ in range(4):
                    nursery.start_soon(_spin)
            await trio.lowlevel.checkpoint()
    assert held.own_ms >= 4 * SPIN_MS


async def test_a_system_task_is_held_against_all() -> None:
    async with heartbeat() as beat:
        with beat.measure() as held:
            trio.lowlevel.spawn_system_task(_spin)
            for _ in range(3):
                await trio.lowlevel.checkpoint()
    assert held.shared_ms >= SPIN_MS
    assert held.own_ms < SPIN_MS


async def test_a_thread_that_keeps_the_lock_freezes_the_loop() -> None:
    """A long call in C lets no other thread run, and its CPU is not the loop's."""
    numbers = list(range(500_000, 0, -1))
    async with heartbeat() as beat:
        with beat.measure() as held:
            await trio.sleep(0.01)
            await trio.to_thread.run_sync(lambda: numbers.sort(key=str))
            await trio.sleep(0.01)
    assert held.frozen_ms >= SPIN_MS
    assert held.frozen_ms > held.own_ms


async def test_the_agents_own_work_is_not_measured() -> None:
    async with heartbeat() as beat:
        with beat.measure() as held:
            with unmeasured():
                spin(SPIN_MS)
            await trio.lowlevel.checkpoint()
    assert held.own_ms < SPIN_MS


async def test_an_interrupt_is_timed() -> None:
    async with heartbeat() as beat:
        with beat.measure() as held, timed_interrupt():
            spin(SPIN_MS)
    assert held.interrupt_ms >= SPIN_MS


@pytest.mark.parametrize(
    ("held", "faults"),
    [
        (Held(20.0, 20.0, 20.0, 2.0), 0),
        (Held(own_ms=20.1), 1),
        (Held(shared_ms=20.1), 1),
        (Held(frozen_ms=20.1), 1),
        (Held(interrupt_ms=2.1), 1),
    ],
)
def test_the_limits(held: Held, faults: int) -> None:
    assert len(held.beyond()) == faults
