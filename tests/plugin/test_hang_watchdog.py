"""When a plugin hangs: on a clock that jumps, with the plugin played by a few lines."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import msgspec
import pytest
import trio
import trio.testing

from sliphook.plugin.hang_watchdog import HangWatchdog
from sliphook.transport.call import Call
from sliphook.transport.deadlines import Deadlines
from sliphook.wire.envelope import Notification, Reply

LOG = Notification("host/log", msgspec.Raw(b"{}"))


class Watched:
    """A plugin whose requests the test makes and settles, and what the watch did, and when."""

    def __init__(self, *, reads: bool = True) -> None:
        self.reads = reads
        self.pings: list[float] = []
        self.ends: list[tuple[float, str]] = []
        self.calls: dict[int, Call] = {}
        self.newest_answered = 0
        self.deadlines = Deadlines()
        self.watch = HangWatchdog(self.deadlines, self, self._pinged, self._ended)
        self._ids = 0

    @property
    def under_way(self) -> Mapping[int, Call]:
        return self.calls

    @property
    def hangs(self) -> list[float]:
        return [at for at, _ in self.ends]

    def _pinged(self) -> None:
        self.pings.append(trio.current_time())
        call = self.ask("ping")
        if self.reads:
            self.answer(call)

    def _ended(self, why: str) -> None:
        self.ends.append((trio.current_time(), why))

    def ask(self, method: str = "hook/stop") -> Call:
        """The host sends a request."""
        call = Call(method, 300.0, lambda _: None)
        self._ids += 1
        call.id = self._ids
        self.calls[call.id] = call
        return call

    def give_up(self, call: Call) -> None:
        """It times out or is cancelled."""
        del self.calls[call.id]
        self.watch.unanswered(call)

    def answer(self, call: Call) -> None:
        """The plugin replies, in time or not."""
        self.watch.heard(Reply(call.id, msgspec.Raw(b"null"), None))
        if self.calls.pop(call.id, None) is not None and call.method != "ping":
            self.newest_answered = max(self.newest_answered, call.id)

    def report(self, call: Call) -> None:
        """The plugin reports progress."""
        self.watch.heard(Notification("$/progress", msgspec.Raw(b'{"id":%d}' % call.id)))


@asynccontextmanager
async def watched(*, reads: bool = False) -> AsyncGenerator[Watched]:
    plugin = Watched(reads=reads)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(plugin.deadlines.run)
        await trio.testing.wait_all_tasks_blocked()
        yield plugin
        nursery.cancel_scope.cancel()


# -- it is silent


async def test_five_seconds_after_it_was_given_up_it_is_pinged_and_ten_seconds_later_it_hangs(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched() as plugin:
        plugin.give_up(plugin.ask())
        await trio.sleep(100)
    assert (plugin.pings, plugin.hangs) == ([5.0], [15.0])
    assert plugin.ends[0][1] == ("hangs: it owes an answer and has given no sign of life for 10 s")


async def test_a_second_request_that_is_given_up_wins_it_no_time(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched() as plugin:
        plugin.give_up(plugin.ask())
        await trio.sleep(4)
        plugin.give_up(plugin.ask())
        await trio.sleep(100)
    assert (plugin.pings, plugin.hangs) == ([5.0], [15.0])


@pytest.mark.parametrize("sent_s", [0.0, 4.0, 8.0, 14.0])
async def test_a_request_that_was_sent_later_is_no_excuse(
    autojump_clock: trio.testing.MockClock, sent_s: float
) -> None:
    async with watched() as plugin:
        plugin.give_up(plugin.ask())
        await trio.sleep(sent_s)
        plugin.ask()
        await trio.sleep(100)
    assert (plugin.pings, plugin.hangs) == ([5.0], [15.0])


async def test_any_message_clears_it_before_the_ping_and_behind_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched() as plugin:
        plugin.give_up(plugin.ask())
        await trio.sleep(4)
        plugin.watch.heard(LOG)
        await trio.sleep(100)
        assert (plugin.pings, plugin.hangs) == ([], [])
        plugin.give_up(plugin.ask())
        await trio.sleep(14)
        plugin.watch.heard(LOG)
        await trio.sleep(100)
    assert (plugin.pings, plugin.hangs) == ([109.0], [])


async def test_one_that_owes_nothing_is_never_pinged(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched() as plugin:
        plugin.ask()
        await trio.sleep(1_000)
    assert (plugin.pings, plugin.hangs) == ([], [])


async def test_an_older_request_within_its_time_is_an_excuse(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A plugin with one thread has not yet come to the request that was given up."""
    async with watched() as plugin:
        older = plugin.ask("tool/call")
        plugin.give_up(plugin.ask())
        await trio.sleep(60)
        assert plugin.pings == []
        plugin.give_up(older)  # 300 s are over, say
        await trio.sleep(100)
    assert (plugin.pings, plugin.hangs) == ([65.0], [75.0])


async def test_an_older_request_is_no_excuse_if_others_pass_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched() as plugin:
        plugin.ask("tool/call")
        plugin.answer(plugin.ask("hook/turn_start"))
        plugin.give_up(plugin.ask())
        await trio.sleep(100)
    assert (plugin.pings, plugin.hangs) == ([5.0], [15.0])


