"""Ways through the real loop on the real host, with one plugin in memory that hears everything."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import trio

from sliphook import ApprovalRequest, AskRequest, PluginHost, Session, Submission
from sliphook.agent.loop import RESERVED_TOOLS, Agent, AgentTool
from sliphook.agent.models.script import ScriptedCall, ScriptedFailure, ScriptedReply
from sliphook.agent.ui.questions import Person
from sliphook.testing import HANGS, FakePlugin, Received, run
from sliphook_sdk.protocol import CATALOGUE, Answer, Usage
from sliphook_sdk.protocol.payloads import PreLlmCall, PreToolCall, Stop
from tests.agent.fakes import RecordingDisplay, RecordingModel

DONE = ScriptedReply(text="done", usage=Usage(input_tokens=10, output_tokens=1))


def calling(name: str, **arguments: Any) -> ScriptedReply:
    return ScriptedReply(
        calls=[ScriptedCall(name=name, arguments=arguments)],
        usage=Usage(input_tokens=5, output_tokens=2),
    )


async def _sleep(_: dict[str, Any]) -> str:
    await trio.sleep_forever()
    raise AssertionError


async def _look(_: dict[str, Any]) -> str:
    return "nothing new"


OWN = [
    AgentTool(name="sleep", description="", input_schema={"type": "object"}, run=_sleep),
    AgentTool(name="look", description="", input_schema={"type": "object"}, run=_look, kind="read"),
]


class Patient:
    """A person who answers what they are told to, in order; None thinks for ever."""

    def __init__(self, *answers: bool | None) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def approve(self, request: ApprovalRequest) -> bool:
        return await self.go_on(request.prompt)

    async def go_on(self, prompt: str) -> bool:
        self.asked.append(prompt)
        answer = self._answers.pop(0)
        if answer is None:
            await trio.sleep_forever()
        return bool(answer)

    async def ask(self, request: AskRequest) -> object:
        return await self.go_on(request.prompt)


class Stage:
    """An agent on a real host.

    Attributes:
        probe: the plugin; it has the tool `ship`.
    """

    def __init__(
        self,
        *replies: ScriptedReply,
        hooks: Mapping[str, Any] | None = None,
        person: Person | None = None,
        shipping: Any = "shipped",
        attempts: bool = False,
        **more: Any,
    ) -> None:
        subscriptions = [
            {"event": name, "subagents": True, "include": list(entry.heavy)}
            | ({"attempts": True, "replaces": True} if attempts and entry.attempts else {})
            for name, entry in CATALOGUE.items()
        ]
        self.probe = FakePlugin(
            "probe",
            hooks=hooks,
            subscriptions=subscriptions,
            tools={"ship": shipping},
            uses=["submit", "route"],
        )
        self.submitted: list[Submission] = []
        self.model = RecordingModel(*replies)
        self.display = RecordingDisplay()
        self._person = person
        self._more = more

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[tuple[Agent, Session]]:
        approver = self._person.approve if self._person else None
        reserved = [*RESERVED_TOOLS, *(tool.name for tool in OWN)]
        with trio.fail_after(3600):
            async with (
                PluginHost(
                    [self.probe],
                    approver=approver,
                    reserved_tools=reserved,
                    on_submit=self.submitted.append,
                ) as host,
                host.session(model="m-1") as session,
            ):
                yield (
                    Agent(
                        host,
                        session,
                        self.model,
                        display=self.display,
                        tools=OWN,
                        person=self._person,
                        **self._more,
                    ),
                    session,
                )


async def one_turn(stage: Stage, *, interrupt_after_s: float | None = None) -> str:
    async with stage.open() as (agent, session), trio.open_nursery() as nursery:

        async def interrupt(after_s: float) -> None:
            await trio.sleep(after_s)
            assert session.interrupt("user_stop", "stop_command")

        if interrupt_after_s is not None:
            nursery.start_soon(interrupt, interrupt_after_s)
        return await agent.run("work")


def ask_about_ships(call: PreToolCall) -> Answer:
    return Answer(decision="ask", reason="Friday") if call.tool_name == "ship" else Answer()


def once_more(stop: Stop) -> Answer:
    return Answer(continue_with="test it, too") if stop.stop_count == 0 else Answer()


async def completed() -> FakePlugin:
    """A repeated model call, an approved tool, a child agent with a tool, a `stop` that goes on."""
    stage = Stage(
        ScriptedReply(text="I thi", fail=ScriptedFailure(kind="stream", message="broke off")),
        calling("ship"),
        calling("delegate", goal="look around"),
        calling("look"),
        ScriptedReply(text="all quiet", usage=Usage(input_tokens=7)),
        DONE,
        DONE,
        hooks={"pre_tool_call": ask_about_ships, "stop": once_more},
        person=Patient(True),
    )
    assert await one_turn(stage) == "completed"
    return stage.probe


async def tried_again() -> FakePlugin:
    """A server that is dead until the plugin is asked for the third time."""
    dead = ScriptedReply(fail=ScriptedFailure(kind="connection", message="nobody is there"))

    def warm(payload: PreLlmCall) -> Answer | None:
        if payload.attempt != 2:
            return None
        return Answer(replace={"route": {"parameters": {"temperature": 0}}})

    stage = Stage(dead, dead, DONE, hooks={"pre_llm_call": warm}, attempts=True)
    assert await one_turn(stage) == "completed"
    return stage.probe


async def given_up() -> FakePlugin:
    """A plugin that ends the attempts."""
    dead = ScriptedReply(fail=ScriptedFailure(kind="connection", message="nobody is there"))

    def give_up(payload: PreLlmCall) -> Answer | None:
        return Answer(decision="deny", reason="enough") if payload.attempt == 2 else None

    stage = Stage(dead, hooks={"pre_llm_call": give_up}, attempts=True)
    assert await one_turn(stage) == "denied"
    return stage.probe


async def submitted() -> FakePlugin:
    """Two messages of the plugin: one has its turn, one waits until the session is over."""
    stage = Stage(DONE)
    async with stage.open() as (agent, _):
        for text in ("look at the log", "too late"):
            await stage.probe.ask("host/submit", session_key="main", text=text)
        assert await agent.run(stage.submitted[0]) == "completed"
    return stage.probe


async def interrupted_while_the_model_thinks() -> FakePlugin:
    stage = Stage(ScriptedReply(text="done", wait_s=60.0))
    assert await one_turn(stage, interrupt_after_s=1.0) == "interrupted"
    return stage.probe


async def interrupted_while_the_model_speaks() -> FakePlugin:
    stage = Stage(ScriptedReply(text="one two three", over_s=3.0))
    assert await one_turn(stage, interrupt_after_s=1.5) == "interrupted"
    return stage.probe


async def interrupted_before_another_attempt() -> FakePlugin:
    stage = Stage(
        ScriptedReply(
            fail=ScriptedFailure(
                kind="rate_limited", status=429, message="busy", retry_after_s=30.0
            )
        )
    )
    assert await one_turn(stage, interrupt_after_s=1.0) == "interrupted"
    return stage.probe


async def interrupted_in_tools() -> FakePlugin:
    """Two at the same time, and one that was done before."""
    calls = [ScriptedCall(name=name) for name in ("look", "sleep", "sleep")]
    stage = Stage(ScriptedReply(text="I look and sleep.", calls=calls))
    assert await one_turn(stage, interrupt_after_s=1.0) == "interrupted"
    return stage.probe


async def interrupted_in_a_plugins_tool() -> FakePlugin:
    stage = Stage(calling("ship"), shipping=HANGS)
    assert await one_turn(stage, interrupt_after_s=1.0) == "interrupted"
    return stage.probe


def interrupted_in_hook(name: str, *replies: ScriptedReply) -> Callable[[], Awaitable[FakePlugin]]:
    async def walk() -> FakePlugin:
        stage = Stage(*replies, hooks={name: HANGS})
        assert await one_turn(stage, interrupt_after_s=1.0) == "interrupted"
        return stage.probe

    return walk


async def interrupted_in_a_child() -> FakePlugin:
    """In a tool of a child's child."""
    stage = Stage(
        calling("delegate", goal="look"), calling("delegate", goal="look closer"), calling("sleep")
    )
    assert await one_turn(stage, interrupt_after_s=1.0) == "interrupted"
    return stage.probe


