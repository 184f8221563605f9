"""A caller that spins for its answer: it delays no other task, and all that ends a wait ends it.

Each is tried at every pass of the loop.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from sliphook import Outcome, PluginHost, Turn
from sliphook.testing import HANGS, FakePlugin
from sliphook.transport import reader
from sliphook.transport.call import Call
from sliphook.transport.reader import PipeReader
from sliphook_sdk.spin_wait import SpinWait

PASSES = range(8)
"""When the disturbance comes: in so many passes a request is written, polled in vain, and read."""


@pytest.fixture(autouse=True)
def always_awake(monkeypatch: pytest.MonkeyPatch) -> None:
    """For longer than any test may take, and whatever the last answers were."""
    monkeypatch.setattr(reader, "SPIN_S", 60.0)
    monkeypatch.setattr(reader, "TOOL_SPIN_S", 60.0)
    monkeypatch.setattr(SpinWait, "pays", True)


class Sleepers(list[Call]):
    """The callers that have gone to sleep; `first` is set by the first of them."""

    def __init__(self) -> None:
        super().__init__()
        self.first = trio.Event()


@pytest.fixture
def sleepers(monkeypatch: pytest.MonkeyPatch) -> Sleepers:
    return noted_from_now_on(monkeypatch)


def noted_from_now_on(monkeypatch: pytest.MonkeyPatch) -> Sleepers:
    found = Sleepers()
    readable = PipeReader._readable  # pyright: ignore[reportPrivateUsage]

    async def noted(self: PipeReader, waiter: object) -> bool:
        if isinstance(waiter, Call):
            found.append(waiter)
            found.first.set()
        return await readable(self, waiter)

    monkeypatch.setattr(PipeReader, "_readable", noted)
    return found


async def ask(turn: Turn) -> Outcome:
    call: dict[str, Any] = {
        "call_id": "c",
        "model_call_id": None,
        "tool_name": "shell",
        "origin": "agent",
        "arguments": {},
    }
    return await turn.hooks.ask("pre_tool_call", turn, **call)


@asynccontextmanager
async def asking(plugin: FakePlugin) -> AsyncGenerator[Turn]:
    with trio.fail_after(120):
        async with (
            PluginHost([plugin]) as host,
            host.session() as session,
            session.turn("x") as turn,
        ):
            yield turn


async def after(passes: int, then: Callable[[], object]) -> None:
    for _ in range(passes):
        await trio.lowlevel.checkpoint()
    then()


def statuses(outcome: Outcome) -> list[str]:
    return [part.status for part in outcome.parts]


async def test_answers_come_without_sleep_and_all_other_tasks_run(sleepers: Sleepers) -> None:
    ran = 0
    plugin = FakePlugin("guard", hooks={"pre_tool_call": {"decision": "allow"}})

    async def others() -> None:
        nonlocal ran
        while True:
            await trio.lowlevel.checkpoint()
            ran += 1

    async with asking(plugin) as turn, trio.open_nursery() as nursery:
        nursery.start_soon(others)
        for _ in range(20):
            before = ran
            assert (await ask(turn)).decision == "allow"
            assert ran > before
        nursery.cancel_scope.cancel()
    assert sleepers == []


async def test_who_has_been_awake_for_long_enough_goes_to_sleep(
    monkeypatch: pytest.MonkeyPatch, sleepers: Sleepers
) -> None:
    monkeypatch.setattr(reader, "SPIN_S", 0.001)
    plugin = FakePlugin("guard", hooks={"pre_tool_call": HANGS})

    async with asking(plugin) as turn, trio.open_nursery() as nursery:

        async def answer_late() -> None:
            await sleepers.first.wait()
            await plugin.write(b'{"jsonrpc":"2.0","id":%d,"result":null}\n' % sleepers[0].id)

        nursery.start_soon(answer_late)
        assert statuses(await ask(turn)) == ["answered"]


@pytest.mark.parametrize("passes", PASSES)
async def test_a_cancellation_from_outside(passes: int, sleepers: Sleepers) -> None:
    plugin = FakePlugin("guard", hooks={"pre_tool_call": HANGS})
    async with asking(plugin) as turn, trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:
            nursery.start_soon(after, passes, scope.cancel)
            await ask(turn)
        assert scope.cancelled_caught
        await plugin.hears("$/cancelRequest")
    assert (plugin.names(), sleepers) == (["pre_tool_call"], [])


@pytest.mark.parametrize("passes", PASSES)
async def test_an_interrupt(passes: int, sleepers: Sleepers) -> None:
    plugin = FakePlugin("guard", hooks={"pre_tool_call": HANGS})
    async with asking(plugin) as turn, trio.open_nursery() as nursery:
        outcomes: list[Outcome] = []

        async def outside() -> None:
            outcomes.append(await ask(turn))

        nursery.start_soon(outside)
        await after(passes + 1, turn.session.interrupt)
        assert turn.ended
    assert [outcome.cancelled for outcome in outcomes] in (
        [],
        [True],
    )  # cancelled with the block it was started in, or told so
    assert sleepers == []


@pytest.mark.parametrize("passes", PASSES)
async def test_death(passes: int, sleepers: Sleepers) -> None:
    plugin = FakePlugin("guard", hooks={"pre_tool_call": HANGS})
    async with asking(plugin) as turn, trio.open_nursery() as nursery:
        nursery.start_soon(after, passes, plugin.crash)
        assert statuses(await ask(turn)) == ["crashed"]
    assert sleepers == []


async def test_a_timeout(sleepers: Sleepers) -> None:
    plugin = FakePlugin(
        "guard",
        hooks={"pre_tool_call": HANGS},
        subscriptions=[{"event": "pre_tool_call", "timeout_s": 0.05}],
    )
    async with asking(plugin) as turn:
        assert statuses(await ask(turn)) == ["timed_out"]
    assert sleepers == []


@pytest.mark.parametrize("passes", PASSES)
async def test_a_second_caller_whose_answer_comes_first(passes: int, sleepers: Sleepers) -> None:
    plugin = FakePlugin("guard", hooks={"pre_tool_call": HANGS})
    came: list[int] = []

    async def one(number: int, turn: Turn) -> None:
        assert statuses(await ask(turn)) == ["answered"]
        came.append(number)

    async def answer(ids: list[int]) -> None:
        for request_id in ids:
            await plugin.write(b'{"jsonrpc":"2.0","id":%d,"result":null}\n' % request_id)
            await trio.lowlevel.checkpoint()

    async with asking(plugin) as turn, trio.open_nursery() as nursery:
        nursery.start_soon(one, 1, turn)
        await after(passes, lambda: nursery.start_soon(one, 2, turn))
        await plugin.hears("pre_tool_call", times=2)
        await answer([message.id for message in plugin.received[:0:-1] if message.id is not None])
    assert (sorted(came), sleepers) == ([1, 2], [])


@pytest.mark.parametrize(
    ("before", "head"),
    [
        (b"not a message\n" * 150, b""),
        (
            b'{"jsonrpc":"2.0","method":"host/log","params":{"level":"info","message":"hello"}}\n'
            * 350,
            b"",
        ),
        (b'{"jsonrpc":', b'"2.0",'),
    ],
    ids=["stray", "flood", "half"],
)
async def test_other_output_before_the_answer(before: bytes, head: bytes) -> None:
    plugin = FakePlugin("guard", hooks={"pre_tool_call": HANGS})
    async with asking(plugin) as turn, trio.open_nursery() as nursery:

        async def answer() -> None:
            await plugin.hears("pre_tool_call")
            await plugin.write(before)
            await trio.lowlevel.checkpoint()
            await plugin.write(
                (head or b'{"jsonrpc":"2.0",')
                + b'"id":%d,"result":null}\n' % (plugin.received[-1].id or 0)
            )

        nursery.start_soon(answer)
        assert statuses(await ask(turn)) == ["answered"]


async def test_a_poll_in_vain_takes_nothing_from_the_caller_with_the_only_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What they send next is written at once, also if they run before the spinning caller."""
    plugin = FakePlugin("guard", hooks={"pre_tool_call": HANGS})
    writers: list[str] = []

    def watched(descriptor: int) -> tuple[Callable[..., int], tuple[()]]:
        def write(data: bytes | memoryview) -> int:
            writers.append(trio.lowlevel.current_task().name)
            return os.write(descriptor, data)

        return write, ()

    monkeypatch.setattr("sliphook.transport.descriptors.sender", watched)

    async def ask_often(turn: Turn) -> None:
        for _ in range(20):
            await ask(turn)

    async def answer_the_last() -> None:
        await plugin.write(
            b'{"jsonrpc":"2.0","id":%d,"result":null}\n' % (plugin.received[-1].id or 0)
        )

    async with asking(plugin) as turn, trio.open_nursery() as nursery:
        nursery.start_soon(ask, turn, name="looks")
        await plugin.hears("pre_tool_call")
        nursery.start_soon(ask_often, turn, name="asks")
        await plugin.hears("pre_tool_call", times=2)
        writers.clear()
        for asked in range(3, 22):
            await answer_the_last()
            await plugin.hears("pre_tool_call", times=asked)
        assert writers == ["asks"] * 19
        nursery.cancel_scope.cancel()


