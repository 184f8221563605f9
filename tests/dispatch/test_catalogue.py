"""Every entry of the catalogue is fired by the real agent loop, in two sessions.

Declared and never fired is a defect.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import pytest
import trio

from sliphook import ApprovalRequest, PluginHost, Session
from sliphook.agent.loop import Agent, AgentTool
from sliphook.agent.models.script import ScriptedCall, ScriptedFailure, ScriptedReply
from sliphook.testing import FakePlugin, Received, run
from sliphook_sdk.protocol import CATALOGUE, Answer
from sliphook_sdk.protocol.payloads import PreToolCall
from tests.agent.fakes import RecordingDisplay, RecordingModel
from tests.pairs import check_pairs

OBJECT = {"type": "object"}


def probe() -> FakePlugin:
    """Hears everything, child agents too; asks a person about the tool `deploy`."""

    def ask(call: PreToolCall) -> Answer:
        return (
            Answer(decision="ask", reason="it is Friday")
            if call.tool_name == "deploy"
            else Answer()
        )

    subscriptions = [
        {"event": event, "subagents": True, "include": list(entry.heavy)}
        for event, entry in CATALOGUE.items()
    ]
    return FakePlugin(
        "probe",
        hooks={"pre_tool_call": ask},
        subscriptions=subscriptions,
        tools={"deploy": "deployed"},
        uses=["submit"],
    )


def calling(name: str, **arguments: Any) -> ScriptedReply:
    return ScriptedReply(calls=[ScriptedCall(name=name, arguments=arguments)])


class OwnTools:
    """Tools of the agent's own: one has a child agent do the work, one never ends."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.sleeping = trio.Event()

    async def delegate(self, arguments: dict[str, Any]) -> str:
        assert self.session is not None
        assert self.session.open_turn is not None
        async with self.session.open_turn.subagent(arguments["goal"]) as child:
            child.summary = "nothing there"
        return "the child found nothing"

    async def sleep(self, _: dict[str, Any]) -> str:
        self.sleeping.set()
        await trio.sleep_forever()
        raise AssertionError


async def approve(request: ApprovalRequest) -> bool:
    return request.tool_name == "deploy"


async def all_of_it(plugin: FakePlugin) -> None:
    """A repeated model call, a plugin's tool with approval, a child agent, an interrupt, `/new`."""
    own = OwnTools()
    model = RecordingModel(
        ScriptedReply(fail=ScriptedFailure(kind="rate_limited")),
        calling("deploy"),
        calling("delegate", goal="look around"),
        ScriptedReply(text="done"),
        calling("sleep"),
    )
    tools = [
        AgentTool(name="delegate", description="", input_schema=OBJECT, run=own.delegate),
        AgentTool(name="sleep", description="", input_schema=OBJECT, run=own.sleep),
    ]
    async with (
        PluginHost(
            [plugin],
            approver=approve,
            on_submit=lambda _: None,
            reserved_tools=["delegate", "sleep"],
        ) as host,
        host.session(model="m") as session,
    ):
        own.session = session
        agent = Agent(host, session, model, display=RecordingDisplay(), tools=tools)
        assert await agent.run("work") == "completed"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(interrupt_when, own.sleeping, session)
            assert await agent.run("sleep") == "interrupted"
        await plugin.ask("host/submit", session_key="main", text="it waits")
        session.reset()


async def interrupt_when(event: trio.Event, session: Session) -> None:
    await event.wait()
    assert session.interrupt("user_stop", "stop_command")


@cache
def fired() -> tuple[Received, ...]:
    """What the plugin was sent, all of it."""
    plugin = probe()
    run(all_of_it, plugin)
    return tuple(plugin.fired())


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_entry_is_fired_by_the_agent_loop(name: str) -> None:
    messages = [message for message in fired() if message.name == name]
    assert messages, f"{name} is declared and never fired"
    assert messages[0].method == f"{CATALOGUE[name].kind}/{name}"


@pytest.mark.parametrize("name", CATALOGUE)
def test_its_payload_is_what_the_catalogue_says_in_that_order(name: str) -> None:
    entry = CATALOGUE[name]
    for message in fired():
        if message.name == name:
            msgspec.convert(message.params, entry.payload)
            declared = [
                field for field in entry.payload.__struct_fields__ if field in message.params
            ]
            assert [field for field in message.params if field in declared] == declared
            assert set(message.params) - set(declared) <= {"timeout_s", "truncated"}


def test_pairs_and_order_hold_in_both_sessions() -> None:
    sessions = list(dict.fromkeys(message.params["session_id"] for message in fired()))
    assert len(sessions) == 2
    for session_id in sessions:
        of_session = [
            {"method": one.method, "params": one.params}
            for one in fired()
            if one.params["session_id"] == session_id
        ]
        check_pairs(of_session)


def test_the_whole_story() -> None:
    assert [message.name for message in fired()] == [
        "session_start",
        "turn_start",
        "user_prompt_submit",
        "pre_llm_call",
        "llm_call_failed",
        "notification",
        "post_llm_call",
        "pre_tool_call",
        "user_input_required",
        "user_input_received",
        "post_tool_call",
        "pre_llm_call",
        "post_llm_call",
        "pre_tool_call",
        "subagent_start",
        "turn_start",
        "turn_end",
        "subagent_stop",
        "post_tool_call",
        "pre_llm_call",
        "post_llm_call",
        "stop",
        "turn_end",
        "turn_start",
        "user_prompt_submit",
        "pre_llm_call",
        "post_llm_call",
        "pre_tool_call",
        "agent_loop_stopped",
        "post_tool_call",
        "turn_end",
        "submission_end",
        "session_end",
        "session_reset",
        "session_start",
        "session_end",
    ]
