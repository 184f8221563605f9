"""The loop on the real host, with plugins that are processes: with an SDK, in sh, in JavaScript."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from sliphook import PluginHost, Session
from sliphook.agent.loop import Agent, AgentTool
from sliphook.agent.models.openai import OpenAIModel
from sliphook.agent.models.script import ScriptedCall, ScriptedReply
from sliphook.trace.record import TraceRecord
from sliphook_sdk.protocol import Message
from tests.agent.fakes import RecordingDisplay, RecordingModel
from tests.agent.loopback import Answer, LoopbackServer, call_part, chunk, cut_in, text
from tests.programs import Workshop, case_of, shop

__all__ = ["shop"]

EXAMPLES = Path(__file__).parents[2] / "examples"
WAIT_S = 120.0


class Shell:
    """A tool of the agent's own that only remembers."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.tool = AgentTool(
            name="shell",
            description="Run a command.",
            input_schema={"type": "object"},
            run=self._run,
        )

    async def _run(self, arguments: dict[str, Any]) -> str:
        self.ran.append(arguments["command"])
        return f"ran {arguments['command']}"


class Wire:
    """A trace that remembers the methods of all messages to a plugin."""

    def __init__(self) -> None:
        self.methods: list[str] = []
        self.sent = trio.Event()

    def record(self, record: TraceRecord) -> None:
        if (
            record.direction == "to_plugin"
            and record.kind == "message"
            and record.method is not None
        ):
            self.methods.append(record.method)
            if record.method == "tool/call":
                self.sent.set()

    def hide(self, secrets: Iterable[str]) -> None:
        pass


@asynccontextmanager
async def on_stage(
    *plugins: Path,
    model: RecordingModel | OpenAIModel,
    shell: Shell | None = None,
    wire: Wire | None = None,
) -> AsyncGenerator[tuple[Agent, Session, RecordingDisplay]]:
    display = RecordingDisplay()
    tools = [shell.tool] if shell else []
    with trio.fail_after(WAIT_S):
        async with PluginHost(
            plugins, reserved_tools=[tool.name for tool in tools], trace=wire
        ) as host:
            assert [(plugin.state, plugin.why) for plugin in host.plugins] == [
                ("ready", None)
            ] * len(plugins)
            async with host.session(model=model.name) as session:
                yield Agent(host, session, model, display=display, tools=tools), session, display


def calling(name: str, **arguments: object) -> ScriptedReply:
    return ScriptedReply(calls=[ScriptedCall(name=name, arguments=arguments, call_id="id-1")])


@pytest.mark.parametrize(
    ("example", "name"),
    [
        ("guard.py", "guard"),
        ("guard.sh", "guard-sh"),
        pytest.param(
            "guard.mjs",
            "guard-node",
            marks=pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here"),
        ),
    ],
)
async def test_a_guard_in_any_language_keeps_the_tool_from_running(example: str, name: str) -> None:
    shell = Shell()
    model = RecordingModel(
        calling("shell", command="rm -rf build"),
        calling("shell", command="ls"),
        ScriptedReply(text="done"),
    )
    async with on_stage(EXAMPLES / example, model=model, shell=shell) as (agent, _, display):
        assert await agent.run("clean up") == "completed"
    assert shell.ran == ["ls"]
    why = f"{name}: deleting whole trees is not for agents"
    assert ("denied", "shell", why) in display.shown
    assert model.asked[1][-1] == Message(
        role="tool", content=f"the call of shell was denied: {why}", call_id="id-1"
    )
    assert model.asked[2][-1].content == "ran ls"


async def test_a_plugins_tool_for_a_model_behind_http() -> None:
    call = (
        call_part(0, '{"ci', call_id="call_9", name="weather")
        + call_part(0, 'ty":"Bergen"}')
        + chunk({}, "tool_calls")
    )
    with LoopbackServer(
        Answer([b": hi\n\n", *cut_in(call, 11)]), Answer(cut_in(text("Rain."), 5))
    ) as server:
        model = OpenAIModel("m-1", base_url=server.base_url)
        async with on_stage(EXAMPLES / "weather.py", model=model) as (agent, _, display):
            assert await agent.run("weather in Bergen?") == "completed"
        await model.aclose()
    offered, own = server.requests[0].body["tools"]
    assert (offered["function"]["name"], own["function"]["name"]) == ("weather", "delegate")
    assert "city" in offered["function"]["parameters"]["properties"]
    answered = server.requests[1].body["messages"][-1]
    assert (answered["role"], answered["tool_call_id"]) == ("tool", "call_9")
    assert json.loads(answered["content"]) == {
        "city": "Bergen",
        "days": 1,
        "sky": "rain",
        "celsius": 11,
    }
    assert display.shown[-2:] == [("text", "Rain."), ("text_end",)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, 'the arguments do not fit the tool weather: "city" is a required property'),
        (
            {"city": "Atlantis"},
            "there is no station in Atlantis; there is one in Bergen, Lisbon, Reykjavik",
        ),
    ],
)
async def test_a_call_that_goes_wrong_is_an_error_for_the_model(
    arguments: dict[str, object], says: str
) -> None:
    model = RecordingModel(calling("weather", **arguments), ScriptedReply(text="sorry"))
    async with on_stage(EXAMPLES / "weather.py", model=model) as (agent, _, display):
        assert await agent.run("weather?") == "completed"
    assert model.asked[1][-1] == Message(role="tool", content=says, call_id="id-1")
    assert ("ended", "weather", "error", says) in display.shown