async def test_the_result_of_a_tool_comes_without_sleep(sleepers: Sleepers) -> None:
    plugin = FakePlugin("weather", tools={"forecast": lambda _: "rain"})
    async with asking(plugin) as turn:
        for _ in range(2):
            assert (await turn.call_tool("forecast", {})).text() == "rain"
    assert sleepers == []


async def test_a_slow_tool_does_not_put_those_to_sleep_who_ask_hooks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()  # here it counts whether it pays
    sleepers = noted_from_now_on(monkeypatch)
    monkeypatch.setattr(reader, "SPIN_S", 60.0)
    monkeypatch.setattr(reader, "TOOL_SPIN_S", 0.0)
    monkeypatch.setattr(reader, "processors", lambda: 2)
    plugin = FakePlugin(
        "weather",
        tools={"forecast": lambda _: "rain"},
        hooks={"pre_tool_call": {"decision": "allow"}, "post_tool_call": {}},
    )
    async with asking(plugin) as turn:
        await ask(turn)
        sleepers.clear()
        for _ in range(3):
            assert (await turn.call_tool("forecast", {})).text() == "rain"
    assert [call.method for call in sleepers] == ["tool/call"] * 3


async def test_who_has_run_a_command_sleeps(sleepers: Sleepers) -> None:
    """It may take its time, and is not counted among the hooks."""
    plugin = FakePlugin("weather", commands={"forecast": {"text": "rain"}})
    with trio.fail_after(120):
        async with PluginHost([plugin]) as host, host.session() as session:
            assert await session.run_command("forecast") == "rain"
    assert [call.method for call in sleepers] == ["command/run"]


def crash(plugin: FakePlugin, _: Call) -> None:
    plugin.crash()


def expire(_: FakePlugin, call: Call) -> None:
    call.expired(0.0)


def withdraw(_: FakePlugin, call: Call) -> None:
    assert call.connection is not None
    call.connection.cancel(call)


@pytest.mark.parametrize(
    ("end", "status"), [(crash, "error"), (expire, "timed_out"), (withdraw, "cancelled")]
)
async def test_what_ends_a_tool_wakes_who_reads_for_it(
    end: Callable[[FakePlugin, Call], None],
    status: str,
    sleepers: Sleepers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reader, "TOOL_SPIN_S", 0.001)
    plugin = FakePlugin("weather", tools={"forecast": HANGS})

    async def at_last() -> None:
        await sleepers.first.wait()
        await trio.testing.wait_all_tasks_blocked()
        end(plugin, sleepers[0])

    async with asking(plugin) as turn, trio.open_nursery() as nursery:
        nursery.start_soon(at_last)
        assert (await turn.call_tool("forecast", {})).status == status