async def test_a_ping_that_times_out_is_not_watched(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched() as plugin:
        plugin.give_up(plugin.ask("ping"))
        await trio.sleep(100)
    assert (plugin.pings, plugin.hangs) == ([], [])


async def test_a_process_that_is_gone_is_not_watched(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched() as plugin:
        plugin.give_up(plugin.ask())
        plugin.ask()
        await trio.sleep(6)
        plugin.watch.stop()
        await trio.sleep(100)
    assert (plugin.pings, plugin.hangs) == ([5.0], [])


# -- it reads, and its handlers are held


@pytest.mark.parametrize(
    ("sent_s", "ended_s"), [(0.0, 15.0), (0.5, 15.0), (5.0, 15.0), (8.0, 18.0), (57.0, 67.0)]
)
async def test_a_reader_that_lives_lets_no_request_wait_for_long(
    autojump_clock: trio.testing.MockClock, sent_s: float, ended_s: float
) -> None:
    async with watched(reads=True) as plugin:
        plugin.give_up(plugin.ask())
        await trio.sleep(sent_s)
        plugin.ask("hook/pre_llm_call")
        await trio.sleep(100)
    assert (plugin.pings, plugin.hangs) == ([5.0], [ended_s])


async def test_the_reason_says_what_is_overdue_and_how_long_the_next_one_waited(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched(reads=True) as plugin:
        plugin.give_up(plugin.ask())
        await trio.sleep(3)
        plugin.ask("hook/pre_llm_call")
        await trio.sleep(100)
    assert [why for _, why in plugin.ends] == [
        "is stuck: its answer to hook/stop has been overdue for 15 s, and a request behind it has"
        " waited for 12 s"
    ]


async def test_requests_that_time_out_one_after_the_other_wait_together(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A turn of hooks with 5 s each: none of them waits for 10 s."""
    async with watched(reads=True) as plugin:
        plugin.give_up(plugin.ask())
        await trio.sleep(20)
        for method in ("hook/turn_start", "hook/pre_llm_call", "hook/pre_tool_call"):
            call = plugin.ask(method)
            await trio.sleep(4)
            plugin.give_up(call)
    assert plugin.hangs == [30.0]


async def test_nobody_is_held_if_nobody_waits_any_more(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched(reads=True) as plugin:
        plugin.give_up(plugin.ask())
        for _ in range(3):
            await trio.sleep(1)
            plugin.give_up(plugin.ask())  # the user stops turn after turn at once
        await trio.sleep(1_000)
        assert plugin.hangs == []
        plugin.ask()
        await trio.sleep(100)
    assert plugin.hangs == [1_013.0]


async def test_a_late_answer_ends_it(autojump_clock: trio.testing.MockClock) -> None:
    """A shell script reads the cancel when its work is done, and goes on with the next request."""
    async with watched() as plugin:
        first = plugin.ask()
        plugin.give_up(first)
        plugin.ask()
        await trio.sleep(14)
        plugin.answer(first)
        await trio.sleep(250)
    assert plugin.hangs == []


async def test_each_request_that_was_given_up_has_its_own_time(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched(reads=True) as plugin:
        calls = [plugin.ask() for _ in range(3)]
        for call in calls:
            plugin.give_up(call)
        plugin.ask()
        for call in calls[:2]:
            await trio.sleep(12)
            plugin.answer(call)
        await trio.sleep(100)
    assert plugin.hangs == [39.0]


async def test_an_answer_of_the_same_method_shows_that_nothing_is_held(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It has a thread for each request, and never answers what was cancelled."""
    async with watched(reads=True) as plugin:
        plugin.give_up(plugin.ask())
        plugin.answer(plugin.ask())
        plugin.ask()
        await trio.sleep(250)
    assert plugin.hangs == []


async def test_an_answer_of_another_method_does_not(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It answers quick hooks where it reads, and has one thread for the slow ones."""
    async with watched(reads=True) as plugin:
        plugin.give_up(plugin.ask())
        plugin.answer(plugin.ask("hook/pre_llm_call"))
        waits = plugin.ask("hook/pre_llm_call")
        await trio.sleep(50)
        assert plugin.hangs == []  # that method is answered: this one is at work
        plugin.answer(waits)
        plugin.ask()
        await trio.sleep(100)
    assert plugin.hangs == [60.0]


async def test_progress_shows_that_a_request_is_not_held(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched(reads=True) as plugin:
        plugin.give_up(plugin.ask("tool/call"))
        later = plugin.ask("tool/call")
        await trio.sleep(14)
        plugin.report(later)
        await trio.sleep(250)
    assert plugin.hangs == []


async def test_progress_on_something_else_does_not(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched(reads=True) as plugin:
        first = plugin.ask("tool/call")
        plugin.give_up(first)
        plugin.ask("tool/call")
        for _ in range(14):
            await trio.sleep(1)
            plugin.report(first)
            plugin.watch.heard(Notification("$/progress", msgspec.Raw(b'{"id":"x"}')))
            plugin.watch.heard(LOG)
        await trio.sleep(100)
    assert plugin.hangs == [15.0]
