"""Several hooks of one child agent at once, whose start no hook has told."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from sliphook import PluginHost
from sliphook.adapters.attached import children
from sliphook.adapters.attached.rooms import Room
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.adapters.dialects.told import (
    Happening,
    Prompted,
    StopAsked,
    SubagentStarted,
    SubagentStopped,
    ToolAsked,
)
from sliphook.adapters.relayed.served import SharedOffers
from sliphook.testing import FakePlugin
from tests.programs import WAIT_S


def asked(id: str) -> Happening:
    return ToolAsked(
        event="PreToolUse",
        session_id="s",
        agent_id="kid",
        tool_name="Bash",
        tool_kind="shell",
        origin="agent",
        arguments={"command": id},
        model_call_id=id,
    )


STOPPED = SubagentStopped(event="SubagentStop", session_id="s", agent_id="kid")


class Gate:
    """A plugin that holds up the start of a child until it is let go."""

    def __init__(self) -> None:
        self.open = trio.Event()
        self.plugin = FakePlugin(
            "ear",
            subscriptions=[{"event": one, "subagents": True} for one in ("subagent_stop", "stop")],
            hooks={"subagent_start": self._hold, "pre_tool_call": None},
        )

    async def _hold(self, _: object) -> None:
        await self.open.wait()


@asynccontextmanager
async def room(plugin: FakePlugin) -> AsyncGenerator[Room]:
    """A session with a turn in it."""
    with trio.fail_after(WAIT_S):
        async with PluginHost([plugin]) as host, trio.open_nursery() as holding:
            found = Room(DIALECTS["claude-code"], SharedOffers(host), holding)
            await found.take(Prompted(event="UserPromptSubmit", session_id="s", text="go"))
            yield found
            await found.end("exit")
            holding.cancel_scope.cancel()


async def test_the_child_begins_once() -> None:
    gate = Gate()
    async with room(gate.plugin) as place:
        async with trio.open_nursery() as hooks:
            for at in range(5):
                hooks.start_soon(place.take, asked(f"t-{at}"))
            await gate.plugin.hears("subagent_start")
            await wait_all_tasks_blocked(0.01)
            gate.open.set()
        await place.take(STOPPED)
        await gate.plugin.hears("subagent_stop")
        names = gate.plugin.names()
        assert (names.count("subagent_start"), names.count("pre_tool_call")) == (1, 5)


async def test_an_end_that_comes_while_the_child_begins_is_its_end() -> None:
    gate = Gate()
    async with room(gate.plugin) as place:
        async with trio.open_nursery() as hooks:
            hooks.start_soon(place.take, asked("t-1"))
            await gate.plugin.hears("subagent_start")
            hooks.start_soon(place.take, STOPPED)
            await wait_all_tasks_blocked(0.01)
            gate.open.set()
        await gate.plugin.hears("subagent_stop")


async def test_children_whose_end_is_never_told_take_no_place_from_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(children, "MOST_CHILDREN", 2)
    ear = FakePlugin("ear", hears=["subagent_start", "subagent_stop"])
    async with room(ear) as place:
        for at in range(4):
            started = SubagentStarted(event="SubagentStart", session_id="s", agent_id=f"kid-{at}")
            await place.take(started)
            await place.take(StopAsked(event="Stop", session_id="s"))
            await place.take(Prompted(event="UserPromptSubmit", session_id="s", text="go on"))
        await ear.hears("subagent_stop", times=4)
        assert ear.names().count("subagent_start") == 4