async def test_context_and_replies_of_plugins_reach_the_model(shop: Workshop) -> None:
    answers = """
    if method == "hook/user_prompt_submit":
        request("x", "host/inject", session_id=params["session_id"], text="you have mail")
        return {"context": ["lives in Oslo"]}
    if method == "hook/stop":
        return {"continue_with": "and now the tests"} if params["stop_count"] == 0 else {}
    if method.startswith("hook/"):
        return {"context": [method]}
    """
    names = [
        "session_start",
        "user_prompt_submit",
        "pre_llm_call",
        "pre_tool_call",
        "post_tool_call",
        "stop",
    ]
    memo = shop.program("memo", hears=names, on=answers, uses=["inject"]).path
    model = RecordingModel(
        calling("shell", command="ls"), ScriptedReply(text="done"), ScriptedReply(text="tested")
    )
    async with on_stage(memo, model=model, shell=Shell()) as (agent, _, _display):
        assert await agent.run("look around") == "completed"
    system = Message(role="system", content="[memo] hook/session_start")
    prompt = "look around\n\n[memo] lives in Oslo\n\n[memo] you have mail"
    this_call = "\n\n[memo] hook/pre_llm_call"
    assert model.asked[0] == [system, Message(role="user", content=prompt + this_call)]
    assert model.asked[1][1].content == prompt + this_call
    assert (
        model.asked[1][-1].content
        == "ran ls\n\n[memo] hook/pre_tool_call\n\n[memo] hook/post_tool_call"
    )
    assert model.asked[2][-2:] == [
        Message(role="assistant", content="done"),
        Message(role="user", content=f"and now the tests{this_call}"),
    ]


async def test_a_plugin_answers_in_the_models_place(shop: Workshop) -> None:
    answer = """
    response = {"role": "assistant", "content": "from the cache"}
    return {"substitute": {"response": response}}
    """
    cache = shop.program(
        "cache",
        subscriptions=[{"event": "pre_llm_call", "replaces": True}],
        on=case_of("hook/pre_llm_call", answer),
    ).path
    model = RecordingModel()
    async with on_stage(cache, model=model) as (agent, _, display):
        assert await agent.run("hello") == "completed"
    assert display.shown == [("text", "from the cache"), ("text_end",)]
    assert model.attempts == 0


async def test_a_denied_prompt_and_a_denied_model_call(shop: Workshop) -> None:
    answers = """
    if method == "hook/user_prompt_submit" and "secret" in params["text"]:
        return {"decision": "deny", "reason": "no secrets"}
    if method == "hook/pre_llm_call":
        return {"decision": "deny", "reason": "spent"}
    """
    budget = shop.program("budget", hears=["user_prompt_submit", "pre_llm_call"], on=answers).path
    wire = Wire()
    async with on_stage(budget, model=RecordingModel(), wire=wire) as (agent, _, display):
        assert await agent.run("a secret") == "denied"
        assert await agent.run("hello") == "denied"
    assert display.shown == [
        ("denied", "the prompt", "budget: no secrets"),
        ("denied", "the model call", "budget: spent"),
    ]


async def test_a_crash_in_a_hook_does_not_hold_the_turn(shop: Workshop) -> None:
    dies = case_of("hook/pre_llm_call", "os._exit(3)")
    fragile = shop.program("fragile", hears=["pre_llm_call"], on=dies).path
    async with on_stage(fragile, model=RecordingModel(ScriptedReply(text="still here"))) as (
        agent,
        _,
        display,
    ):
        assert await agent.run("hello") == "completed"
    assert display.shown == [("text", "still here"), ("text_end",)]


async def test_a_hanging_tool_is_interrupted_and_the_next_turn_begins_at_once(
    shop: Workshop,
) -> None:
    names = ["turn_start", "agent_loop_stopped", "turn_end", "session_end"]
    sleeps = case_of("tool/call", "time.sleep(600)")
    tool = {"name": "sleep", "timeout_s": 600}
    sleeper = shop.program("sleeper", hears=names, tools=[tool], on=sleeps).path
    model = RecordingModel(calling("sleep"), ScriptedReply(text="free"))
    wire = Wire()
    async with on_stage(sleeper, model=model, wire=wire) as (agent, session, _):
        outcomes: list[str] = []
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def _turn() -> None:
                outcomes.append(await agent.run("sleep"))

            await wire.sent.wait()
            began = trio.current_time()
            assert session.interrupt("user_stop", "stop_command")
        outcomes.append(await agent.run("still there?"))
        assert trio.current_time() - began < 60  # the tool goes on for ten minutes
    assert outcomes == ["interrupted", "completed"]
    assert model.asked[1][2:] == [
        Message(role="tool", content="interrupted before it had finished", call_id="id-1"),
        Message(role="user", content="still there?"),
    ]
    assert wire.methods[:7] == [
        "initialize",
        "event/turn_start",
        "tool/call",
        "event/agent_loop_stopped",
        "$/cancelRequest",
        "event/turn_end",
        "event/turn_start",
    ]
