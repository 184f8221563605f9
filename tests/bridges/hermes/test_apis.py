"""The model APIs: what is read of a request and an answer, and what is written."""

# the shapes are those of another project
# pyright: basic

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sliphook.bridges.hermes.apis import APIS
from sliphook.bridges.hermes.apis.api import arguments_of, text_of
from sliphook_sdk.protocol import Message, ModelTool, ToolCallRequest, Usage

CALL = ToolCallRequest(call_id="1", name="sh", arguments={"a": 1})
SAID = [
    Message(role="system", content="be good"),
    Message(role="user", content="look"),
    Message(role="assistant", content="well", tool_calls=[CALL]),
    Message(role="tool", content="done", call_id="1"),
    Message(role="tool", content="done too", call_id="2"),
    Message(role="user", content="more"),
]
"""What plugins are shown of each of these requests."""

CHAT: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "be good"},
        {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url"}]},
        {
            "role": "assistant",
            "content": "well",
            "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "sh", "arguments": '{"a": 1}'}}
            ],
        },
        {"role": "tool", "content": "done", "tool_call_id": "1"},
        {"role": "tool", "content": "done too", "tool_call_id": "2"},
        {"role": "user", "content": "more"},
    ],
    "tools": [{"type": "function", "function": {"name": "a", "parameters": {}}, "strict": True}],
}
ANTHROPIC: dict[str, Any] = {
    "model": "m",
    "system": [{"type": "text", "text": "be good", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "x"},
                {"type": "text", "text": "well"},
                {"type": "tool_use", "id": "1", "name": "sh", "input": {"a": 1}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": "done"},
                {
                    "type": "tool_result",
                    "tool_use_id": "2",
                    "content": [{"type": "text", "text": "done too"}],
                },
                {"type": "text", "text": "more"},
            ],
        },
    ],
    "tools": [{"name": "a", "description": "", "input_schema": {"type": "object"}, "x": 1}],
}
BEDROCK: dict[str, Any] = {
    "modelId": "m",
    "system": [{"text": "be good"}],
    "messages": [
        {"role": "user", "content": [{"text": "look"}, {"image": {"format": "png"}}]},
        {
            "role": "assistant",
            "content": [
                {"text": "well"},
                {"toolUse": {"toolUseId": "1", "name": "sh", "input": {"a": 1}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "1", "content": [{"text": "done"}]}},
                {"toolResult": {"toolUseId": "2", "content": [{"text": "done too"}]}},
                {"text": "more"},
            ],
        },
    ],
    "toolConfig": {
        "tools": [{"toolSpec": {"name": "a", "inputSchema": {"json": {"type": "object"}}}}]
    },
}
CODEX: dict[str, Any] = {
    "model": "m",
    "instructions": "be good",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "look"}]},
        {"type": "reasoning", "encrypted_content": "x", "summary": []},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "well"}],
        },
        {"type": "function_call", "call_id": "1", "name": "sh", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "1", "output": "done"},
        {"type": "function_call_output", "call_id": "2", "output": "done too"},
        {"role": "user", "content": "more"},
    ],
    "tools": [{"type": "function", "name": "a", "parameters": {}, "strict": True}],
}
SAID_IN_ITEMS = [
    *SAID[:2],
    Message(role="assistant", content="well"),
    Message(role="assistant", content=None, tool_calls=[CALL]),
    *SAID[3:],
]
REQUESTS = {
    "chat_completions": (CHAT, SAID),
    "anthropic_messages": (ANTHROPIC, SAID),
    "bedrock_converse": (BEDROCK, SAID),
    "codex_responses": (CODEX, SAID_IN_ITEMS),
}
apis = pytest.mark.parametrize("name", REQUESTS)


def test_all_of_them_are_tried() -> None:
    assert set(REQUESTS) == set(APIS)


@apis
def test_messages_are_read(name: str) -> None:
    request, said = REQUESTS[name]
    assert [part.message for part in APIS[name].read(request)] == said


@apis
def test_what_plugins_left_alone_stays_as_it_was(name: str) -> None:
    api, (request, said) = APIS[name], REQUESTS[name]
    parts = api.read(request)
    assert api.exchanged(request, parts, said) is request
    # put together anew it is the same request
    assert api.with_parts(request, parts) == request


@apis
def test_one_message_is_exchanged(name: str) -> None:
    api, (request, said) = APIS[name], REQUESTS[name]
    parts = api.read(request)
    wanted = [
        Message(role="tool", content="hidden", call_id="1") if one.call_id == "1" else one
        for one in said
    ]
    put = api.exchanged(request, parts, wanted)
    assert [part.message for part in api.read(put)] == wanted
    # the thoughts of the model and its signatures are still there
    kept = [part.raw for part in parts if part.message.call_id != "1"]
    assert [part.raw for part in api.read(put) if part.message.call_id != "1"] == kept