async def interrupted_while_a_person_thinks() -> FakePlugin:
    stage = Stage(calling("ship"), hooks={"pre_tool_call": ask_about_ships}, person=Patient(None))
    assert await one_turn(stage, interrupt_after_s=1.0) == "interrupted"
    return stage.probe


async def interrupted_at_the_limit() -> FakePlugin:
    stage = Stage(calling("look"), person=Patient(None), max_model_calls=1)
    assert await one_turn(stage, interrupt_after_s=1.0) == "interrupted"
    return stage.probe


async def failed() -> FakePlugin:
    stage = Stage(
        ScriptedReply(fail=ScriptedFailure(kind="refused", status=401, message="no such key"))
    )
    assert await one_turn(stage) == "failed"
    return stage.probe


async def broken() -> FakePlugin:
    """The agent itself has a fault: its display raises."""
    stage = Stage(DONE)

    def fault(delta: str) -> None:
        raise RuntimeError(delta)

    stage.display.text = fault  # type: ignore[method-assign]
    try:
        async with stage.open() as (agent, _):
            await agent.run("work")
    except RuntimeError:
        return stage.probe
    raise AssertionError


async def prompt_denied() -> FakePlugin:
    stage = Stage(hooks={"user_prompt_submit": {"decision": "deny", "reason": "no secrets"}})
    assert await one_turn(stage) == "denied"
    return stage.probe


