"""A conversation that was broken off anywhere is one that a model takes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sliphook.agent.conversation import Conversation, restored
from sliphook_sdk.protocol import Message, ToolCallRequest

IDS = ["a", "b", "c"]


def call(call_id: str) -> ToolCallRequest:
    return ToolCallRequest(call_id=call_id, name="t", arguments={})


def message(role: str, ids: list[str]) -> Message:
    if role == "tool":
        return Message(role="tool", content="done", call_id=ids[0] if ids else None)
    if role == "assistant":
        return Message(
            role="assistant", content="text", tool_calls=[call(call_id) for call_id in ids] or None
        )
    return Message(role="user", content="hello")


MESSAGES = st.lists(
    st.builds(
        message,
        st.sampled_from(["user", "assistant", "tool"]),
        st.lists(st.sampled_from(IDS), unique=True, max_size=3),
    ),
    max_size=12,
)


@given(MESSAGES)
def test_whatever_was_recorded_a_model_can_read_it(said: list[Message]) -> None:
    messages = restored(said)
    owed: list[str] = []
    last = None
    for each in messages:
        if each.role == "tool":
            assert owed
            assert each.call_id == owed.pop(0)
        else:
            assert not owed
            assert not (each.role == "user" and last == "user")
            owed = [one.call_id for one in each.tool_calls or ()]
        last = each.role
    assert not owed
    assert [each for each in messages if each.role == "assistant"] == [
        each for each in said if each.role == "assistant"
    ]
    assert restored(messages) == messages


@given(st.permutations(IDS), st.integers(0, 3))
def test_results_stand_in_the_order_of_the_calls(ended: list[str], how_many: int) -> None:
    said = Conversation()
    said.add_user("hello")
    said.add_answer(message("assistant", IDS))
    for call_id in ended[:how_many]:
        said.add_result(call(call_id), f"result {call_id}")
    said.close_calls(begun={"a", "b"})
    done = set(ended[:how_many])
    assert [(each.call_id, each.content) for each in said.messages[2:]] == [
        (call_id, f"result {call_id}" if call_id in done else unfinished)
        for call_id, unfinished in [
            ("a", "interrupted before it had finished"),
            ("b", "interrupted before it had finished"),
            ("c", "not run: interrupted before it had begun"),
        ]
    ]
