"""The loop alone, on a host in memory: what it fires, what the model reads, and every way out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest
import trio
from trio.testing import MockClock

from sliphook.agent.loop import Agent, AgentTool
from sliphook.agent.models.script import ScriptedCall, ScriptedFailure, ScriptedReply
from sliphook.dispatch.outcome import Context, Reason
from sliphook_sdk.protocol import Message, Part, ToolCallRequest, ToolResult, Usage
from tests.agent.fakes import (
    FakeHost,
    FakeSession,
    Gate,
    Prompt,
    RecordingDisplay,
    RecordingModel,
    Tool,
    ToolOutcome,
)

if TYPE_CHECKING:
    from sliphook.host.host import PluginHost
    from sliphook.session.session import Session

DONE = ScriptedReply(text="done")


def system(content: str) -> Message:
    return Message(role="system", content=content)


def user(content: str) -> Message:
    return Message(role="user", content=content)


def assistant(content: str | None, *calls: ToolCallRequest) -> Message:
    return Message(role="assistant", content=content, tool_calls=list(calls) or None)


def result(call_id: str, content: str) -> Message:
    return Message(role="tool", content=content, call_id=call_id)


def calling(*names: str) -> ScriptedReply:
    return ScriptedReply(calls=[ScriptedCall(name=name, call_id=f"id-{name}") for name in names])


def request(name: str) -> ToolCallRequest:
    return ToolCallRequest(call_id=f"id-{name}", name=name, arguments={})


def tool(
    content: str, *, after_s: float = 0.0, status: str = "ok", context: Sequence[Context] = ()
) -> Tool:
    async def call(arguments: dict[str, Any]) -> ToolOutcome:
        await trio.sleep(after_s)
        return ToolOutcome(
            status, ToolResult(content=content, is_error=status != "ok"), list(context)
        )

    return call


class Stage:
    """An agent on a fake host with a scripted model."""

    def __init__(
        self, *replies: ScriptedReply, session: FakeSession | None = None, **more: Any
    ) -> None:
        self.session = session or FakeSession(FakeHost())
        self.model = RecordingModel(*replies)
        self.display = RecordingDisplay()
        more.setdefault("max_depth", 0)
        self.agent = Agent(
            cast("PluginHost", self.session.host),
            cast("Session", self.session),
            self.model,
            display=self.display,
            **more,
        )

    async def run(self, text: str = "hello") -> str:
        with trio.fail_after(600):
            return await self.agent.run(text)

    @property
    def fired(self) -> list[str]:
        return [entry[0] for entry in self.session.log]


async def test_a_turn_without_tools(autojump_clock: MockClock) -> None:
    stage = Stage(ScriptedReply(text="hi", usage=Usage(input_tokens=3)))
    assert await stage.run() == "completed"
    assert stage.session.log == [
        ("pre_llm_call", "scripted", "scripted", []),
        ("post_llm_call", "scripted", assistant("hi"), "stop", Usage(input_tokens=3), 0, None),
        ("stop",),
        ("turn_end", "completed"),
    ]
    assert stage.display.shown == [("text", "hi"), ("text_end",)]
    assert stage.model.asked == [[user("hello")]]


async def test_the_next_turn_goes_on_from_the_last() -> None:
    stage = Stage(ScriptedReply(text="hi"), ScriptedReply(text="bye"), system="be brief")
    await stage.run("one")
    await stage.run("two")
    assert stage.model.asked[1] == [system("be brief"), user("one"), assistant("hi"), user("two")]


async def test_tools_of_one_answer_run_at_the_same_time_and_answer_in_order(
    autojump_clock: MockClock,
) -> None:
    host = FakeHost(slow=tool("slowly", after_s=2.0), quick=tool("quickly", after_s=1.0))
    stage = Stage(calling("slow", "quick"), DONE, session=FakeSession(host))
    began = trio.current_time()
    assert await stage.run() == "completed"
    assert trio.current_time() - began == 2.0
    assert stage.model.offered[0] == ["slow", "quick"]
    assert stage.model.asked[1] == [
        user("hello"),
        assistant(None, request("slow"), request("quick")),
        result("id-slow", "slowly"),
        result("id-quick", "quickly"),
    ]
    assert [entry for entry in stage.session.log if entry[0] == "call_tool"] == [
        ("call_tool", "slow", {}, "id-slow", None),
        ("call_tool", "quick", {}, "id-quick", None),
    ]
    assert [shown for shown in stage.display.shown if shown[0] == "ended"] == [
        ("ended", "quick", "ok", "quickly"),
        ("ended", "slow", "ok", "slowly"),
    ]


async def test_tools_begin_in_the_order_of_the_model(autojump_clock: MockClock) -> None:
    names = [f"tool{number}" for number in range(12)]
    host = FakeHost(**{name: tool("done", after_s=1.0) for name in names})
    stage = Stage(calling(*names), DONE, session=FakeSession(host))
    assert await stage.run() == "completed"
    assert [entry[1] for entry in stage.session.log if entry[0] == "call_tool"] == names


async def test_a_denied_tool_call_is_shown_and_told_to_the_model() -> None:
    refused = ToolResult(
        content="the call of shell was denied: guard: not for agents", is_error=True
    )

    async def shell(arguments: dict[str, Any]) -> ToolOutcome:
        return ToolOutcome("denied", refused, denied_by=(Reason("guard", "not for agents"),))

    host = FakeHost(shell=shell)
    stage = Stage(calling("shell"), DONE, session=FakeSession(host))
    assert await stage.run() == "completed"
    assert ("denied", "shell", "guard: not for agents") in stage.display.shown
    assert stage.model.asked[1][-1] == result(
        "id-shell", "the call of shell was denied: guard: not for agents"
    )


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (ScriptedCall(name="wether"), "there is no tool 'wether'; did you mean weather?"),
        (ScriptedCall(name="xyz"), "there is no tool 'xyz'; there are: weather"),
        (
            ScriptedCall(name="weather", arguments='{"city": '),
            'the arguments of weather are no JSON object: {"city": ',
        ),
        (
            ScriptedCall(name="weather", arguments="[1]"),
            "the arguments of weather are no JSON object: [1]",
        ),
        (
            ScriptedCall(name="weather", arguments='{"a":' + "[" * 128 + "]" * 128 + "}"),
            "the arguments of weather are too much: it is nested over 128 levels deep;"
            " call it several times with less",
        ),
        (
            ScriptedCall(name="weather", arguments='{"a":' + "1" * 257 + "}"),
            "the arguments of weather are too much: it has a number of more than 256 characters;"
            " call it several times with less",
        ),
    ],
)
async def test_what_the_model_gets_wrong_goes_back_to_the_model(
    call: ScriptedCall, says: str
) -> None:
    stage = Stage(
        ScriptedReply(calls=[call]), DONE, session=FakeSession(FakeHost(weather=tool("cold")))
    )
    assert await stage.run() == "completed"
    assert "call_tool" not in stage.fired
    assert stage.model.asked[1][-1] == result("call_1_1", says)
    assert ("ended", call.name, "error", says) in stage.display.shown


async def test_a_tool_of_the_agents_own() -> None:
    async def shout(arguments: dict[str, Any]) -> str:
        return str(arguments["text"]).upper()

    schema = {"type": "object", "required": ["text"]}
    own = AgentTool(name="shout", description="Louder.", input_schema=schema, run=shout)
    stage = Stage(
        ScriptedReply(calls=[ScriptedCall(name="shout", arguments={"text": "hi"})]),
        DONE,
        tools=[own],
    )
    assert await stage.run() == "completed"
    assert ("call_tool", "shout", {"text": "hi"}, "call_1_1", schema) in stage.session.log
    assert stage.model.asked[1][-1] == result("call_1_1", "HI")


async def test_context_of_hooks_reaches_the_model() -> None:
    host = FakeHost(weather=tool("cold", context=[Context("guard", "checked")]))
    session = FakeSession(
        host,
        prompt=Prompt("weather?", [Context("memo", "lives in Oslo")]),
        start=[Context("memo", "likes tea")],
    )
    session.gates = [
        lambda gate: msgspec.structs.replace(gate, context=[Context("clock", "it is noon")])
    ]
    stage = Stage(calling("weather"), DONE, session=session, system="be brief")
    session.injected = [Context("mail", "you have mail")]
    assert await stage.run() == "completed"
    head = system("be brief\n\n[memo] likes tea")
    asked = "weather?\n\n[memo] lives in Oslo\n\n[mail] you have mail"
    assert stage.model.asked == [
        [head, user(f"{asked}\n\n[clock] it is noon")],
        [
            head,
            user(asked),
            assistant(None, request("weather")),
            result("id-weather", "cold\n\n[guard] checked"),
        ],
    ]


async def test_texts_injected_while_a_tool_runs_come_at_the_next_model_call() -> None:
    session = FakeSession(FakeHost())

    async def call(arguments: dict[str, Any]) -> ToolOutcome:
        session.injected.append(Context("deploys", "it is live"))
        return ToolOutcome("ok", ToolResult(content="started"))

    session.host.offered["deploy"] = call
    stage = Stage(calling("deploy"), DONE, session=session)
    assert await stage.run() == "completed"
    assert stage.model.asked[1][-2:] == [
        result("id-deploy", "started"),
        user("[deploys] it is live"),
    ]


async def test_a_denied_prompt_never_reaches_the_model() -> None:
    session = FakeSession(
        FakeHost(), prompt=Prompt("hello", denied=True, reason="guard: no secrets")
    )
    stage = Stage(session=session)
    assert await stage.run() == "denied"
    assert session.log == [("turn_end", "denied")]
    assert stage.display.shown == [("denied", "the prompt", "guard: no secrets")]
    assert stage.agent.conversation.messages == []


async def test_a_denied_model_call_ends_the_turn() -> None:
    session = FakeSession(FakeHost())
    session.gates = [
        lambda gate: msgspec.structs.replace(gate, denied=True, reason="budget: spent")
    ]
    stage = Stage(session=session)
    assert await stage.run() == "denied"
    assert session.log[1:] == [("turn_end", "denied")]
    assert stage.display.shown == [("denied", "the model call", "budget: spent")]
    assert stage.model.asked == []


async def test_plugins_may_change_what_the_model_is_asked() -> None:
    def change(gate: Gate) -> Gate:
        return Gate(model="other", messages=[user("rewritten")], tools=[])

    session = FakeSession(FakeHost(weather=tool("cold")))
    session.gates = [change]
    stage = Stage(calling("weather"), DONE, session=session)
    assert await stage.run() == "completed"
    assert stage.model.models[0] == "other"
    assert stage.model.asked[0] == [user("rewritten")]
    assert stage.model.offered[0] == []
    # A tool that was taken away cannot be called, and the conversation is what it was.
    assert stage.model.asked[1] == [
        user("hello"),
        assistant(None, request("weather")),
        result("id-weather", "there is no tool 'weather'; there are none"),
    ]


async def test_a_plugin_answers_in_the_models_place(autojump_clock: MockClock) -> None:
    def substitute(gate: Gate) -> Gate:
        return msgspec.structs.replace(
            gate, substitute=assistant("from the cache"), substituted_by="cache"
        )

    session = FakeSession(FakeHost())
    session.gates = [substitute]
    stage = Stage(session=session)
    assert await stage.run() == "completed"
    assert session.log[1:3] == [
        ("post_llm_call", "scripted", assistant("from the cache"), None, Usage(), 0, "cache"),
        ("stop",),
    ]
    assert stage.display.shown == [("text", "from the cache"), ("text_end",)]
    assert stage.model.asked == []


async def test_the_stop_hook_sends_the_model_on() -> None:
    session = FakeSession(FakeHost())
    session.stops = ["run the tests first"]
    stage = Stage(ScriptedReply(text="all done"), DONE, session=session)
    assert await stage.run() == "completed"
    assert stage.fired == [
        "pre_llm_call",
        "post_llm_call",
        "stop",
        "pre_llm_call",
        "post_llm_call",
        "stop",
        "turn_end",
    ]
    assert stage.model.asked[1] == [
        user("hello"),
        assistant("all done"),
        user("run the tests first"),
    ]
    assert ("notice", "info", "eager goes on: run the tests first") in stage.display.shown


async def test_an_attempt_that_may_succeed_later_is_made_again(autojump_clock: MockClock) -> None:
    busy = ScriptedReply(
        fail=ScriptedFailure(kind="rate_limited", status=429, message="busy", retry_after_s=7.0)
    )
    broken = ScriptedReply(text="I thi", fail=ScriptedFailure(kind="stream", message="broke off"))
    stage = Stage(busy, broken, ScriptedReply(text="at last"))
    began = trio.current_time()
    assert await stage.run() == "completed"
    assert trio.current_time() - began == 8.0
    assert stage.session.log == [
        ("pre_llm_call", "scripted", "scripted", []),
        ("llm_call_failed", 1, "rate_limited", 429, "busy", True),
        ("notification", "warning", "busy; asking again in 7 s"),
        ("llm_call_failed", 2, "stream", None, "broke off", True),
        ("notification", "warning", "broke off; asking again in 1 s"),
        ("post_llm_call", "scripted", assistant("at last"), "stop", Usage(), 0, None),
        ("stop",),
        ("turn_end", "completed"),
    ]
    assert stage.agent.conversation.messages == [user("hello"), assistant("at last")]
    assert stage.display.shown == [
        ("notice", "warning", "busy; asking again in 7 s"),
        ("text", "I thi"),
        ("text_abandoned",),
        ("notice", "warning", "broke off; asking again in 1 s"),
        ("text", "at last"),
        ("text_end",),
    ]


async def test_three_attempts_and_no_more(autojump_clock: MockClock) -> None:
    stage = Stage(
        *[ScriptedReply(fail=ScriptedFailure(kind="connection", message="nobody there"))] * 4
    )
    assert await stage.run() == "failed"
    assert [entry[1:] for entry in stage.session.log if entry[0] == "llm_call_failed"] == [
        (1, "connection", None, "nobody there", True),
        (2, "connection", None, "nobody there", True),
        (3, "connection", None, "nobody there", False),
    ]
    assert stage.display.shown[-1] == ("notice", "error", "nobody there")
    assert "stop" not in stage.fired


async def test_a_server_cannot_ask_for_more_than_a_minute(autojump_clock: MockClock) -> None:
    stage = Stage(
        ScriptedReply(fail=ScriptedFailure(kind="rate_limited", retry_after_s=3000.0)), DONE
    )
    assert await stage.run() == "completed"
    assert trio.current_time() == pytest.approx(60.0)


async def test_a_refused_key_is_not_tried_again() -> None:
    stage = Stage(
        ScriptedReply(fail=ScriptedFailure(kind="refused", status=401, message="no")), DONE
    )
    assert await stage.run() == "failed"
    assert stage.session.log[1:] == [
        ("llm_call_failed", 1, "refused", 401, "no", False),
        ("notification", "error", "no"),
        ("turn_end", "failed"),
    ]


@pytest.mark.parametrize(
    ("reason", "says"),
    [
        ("length", "the model's answer was cut: it reached its limit of tokens"),
        ("content_filter", "the model's answer was cut: the provider's filter ended it"),
    ],
)
async def test_an_answer_that_was_cut_is_said_so(reason: str, says: str) -> None:
    stage = Stage(ScriptedReply(text="once upon", finish_reason=reason))
    assert await stage.run() == "completed"
    assert ("notice", "warning", says) in stage.display.shown


async def test_a_limit_of_model_calls() -> None:
    session = FakeSession(FakeHost(again=tool("and")))
    stage = Stage(*[calling("again")] * 4, session=session, max_model_calls=3)
    assert await stage.run() == "max_iterations"
    assert stage.model.attempts == 3
    assert stage.display.shown[-1] == (
        "notice",
        "warning",
        "model calls in this turn: 3; the turn ends, for nobody can be asked",
    )
    assert "stop" not in stage.fired


async def interrupted_after(stage: Stage, seconds: float) -> None:
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _interrupt() -> None:
            await trio.sleep(seconds)
            stage.session.turns[-1].interrupt()

        assert await stage.run() == "interrupted"


async def test_interrupted_while_the_model_speaks(autojump_clock: MockClock) -> None:
    stage = Stage(ScriptedReply(text="one two three", over_s=3.0), DONE)
    await interrupted_after(stage, 1.5)
    assert stage.fired == ["pre_llm_call", "turn_end"]
    assert stage.display.shown == [("text", "one "), ("text", "two "), ("text_end",)]
    await stage.run("go on")
    assert stage.model.asked[1] == [user("hello"), assistant("one two "), user("go on")]


async def test_interrupted_in_a_tool_every_call_is_answered(autojump_clock: MockClock) -> None:
    host = FakeHost(quick=tool("quickly", after_s=1.0), slow=tool("slowly", after_s=10.0))
    stage = Stage(calling("slow", "quick"), DONE, session=FakeSession(host))
    await interrupted_after(stage, 2.0)
    assert trio.current_time() == pytest.approx(2.0)
    await stage.run("go on")
    assert stage.model.asked[1] == [
        user("hello"),
        assistant(None, request("slow"), request("quick")),
        result("id-slow", "interrupted before it had finished"),
        result("id-quick", "quickly"),
        user("go on"),
    ]


async def test_interrupted_while_waiting_to_ask_again(autojump_clock: MockClock) -> None:
    stage = Stage(
        ScriptedReply(fail=ScriptedFailure(kind="rate_limited", retry_after_s=30.0)), DONE
    )
    await interrupted_after(stage, 1.0)
    assert trio.current_time() == pytest.approx(1.0)
    assert stage.agent.conversation.messages == [user("hello")]


async def test_an_image_reaches_the_model_and_the_user_sees_what_it_is() -> None:
    image = Part(type="image", mime_type="image/png", data="iVBORw0KGgo=")
    text = Part(type="text", text="before")
    shown = ToolOutcome(status="ok", result=ToolResult(content="a page", parts=[text, image]))

    async def look(_: dict[str, Any]) -> ToolOutcome:
        return shown

    stage = Stage(calling("look"), DONE, session=FakeSession(FakeHost(look=look)))
    await stage.run()
    assert stage.model.asked[1][-1] == Message(
        role="tool", content="a page", call_id="id-look", parts=[text, image]
    )
    assert ("ended", "look", "ok", "[image/png, 8 bytes] a page") in stage.display.shown