async def model_call_denied() -> FakePlugin:
    stage = Stage(hooks={"pre_llm_call": {"decision": "deny", "reason": "spent"}})
    assert await one_turn(stage) == "denied"
    return stage.probe


async def tools_denied() -> FakePlugin:
    """One by a person, one by a plugin."""

    def judge(call: PreToolCall) -> Answer:
        return (
            Answer(decision="ask")
            if call.tool_name == "ship"
            else Answer(decision="deny", reason="do not look")
        )

    calls = [ScriptedCall(name="ship"), ScriptedCall(name="look")]
    stage = Stage(
        ScriptedReply(calls=calls[:1]),
        ScriptedReply(calls=calls[1:]),
        DONE,
        hooks={"pre_tool_call": judge},
        person=Patient(False),
    )
    assert await one_turn(stage) == "completed"
    return stage.probe


async def tool_denied_for_nobody_can_be_asked() -> FakePlugin:
    stage = Stage(calling("ship"), DONE, hooks={"pre_tool_call": ask_about_ships})
    assert await one_turn(stage) == "completed"
    return stage.probe


async def child_denied() -> FakePlugin:
    """The child's model call is denied; its parent goes on."""

    def deny_children(call: Any) -> Answer:
        return Answer(decision="deny", reason="no children") if call.agent_depth else Answer()

    stage = Stage(calling("delegate", goal="look"), DONE, hooks={"pre_llm_call": deny_children})
    assert await one_turn(stage) == "completed"
    return stage.probe


async def looped() -> FakePlugin:
    """A person lets it go on once."""
    stage = Stage(*[calling("look")] * 8, person=Patient(True, False))
    assert await one_turn(stage) == "loop_detected"
    return stage.probe


async def limited() -> FakePlugin:
    stage = Stage(*[calling("look")] * 3, person=Patient(True, False), max_model_calls=1)
    assert await one_turn(stage) == "max_iterations"
    return stage.probe


async def limited_and_nobody_to_ask() -> FakePlugin:
    stage = Stage(calling("look"), max_model_calls=1)
    assert await one_turn(stage) == "max_iterations"
    return stage.probe


async def begun_anew() -> FakePlugin:
    """`/new` while a tool runs."""
    stage = Stage(calling("sleep"), DONE)
    async with stage.open() as (agent, session):
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def _new() -> None:
                await trio.sleep(1.0)
                session.reset()

            assert await agent.run("work") == "interrupted"
        assert await agent.run("again") == "completed"
    return stage.probe


WALKS: dict[str, Callable[[], Awaitable[FakePlugin]]] = {
    walk.__name__: walk
    for walk in (
        completed,
        interrupted_while_the_model_thinks,
        interrupted_while_the_model_speaks,
        interrupted_before_another_attempt,
        interrupted_in_tools,
        interrupted_in_a_plugins_tool,
        interrupted_in_a_child,
        interrupted_while_a_person_thinks,
        interrupted_at_the_limit,
        failed,
        broken,
        tried_again,
        given_up,
        prompt_denied,
        model_call_denied,
        tools_denied,
        tool_denied_for_nobody_can_be_asked,
        child_denied,
        looped,
        limited,
        limited_and_nobody_to_ask,
        begun_anew,
        submitted,
    )
} | {
    f"interrupted_in_{name}": interrupted_in_hook(name, *replies)
    for name, replies in {
        "session_start": (),
        "user_prompt_submit": (),
        "pre_llm_call": (),
        "pre_tool_call": (calling("look"),),
        "post_tool_call": (calling("look"),),
        "stop": (DONE,),
        "subagent_start": (calling("delegate", goal="look"),),
    }.items()
}


def walk(name: str) -> list[Received]:
    """What the plugin was sent on one way."""
    return run(WALKS[name]).fired()
