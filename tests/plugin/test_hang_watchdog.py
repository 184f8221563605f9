"""When a plugin hangs: on a clock that jumps, with the plugin played by three functions."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio
import trio.testing

from sliphook.plugin.hang_watchdog import HangWatchdog
from sliphook.transport.deadlines import Deadlines


class Watched:
    """What the watch did, and when."""

    def __init__(self) -> None:
        self.pings: list[float] = []
        self.hangs: list[float] = []
        self.busy_until = 0.0
        self.deadlines = Deadlines()
        self.watch = HangWatchdog(
            self.deadlines,
            busy=lambda: trio.current_time() < self.busy_until,
            ping=lambda: self.pings.append(trio.current_time()),
            hangs=lambda: self.hangs.append(trio.current_time()),
        )


@asynccontextmanager
async def watched() -> AsyncGenerator[Watched]:
    plugin = Watched()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(plugin.deadlines.run)
        await trio.testing.wait_all_tasks_blocked()
        yield plugin
        nursery.cancel_scope.cancel()


async def test_five_seconds_after_it_was_given_up_it_is_pinged_and_ten_seconds_later_it_hangs(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched() as plugin:
        plugin.watch.unanswered()
        await trio.sleep(100)
    assert (plugin.pings, plugin.hangs) == ([5.0], [15.0])


async def test_a_second_request_that_is_given_up_wins_it_no_time(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched() as plugin:
        plugin.watch.unanswered()
        await trio.sleep(4)
        plugin.watch.unanswered()
        await trio.sleep(100)
    assert (plugin.pings, plugin.hangs) == ([5.0], [15.0])


async def test_any_message_clears_it_before_the_ping_and_behind_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched() as plugin:
        plugin.watch.unanswered()
        await trio.sleep(4)
        plugin.watch.heard()
        await trio.sleep(100)
        assert (plugin.pings, plugin.hangs) == ([], [])
        plugin.watch.unanswered()
        await trio.sleep(14)
        plugin.watch.heard()
        await trio.sleep(100)
    assert (plugin.pings, plugin.hangs) == ([109.0], [])


async def test_one_that_owes_nothing_is_never_pinged(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched() as plugin:
        await trio.sleep(1_000)
    assert (plugin.pings, plugin.hangs) == ([], [])


async def test_there_is_no_ping_while_requests_are_within_their_time(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched() as plugin:
        plugin.busy_until = 7.0
        plugin.watch.unanswered()
        await trio.sleep(100)
    assert (plugin.pings, plugin.hangs) == ([10.0], [20.0])


async def test_a_process_that_is_gone_is_not_watched(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched() as plugin:
        plugin.watch.unanswered()
        await trio.sleep(6)
        plugin.watch.stop()
        await trio.sleep(100)
    assert (plugin.pings, plugin.hangs) == ([5.0], [])
