"""Child agents: what a child reads, what comes back to its parent, and where it ends."""

from __future__ import annotations

import io
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sliphook import PluginHost
from sliphook.agent.loop import Agent
from sliphook.agent.models.script import ScriptedCall, ScriptedFailure, ScriptedReply
from sliphook.agent.ui.display import PlainDisplay
from sliphook.testing import FakePlugin
from sliphook_sdk.protocol import Answer, Message, ToolCallRequest
from sliphook_sdk.protocol.payloads import PreToolCall, SubagentStart
from tests.agent.fakes import RecordingModel
from tests.agent.walks import DONE, Patient, Stage, calling, one_turn

CHILD = (
    "Another agent has given you this one goal. Nobody answers questions. Your last "
    "message is all that it will read of you."
)


def delegating(*goals: str) -> ScriptedReply:
    calls = [
        ScriptedCall(name="delegate", arguments={"goal": goal}, call_id=f"id-{at}")
        for at, goal in enumerate(goals)
    ]
    return ScriptedReply(calls=calls)


async def test_a_child_reads_its_goal_and_its_last_message_is_the_result(
    autojump_clock: MockClock,
) -> None:
    hooks = {
        "session_start": {"context": ["of the session"]},
        "subagent_start": {"context": ["mind the budget"]},
    }
    stage = Stage(
        delegating("look around"),
        calling("look"),
        ScriptedReply(text="all quiet"),
        DONE,
        hooks=hooks,
        system="be brief",
    )
    assert await one_turn(stage) == "completed"
    goal = [
        Message(role="system", content=f"be brief\n\n{CHILD}\n\n[probe] mind the budget"),
        Message(role="user", content="look around"),
    ]
    look = ToolCallRequest(call_id="call_2_1", name="look", arguments={})
    assert stage.model.asked[1:] == [
        goal,
        [
            *goal,
            Message(role="assistant", content=None, tool_calls=[look]),
            Message(role="tool", content="nothing new", call_id="call_2_1"),
        ],
        [
            Message(role="system", content="be brief\n\n[probe] of the session"),
            Message(role="user", content="work"),
            Message(
                role="assistant",
                content=None,
                tool_calls=[
                    ToolCallRequest(
                        call_id="id-0", name="delegate", arguments={"goal": "look around"}
                    )
                ],
            ),
            Message(role="tool", content="all quiet", call_id="id-0"),
        ],
    ]
    assert stage.display.shown == [
        ("started", "delegate", {"goal": "look around"}),
        ("child", 1, "look around"),
        ("ended", "delegate", "ok", "all quiet"),
        ("text", "done"),
        ("text_end",),
    ]
    assert stage.display.children[0].shown == [
        ("started", "look", {}),
        ("ended", "look", "ok", "nothing new"),
        ("text", "all quiet"),
        ("text_end",),
    ]


async def test_children_work_side_by_side(autojump_clock: MockClock) -> None:
    stage = Stage(
        delegating("one", "two", "three"), *[ScriptedReply(text="so it is", wait_s=1.0)] * 3, DONE
    )
    async with stage.open() as (agent, _):
        began_s = trio.current_time()
        assert await agent.run("work") == "completed"
        assert trio.current_time() - began_s == pytest.approx(1.0)
    assert [message.content for message in stage.model.asked[4][-3:]] == ["so it is"] * 3
    assert [shown for shown in stage.display.shown if shown[0] == "child"] == [
        ("child", 1, "one"),
        ("child", 2, "two"),
        ("child", 3, "three"),
    ]
    stopped = stage.probe.payloads("subagent_stop")
    assert [(one.status, one.summary, one.duration_ms) for one in stopped] == [
        ("completed", "so it is", 1000.0)
    ] * 3


async def test_a_childs_child_cannot_delegate(autojump_clock: MockClock) -> None:
    stage = Stage(delegating("one"), delegating("two"), delegating("three"), DONE, DONE, DONE)
    assert await one_turn(stage) == "completed"
    assert stage.model.offered[:3] == [
        ["ship", "delegate", "sleep", "look"],
        ["ship", "delegate", "sleep", "look"],
        ["ship", "sleep", "look"],
    ]
    assert (stage.model.asked[3][-1].content or "").startswith("there is no tool 'delegate'")


async def test_an_agent_may_have_no_children() -> None:
    stage = Stage(delegating("one"), DONE, max_depth=0)
    assert await one_turn(stage) == "completed"
    assert stage.model.offered[0] == ["ship", "sleep", "look"]


@pytest.mark.parametrize(
    "arguments", [{}, {"goal": ""}, {"goal": 7}, {"goal": "look", "model": "big"}]
)
async def test_a_call_that_names_no_goal_is_an_error_for_the_model(
    arguments: dict[str, Any], autojump_clock: MockClock
) -> None:
    stage = Stage(ScriptedReply(calls=[ScriptedCall(name="delegate", arguments=arguments)]), DONE)
    assert await one_turn(stage) == "completed"
    assert (stage.model.asked[1][-1].content or "").startswith(
        "the arguments do not fit the tool delegate: "
    )
    assert "subagent_start" not in stage.probe.names()


