"""Where texts of plugins reach the model: literally what it is asked, for each source of a text."""

from __future__ import annotations

from typing import Any

from trio.testing import MockClock

from sliphook.agent.models.script import ScriptedReply
from sliphook.testing import FakePlugin
from sliphook_sdk.protocol import Answer, Message, ToolCallRequest, ToolResult
from sliphook_sdk.protocol.payloads import Stop
from tests.agent.walks import DONE, Stage, calling, one_turn
from tests.docs.protocol_sentences.says import says

LOOK = ToolCallRequest(call_id="call_1_1", name="look", arguments={})


def user(content: str) -> Message:
    return Message(role="user", content=content)


async def asked(*replies: ScriptedReply, hooks: dict[str, Any], **more: Any) -> list[list[Message]]:
    """What the model is asked in a turn whose prompt is `work`."""
    stage = Stage(*replies, hooks=hooks, **more)
    assert await one_turn(stage) == "completed"
    return stage.model.asked


@says(
    "It lasts as long as what it came with: from `session_start` and `subagent_start` as system text of"
    " the session or child,",
)
async def test_session_start_is_system_text_of_every_call(autojump_clock: MockClock) -> None:
    hooks = {"session_start": {"context": ["tabs, not spaces", "tests first"]}}
    head = [
        Message(
            role="system", content="be brief\n\n[probe] tabs, not spaces\n\n[probe] tests first"
        ),
        user("work"),
    ]
    both = await asked(calling("look"), DONE, hooks=hooks, system="be brief")
    assert [messages[:2] for messages in both] == [head, head]
    assert len(both[0]) == 2


async def test_without_a_system_text_of_the_agents_it_is_the_plugins_alone(
    autojump_clock: MockClock,
) -> None:
    assert await asked(DONE, hooks={"session_start": {"context": ["tests first"]}}) == [
        [Message(role="system", content="[probe] tests first"), user("work")]
    ]


@says(
    "from `user_prompt_submit` with that message,",
)
async def test_user_prompt_submit_stays_with_the_message(autojump_clock: MockClock) -> None:
    hooks = {"user_prompt_submit": {"context": ["it is noon"]}}
    first, second = await asked(calling("look"), DONE, hooks=hooks)
    assert first == [user("work\n\n[probe] it is noon")]
    assert second == [
        user("work\n\n[probe] it is noon"),
        Message(role="assistant", content=None, tool_calls=[LOOK]),
        Message(role="tool", content="nothing new", call_id="call_1_1"),
    ]


@says(
    "from `pre_llm_call` in that call,",
)
async def test_pre_llm_call_is_for_that_call_only(autojump_clock: MockClock) -> None:
    def first_only(call: Any) -> Answer:
        return Answer(context=["think twice"]) if call.call_index == 1 else Answer()

    first, second = await asked(calling("look"), DONE, hooks={"pre_llm_call": first_only})
    assert first == [user("work\n\n[probe] think twice")]
    assert second[0] == user("work")


@says(
    "from the tool hooks behind the tool's result.",
)
async def test_tool_hooks_stand_behind_the_result(autojump_clock: MockClock) -> None:
    hooks = {"pre_tool_call": {"context": ["before"]}, "post_tool_call": {"context": ["after"]}}
    _, second = await asked(calling("look"), DONE, hooks=hooks)
    assert second[-1] == Message(
        role="tool", content="nothing new\n\n[probe] before\n\n[probe] after", call_id="call_1_1"
    )


async def test_of_a_denied_tool_call_only_the_reason_is_read(autojump_clock: MockClock) -> None:
    hooks = {
        "pre_tool_call": {"decision": "deny", "reason": "no", "context": ["before"]},
        "post_tool_call": {"context": ["after"]},
    }
    _, second = await asked(calling("look"), DONE, hooks=hooks)
    assert second[-1].content == "the call of look was denied: probe: no"


async def test_replaced_texts_are_what_the_model_reads(autojump_clock: MockClock) -> None:
    plugin = FakePlugin(
        "editor",
        hooks={
            "user_prompt_submit": {"replace": {"text": "work carefully"}},
            "post_tool_call": {"replace": {"result": ToolResult(content="(redacted)")}},
        },
        subscriptions=[
            {"event": "user_prompt_submit", "replaces": True},
            {"event": "post_tool_call", "replaces": True},
        ],
    )
    stage = Stage(calling("look"), DONE)
    stage.probe = plugin
    assert await one_turn(stage) == "completed"
    assert stage.model.asked[1] == [
        user("work carefully"),
        Message(role="assistant", content=None, tool_calls=[LOOK]),
        Message(role="tool", content="(redacted)", call_id="call_1_1"),
    ]


async def test_an_injected_text_comes_with_the_next_model_call(autojump_clock: MockClock) -> None:
    async def inject(call: Any) -> None:
        await mail.ask("host/inject", session_id=call.session_id, text=f"mail {call.tool_name}")

    mail = FakePlugin("mail", hooks={"post_tool_call": inject}, uses=["inject"])
    stage = Stage(calling("look"), DONE)
    stage.probe = mail
    assert await one_turn(stage) == "completed"
    assert stage.model.asked[0] == [user("work")]
    assert stage.model.asked[1][2:] == [
        Message(role="tool", content="nothing new", call_id="call_1_1"),
        user("[mail] mail look"),
    ]


async def test_what_stop_sends_the_model_on_with_is_a_users_message(
    autojump_clock: MockClock,
) -> None:
    def once(stop: Stop) -> Answer:
        return Answer(continue_with="test it, too") if stop.stop_count == 0 else Answer()

    _, second = await asked(DONE, DONE, hooks={"stop": once})
    assert second == [user("work"), Message(role="assistant", content="done"), user("test it, too")]