@apis
def test_a_whole_conversation_of_a_plugins(name: str) -> None:
    api, (request, said) = APIS[name], REQUESTS[name]
    other = [
        Message(role=one.role, content=f"{one.content}!", call_id=one.call_id)
        for one in said
        if one.tool_calls is None
    ]
    put = api.exchanged(request, api.read(request), other)
    found = [part.message for part in api.read(put)]
    assert [one.content for one in found] == [one.content for one in other]
    assert api.exchanged(request, [], said) != request
    assert [part.message for part in api.read(api.with_parts(request, []))] == []


@apis
def test_calls_are_written(name: str) -> None:
    api = APIS[name]
    made = api.made(Message(role="assistant", content=None, tool_calls=[CALL]))
    read = [part.message for part in api.read(api.with_parts({}, [made]))]
    assert read == [Message(role="assistant", content=None, tool_calls=[CALL])]


@apis
def test_changed_tools_are_put_back(name: str) -> None:
    api, (request, _) = APIS[name], REQUESTS[name]
    before = [api.tool_of(raw) for raw in api.tools(request)]
    assert [tool.name for tool in before] == ["a"]
    assert api.tools_exchanged(request, before, before) is request
    added = ModelTool(name="b", description="does b", input_schema={"type": "object"})
    put = api.tools_exchanged(request, before, [*before, added])
    assert api.tools(put)[0] == api.tools(request)[0]
    assert [api.tool_of(raw) for raw in api.tools(put)] == [*before, added]
    assert api.tools({}) == []


@apis
def test_texts_for_the_system_and_for_one_call(name: str) -> None:
    api, (request, said) = APIS[name], REQUESTS[name]
    wanted = api.with_notes(api.with_system(request, ["s"]), ["n", "o"])
    found = [part.message for part in api.read(wanted)]
    assert len(found) == len(said)  # no two messages of the user in a row
    assert str(found[0].content).replace("\n", "") == "be goods"
    assert str(found[-1].content).replace("\n", "") == "moreno"
    assert [part.message for part in api.read(api.with_system({}, ["s"]))] == [
        Message(role="system", content="s")
    ]
    after_a_tool = api.with_parts({}, [api.made(SAID[3])])
    read = [part.message for part in api.read(api.with_notes(after_a_tool, ["n"]))]
    assert read == [SAID[3], Message(role="user", content="n")]


@apis
@pytest.mark.parametrize(
    "said",
    [
        Message(role="assistant", content=None, tool_calls=[CALL]),
        Message(role="assistant", content="well"),
        Message(role="assistant", content="well", tool_calls=[CALL]),
    ],
)
def test_an_answer_survives_the_way_there_and_back(name: str, said: Message) -> None:
    reply = APIS[name].reply_of(APIS[name].completion("m", said))
    assert reply is not None
    assert (reply.message, reply.model, reply.usage) == (said, "m", Usage())
    assert APIS[name].reply_of(SimpleNamespace()) is None
    assert APIS[name].reply_of(None) is None


@pytest.mark.parametrize(
    ("name", "why", "found"),
    [
        ("chat_completions", None, "stop"),
        ("chat_completions", "length", "length"),
        ("anthropic_messages", None, "end_turn"),
        ("anthropic_messages", "length", "max_tokens"),
        ("codex_responses", None, "completed"),
        ("codex_responses", "length", "incomplete"),
        ("bedrock_converse", "content_filter", "content_filter"),
    ],
)
def test_why_an_answer_ended(name: str, why: str | None, found: str) -> None:
    said = Message(role="assistant", content="well")
    reply = APIS[name].reply_of(APIS[name].completion("m", said, why))
    assert reply is not None
    assert reply.finish_reason == found


@pytest.mark.parametrize("raw", ["[1]", "not json", None, 7, "null"])
def test_arguments_that_are_none_are_empty(raw: object) -> None:
    assert arguments_of(raw) == {}


def test_the_text_of_what_is_no_text() -> None:
    assert text_of(None) == text_of(7) == text_of([1, {"type": "image"}, {"text": 3}]) == ""


def test_thoughts_at_the_end_are_kept() -> None:
    api = APIS["codex_responses"]
    request = {"instructions": "", "input": [{"type": "reasoning", "encrypted_content": "x"}]}
    assert api.with_parts(request, api.read(request)) == request