@pytest.mark.parametrize(
    ("replies", "more", "status", "result"),
    [
        (
            [
                ScriptedReply(
                    fail=ScriptedFailure(kind="refused", status=401, message="no such key")
                )
            ],
            {},
            "failed",
            "the child agent did not finish: no such key",
        ),
        (
            [
                ScriptedReply(text="I look.", calls=[ScriptedCall(name="look")]),
                ScriptedReply(text="And again.", calls=[ScriptedCall(name="look")]),
            ],
            {"max_model_calls": 2},
            "failed",
            "the child agent did not finish: model calls in this turn: 2\n"
            "Its last message: And again.",
        ),
        (
            [calling("look")] * 4,
            {},
            "failed",
            "the child agent did not finish: the model goes in circles: it has called look 4 "
            "times in a row, with the same results",
        ),
        ([ScriptedReply()], {}, "completed", "the child agent finished without a word"),
    ],
)
async def test_how_a_child_ends(
    replies: list[ScriptedReply],
    more: dict[str, Any],
    status: str,
    result: str,
    autojump_clock: MockClock,
) -> None:
    stage = Stage(delegating("look"), *replies, DONE, **more)
    assert await one_turn(stage) == "completed"
    assert stage.model.asked[-1][-1].content == result
    assert [one.status for one in stage.probe.payloads("subagent_stop")] == [status]


async def test_a_child_at_its_limit_asks_nobody(autojump_clock: MockClock) -> None:
    """Its parent decides; the user has not read what the child does."""
    person = Patient()
    stage = Stage(
        delegating("one"), calling("look"), calling("look"), DONE, person=person, max_model_calls=2
    )
    assert await one_turn(stage) == "completed"
    assert person.asked == []
    (stopped,) = stage.probe.payloads("subagent_stop")
    assert stopped.status == "failed"


async def test_a_guard_is_not_walked_around_by_a_child(autojump_clock: MockClock) -> None:
    def no_looking(call: PreToolCall) -> Answer:
        return (
            Answer(decision="deny", reason="do not look") if call.tool_name == "look" else Answer()
        )

    guard = FakePlugin("guard", hooks={"pre_tool_call": no_looking})
    stage = Stage(delegating("look"), calling("look"), ScriptedReply(text="I may not"), DONE)
    stage.probe = guard
    assert await one_turn(stage) == "completed"
    assert [(one.params["tool_name"], one.params["agent_depth"]) for one in guard.fired()] == [
        ("delegate", 0),
        ("look", 1),
    ]
    assert stage.model.asked[2][-1].content == "the call of look was denied: guard: do not look"
    assert ("denied", "look", "guard: do not look") in stage.display.children[0].shown


async def test_delegating_can_be_denied(autojump_clock: MockClock) -> None:
    stage = Stage(
        delegating("look"), DONE, hooks={"pre_tool_call": {"decision": "deny", "reason": "alone"}}
    )
    assert await one_turn(stage) == "completed"
    assert "subagent_start" not in stage.probe.names()


async def test_after_an_interrupt_in_a_child_the_conversation_goes_on(
    autojump_clock: MockClock,
) -> None:
    stage = Stage(delegating("look"), calling("sleep"), DONE)
    async with stage.open() as (agent, session), trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _interrupt() -> None:
            await trio.sleep(1.0)
            session.interrupt()

        assert await agent.run("work") == "interrupted"
        assert trio.current_time() == pytest.approx(1.0)
        assert await agent.run("and now?") == "completed"
    assert [(message.role, message.content) for message in stage.model.asked[2]] == [
        ("user", "work"),
        ("assistant", None),
        ("tool", "interrupted before it had finished"),
        ("user", "and now?"),
    ]


async def test_texts_of_plugins_wait_for_the_users_own_agent(autojump_clock: MockClock) -> None:
    async def inject(start: SubagentStart) -> Answer:
        await mail.ask("host/inject", session_id=start.session_id, text="you have mail")
        return Answer()

    mail = FakePlugin("mail", hooks={"subagent_start": inject}, uses=["inject"])
    stage = Stage(delegating("look"), ScriptedReply(text="all quiet"), DONE)
    stage.probe = mail
    assert await one_turn(stage) == "completed"
    assert [message.content for message in stage.model.asked[1]] == [CHILD, "look"]
    assert stage.model.asked[2][-1] == Message(role="user", content="[mail] you have mail")


async def test_a_plugin_cannot_take_the_name(autojump_clock: MockClock) -> None:
    """Though the program forgot to reserve it."""
    plugin = FakePlugin("rogue", tools={"delegate": "mine"})
    model = RecordingModel(delegating("look"), ScriptedReply(text="all quiet"), DONE)
    out, err = io.StringIO(), io.StringIO()
    async with PluginHost([plugin]) as host, host.session() as session:
        assert (
            await Agent(host, session, model, display=PlainDisplay(out, err)).run("work")
            == "completed"
        )
    assert model.offered[0] == ["delegate"]
    assert out.getvalue() == "done\n"
    assert err.getvalue().splitlines() == [
        'tool: delegate {"goal":"look"}',
        "child 1: look",
        "child 1: all quiet",
        "ok: delegate in 0 ms: all quiet",
    ]
