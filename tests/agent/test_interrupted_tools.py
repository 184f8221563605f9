"""What the agent shows of a tool that is interrupted."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sliphook import PluginHost
from sliphook.agent.loop import Agent, AgentTool
from sliphook.agent.models.script import ScriptedCall, ScriptedReply
from sliphook.testing import FakePlugin

from .fakes import RecordingDisplay, RecordingModel


@pytest.mark.parametrize(
    ("name", "shown"), [("nap", "cancelled"), ("sleep", "told to stop")], ids=["own", "plugins"]
)
async def test_the_agents_own_tool_has_ended_and_a_plugins_may_go_on(
    name: str, shown: str, autojump_clock: MockClock
) -> None:
    napping = trio.Event()

    async def nap(_: dict[str, Any]) -> str:
        napping.set()
        await trio.sleep(60)
        return "awake"

    sleeper = FakePlugin("sleeper", tools={"sleep": nap})
    own = AgentTool(name="nap", description="", input_schema={}, run=nap)
    display = RecordingDisplay()
    model = RecordingModel(ScriptedReply(calls=[ScriptedCall(name=name, arguments={})]))
    with trio.fail_after(120):
        async with (
            PluginHost([sleeper]) as host,
            host.session() as session,
            trio.open_nursery() as nursery,
        ):
            agent = Agent(host, session, model, display=display, tools=[own])
            nursery.start_soon(agent.run, "rest")
            await napping.wait()
            session.interrupt()
    assert display.shown == [("started", name, {}), ("ended", name, shown, shown)]
