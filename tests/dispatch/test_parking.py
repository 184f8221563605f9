"""Hundreds of hooks and calls may be over at once: few of the tasks that wait go on in one pass."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from sliphook import PluginHost
from sliphook.dispatch import parking
from sliphook.dispatch.parking import park, wait_in_line, wake
from sliphook.testing import HANGS, FakePlugin
from tests.passes import Passes
from tests.programs import WAIT_S

MANY = 100


@pytest.fixture
async def passes() -> AsyncGenerator[Passes]:
    with Passes() as count:
        yield count


class Sleepers:
    """Tasks that wait, each for its own end; remembers in which pass each went on."""

    def __init__(self, nursery: trio.Nursery, passes: Passes) -> None:
        self.scopes = [trio.CancelScope() for _ in range(MANY)]
        self.ends: list[list[trio.lowlevel.Task]] = [[] for _ in range(MANY)]
        self.went_on: dict[int, int] = {}
        self._passes = passes
        for number in range(MANY):
            nursery.start_soon(self._sleep, number)

    async def _sleep(self, number: int) -> None:
        with self.scopes[number]:
            await park(self.ends[number])
            self.went_on[number] = self._passes.number

    def wake(self) -> None:
        for end in self.ends:
            wake(end)

    def in_a_pass(self) -> int:
        return max(Counter(self.went_on.values()).values())


@asynccontextmanager
async def asleep(passes: Passes) -> AsyncGenerator[tuple[Sleepers, trio.Nursery]]:
    """All of them sleep; leaving waits until each has gone on or was cancelled."""
    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            sleepers = Sleepers(nursery, passes)
            await trio.testing.wait_all_tasks_blocked()
            yield sleepers, nursery


async def test_many_that_are_woken_at_once_go_on_in_their_order_few_in_a_pass(
    passes: Passes,
) -> None:
    async with asleep(passes) as (sleepers, _):
        sleepers.wake()
    assert sleepers.in_a_pass() == 16
    assert [sleepers.went_on[number] for number in range(MANY)] == sorted(sleepers.went_on.values())


async def test_what_works_for_long_goes_on_alone_in_its_pass(
    passes: Passes, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings = itertools.count()  # seconds: each task takes one
    monkeypatch.setattr(parking, "thread_time", lambda: float(next(readings)))
    async with asleep(passes) as (sleepers, _):
        sleepers.wake()
    assert len(sleepers.went_on) == MANY
    assert sleepers.in_a_pass() == 1


async def test_what_is_cancelled_while_it_waits_for_its_turn_holds_up_no_other(
    passes: Passes,
) -> None:
    async with asleep(passes) as (sleepers, _):
        sleepers.wake()
        for number in range(0, MANY, 2):
            sleepers.scopes[number].cancel()
    # the first are on their way already
    assert sorted(sleepers.went_on) == [*range(16), *range(17, MANY, 2)]
    assert sleepers.ends == [[]] * MANY


async def test_what_is_cancelled_before_its_end_is_not_woken(passes: Passes) -> None:
    async with asleep(passes) as (sleepers, _):
        for scope in sleepers.scopes[1:]:
            scope.cancel()
        await trio.testing.wait_all_tasks_blocked()
        assert [len(end) for end in sleepers.ends] == [1] + [0] * (MANY - 1)
        sleepers.wake()
    assert list(sleepers.went_on) == [0]


async def test_who_waits_in_line_goes_on_behind_those_that_were_woken_before(
    passes: Passes,
) -> None:
    at: list[int] = []

    async def last() -> None:
        await wait_in_line()
        at.append(passes.number)

    async with asleep(passes) as (sleepers, nursery):
        sleepers.wake()
        for _ in range(MANY):
            nursery.start_soon(last)
    assert min(at) >= max(sleepers.went_on.values())
    assert max(Counter([*at, *sleepers.went_on.values()]).values()) == 16


def _lines(messages: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n" for one in messages)


async def _expires(fake: FakePlugin, asked: str) -> None:
    pass


async def _dies(fake: FakePlugin, asked: str) -> None:
    await fake.hears(asked, times=MANY)
    fake.crash()


async def _answers(fake: FakePlugin, asked: str) -> None:
    """All that it was asked, in one piece."""
    await fake.hears(asked, times=MANY)
    ids = [one.id for one in fake.received if one.method == asked]
    result = None if asked.startswith("hook/") else "done"
    await fake.write(_lines({"id": id, "result": result} for id in ids))


async def _own(_: dict[str, Any]) -> str:
    return "done"


@pytest.mark.parametrize(
    ("asked", "ends", "status"),
    [
        ("hook/pre_tool_call", _expires, "denied"),
        ("hook/pre_tool_call", _dies, "denied"),
        ("hook/pre_tool_call", _answers, "ok"),
        ("tool/call", _expires, "timed_out"),
        ("tool/call", _dies, "error"),
        ("tool/call", _answers, "ok"),
    ],
)
async def test_few_tool_calls_go_on_in_one_pass_when_a_plugin_ends_the_wait_of_all(
    asked: str,
    ends: Callable[[FakePlugin, str], Awaitable[None]],
    status: str,
    autojump_clock: trio.testing.MockClock,
    passes: Passes,
) -> None:
    is_hook = asked == "hook/pre_tool_call"
    fake = FakePlugin(hooks={"pre_tool_call": HANGS} if is_hook else {}, tools={"theirs": HANGS})
    went_on: list[int] = []
    statuses: list[str] = []
    async with PluginHost([fake]) as host, host.session() as session, session.turn("x") as turn:

        async def call() -> None:
            name, run = ("own", _own) if is_hook else ("theirs", None)
            statuses.append((await turn.call_tool(name, {}, run=run)).status)
            went_on.append(passes.number)

        async with trio.open_nursery() as nursery:
            for _ in range(MANY):
                nursery.start_soon(call)
            await ends(fake, asked)
    assert statuses == [status] * MANY
    # one more reads the plugin's pipe itself
    assert max(Counter(went_on).values()) <= 17


async def test_few_tool_calls_go_on_in_one_pass_when_a_plugin_answers_the_questions_of_all(
    autojump_clock: trio.testing.MockClock, passes: Passes
) -> None:
    guard = FakePlugin("guard", hooks={"pre_tool_call": {"decision": "ask"}})
    fake = FakePlugin(uses=["approve"], hears=["user_input_required"])
    went_on: list[int] = []
    statuses: list[str] = []
    async with (
        PluginHost([guard, fake]) as host,
        host.session() as session,
        session.turn("x") as turn,
    ):

        async def call() -> None:
            statuses.append((await turn.call_tool("own", {}, run=_own)).status)
            went_on.append(passes.number)

        async with trio.open_nursery() as nursery:
            for _ in range(MANY):
                nursery.start_soon(call)
            await fake.hears("user_input_required", times=MANY)
            answers = [
                {
                    "session_id": session.session_id,
                    "question_id": one.question_id,
                    "choice": "allow",
                }
                for one in fake.payloads("user_input_required")
            ]
            await fake.write(
                _lines(
                    {"id": id, "method": "host/answer", "params": params}
                    for id, params in enumerate(answers)
                )
            )
    assert statuses == ["ok"] * MANY
    assert max(Counter(went_on).values()) <= 16


async def test_an_interrupt_while_many_wait_for_their_turn_lets_no_more_tools_begin(
    autojump_clock: trio.testing.MockClock,
) -> None:
    fake = FakePlugin(hooks={"pre_tool_call": HANGS}, hears=["post_tool_call"])
    ran: list[str] = []
    async with PluginHost([fake]) as host, host.session() as session:

        async def interrupts(_: dict[str, Any]) -> str:
            ran.append("tool")
            assert session.interrupt()
            return "done"

        async with session.turn("x") as turn, trio.open_nursery() as nursery:
            for _ in range(MANY):
                nursery.start_soon(lambda: turn.call_tool("shell", {}, run=interrupts))
            await _answers(fake, "hook/pre_tool_call")
        assert turn.outcome == "interrupted"
        await fake.hears("post_tool_call", times=MANY)
    assert ran == ["tool"]
    assert [one.status for one in fake.payloads("post_tool_call")] == ["cancelled"] * MANY
