"""Calls without ids that are never told to end: what is kept of them, and how one is found."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from sliphook import PluginHost, Turn
from sliphook.adapters.attached import calls
from sliphook.adapters.attached.calls import Calls
from sliphook.adapters.dialects.told import ToolAsked, ToolDone
from sliphook.adapters.fingerprint import fingerprint
from sliphook.testing import FakePlugin
from sliphook_sdk.protocol import Answer
from tests.heartbeat import heartbeat
from tests.programs import WAIT_S

NAMED: dict[str, Any] = {
    "session_id": "s",
    "tool_name": "edit",
    "tool_kind": "edit",
    "origin": "agent",
}


def asked(arguments: dict[str, Any]) -> ToolAsked:
    return ToolAsked(event="preToolUse", arguments=arguments, **NAMED)


def done(arguments: dict[str, Any]) -> ToolDone:
    return ToolDone(
        event="postToolUse", arguments=arguments, status="ok", content="x", data=None, **NAMED
    )


@asynccontextmanager
async def turn(plugin: FakePlugin) -> AsyncGenerator[tuple[Calls, Turn]]:
    with trio.fail_after(WAIT_S):
        async with PluginHost([plugin]) as host, trio.open_nursery() as holding:
            async with host.session() as session, session.turn("go") as open_turn:
                found = Calls(holding)
                yield found, open_turn
                await found.give_up()
            holding.cancel_scope.cancel()


async def test_the_oldest_make_room_for_what_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MOST_OPEN_BYTES", 10_000)
    plugin = FakePlugin("ear", hears=["post_tool_call"])
    async with turn(plugin) as (found, open_turn):
        for at in range(5):
            await found.begin(asked({"at": at, "text": "x" * 4_000}), open_turn)
        await plugin.hears("post_tool_call", times=3)
        ended = plugin.payloads("post_tool_call")
        assert [(one.arguments["at"], one.status) for one in ended] == [
            (at, "cancelled") for at in range(3)
        ]
        assert [found.has(asked({"at": at, "text": "x" * 4_000})) for at in (3, 4)] == [True, True]
        await found.begin(asked({"text": "x" * 20_000}), open_turn)
        await plugin.hears("post_tool_call", times=5)


async def test_values_count_as_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MOST_OPEN_BYTES", 50_000)
    plugin = FakePlugin("ear", hears=["post_tool_call"])
    async with turn(plugin) as (found, open_turn):
        for at in range(2):
            await found.begin(asked({"at": at, "values": [[]] * 500}), open_turn)
        await plugin.hears("post_tool_call")


async def test_one_is_found_among_many_of_many_values() -> None:
    values = [f"x{at}" for at in range(10_000)]
    plugin = FakePlugin("guard", hooks={"pre_tool_call": None})
    beyond = ["not measured"]
    for _ in range(3):  # what the code takes comes again; what a busy machine adds does not
        async with turn(plugin) as (found, open_turn):
            for at in range(150):
                await found.begin(asked({"values": values, "at": at}), open_turn)
                plugin.received.clear()
            async with heartbeat() as beat:
                with beat.measure() as held:
                    await found.end(done({"values": values, "at": -1}))
            beyond = held.beyond()
            if not beyond:
                break
    assert beyond == []


async def test_each_end_finds_its_call_as_plugins_have_left_it() -> None:
    def wait_longer(call: Any) -> Answer:
        return Answer(replace={"arguments": {"seconds": call.arguments["seconds"] + 0.0, "b": 1}})

    plugin = FakePlugin(
        "guard",
        subscriptions=[{"event": "pre_tool_call", "replaces": True}, {"event": "post_tool_call"}],
        hooks={"pre_tool_call": wait_longer, "post_tool_call": None},
    )
    async with turn(plugin) as (found, open_turn):
        for at in range(3):
            await found.begin(asked({"seconds": at}), open_turn)
        for at in (2, 0, 1):
            await found.end(done({"b": 1, "seconds": at}))
        ended = [one.arguments["seconds"] for one in plugin.payloads("post_tool_call")]
    assert ended == [2, 0, 1]


def test_what_is_the_same() -> None:
    def same(one: dict[str, object], other: dict[str, object]) -> bool:
        return fingerprint(one).digest == fingerprint(other).digest

    assert same({"a": 1, "b": {"c": [], "d": None}}, {"b": {"d": None, "c": []}, "a": 1})
    assert same({"a": [1.0, -2.0, 1.5]}, {"a": [1, -2, 1.5]})
    assert same({"a": "\ud800"}, {"a": "\ufffd"})
    assert not same({"a": 1}, {"a": True})
    assert not same({"a": 1}, {"a": "1"})
    assert not same({"a": "1.0"}, {"a": "1"})
    assert not same({"a": 1e300}, {"a": 1e301})
