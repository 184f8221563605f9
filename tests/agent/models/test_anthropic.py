"""What only Anthropic has: its form of a conversation, and what its events hold beside text."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from sliphook.agent.models.anthropic import AnthropicModel
from sliphook.agent.models.anthropic_request import message_request
from sliphook.agent.models.anthropic_stream import MessageAssembler
from sliphook.agent.models.base import Finish, ModelError, Piece, TextDelta, ToolCall
from sliphook_sdk.protocol import Message, ModelTool, ToolCallRequest, Usage
from tests.agent.loopback import Answer, LoopbackServer, event

HELLO = [Message(role="user", content="hello")]
CACHED = {"type": "ephemeral"}


def assistant(content: str | None, *calls: ToolCallRequest) -> Message:
    return Message(role="assistant", content=content, tool_calls=list(calls) or None)


def request(*messages: Message, tools: list[ModelTool] | None = None) -> dict[str, Any]:
    return message_request("m-1", messages, tools or [])


async def ask(*answers: Answer) -> tuple[list[Piece], list[dict[str, Any]]]:
    """The pieces, and the bodies of the requests."""
    with LoopbackServer(*answers) as server, trio.fail_after(120):
        model = AnthropicModel("m-1", base_url=server.base_url)
        async with model.stream(HELLO, []) as pieces:
            got = [piece async for piece in pieces]
        await model.aclose()
        return got, [request.body for request in server.requests]


def test_a_conversation_as_the_api_takes_it() -> None:
    weather = ToolCallRequest(call_id="call_1", name="weather", arguments={"city": "Åre"})
    time = ToolCallRequest(call_id="call_2", name="time", arguments={})
    body = request(
        Message(role="system", content="be brief"),
        Message(role="user", content="weather?"),
        assistant("I look. ", weather, time),
        Message(role="tool", content="cold", call_id="call_1"),
        Message(role="tool", content="", call_id="call_2"),
        Message(role="user", content="and now?"),
        Message(role="system", content="in English"),
        tools=[
            ModelTool(name="weather", description="The weather.", input_schema={"properties": {}})
        ],
    )
    assert body == {
        "model": "m-1",
        "stream": True,
        "system": [{"type": "text", "text": "be brief\n\nin English", "cache_control": CACHED}],
        "tools": [
            {
                "name": "weather",
                "description": "The weather.",
                "input_schema": {"type": "object", "properties": {}},
            }
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "weather?"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {
                        "type": "tool_use",
                        "id": "call_1",
                        "name": "weather",
                        "input": {"city": "Åre"},
                    },
                    {"type": "tool_use", "id": "call_2", "name": "time", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "call_1", "content": "cold"},
                    {"type": "tool_result", "tool_use_id": "call_2", "content": ""},
                    {"type": "text", "text": "and now?", "cache_control": CACHED},
                ],
            },
        ],
    }


def test_a_conversation_of_another_providers_is_gone_on_with() -> None:
    body = request(
        assistant("Hi."),
        Message(role="user", content="weather?"),
        assistant(
            " \n", ToolCallRequest(call_id="functions.weather:0", name="the weather", arguments={})
        ),
        Message(role="tool", content="cold", call_id="functions.weather:0"),
        assistant(None),
        Message(role="user", content="  "),
        Message(role="user", content="go on"),
    )
    assert "system" not in body
    assert body["tools"] == [{"name": "the_weather", "input_schema": {"type": "object"}}]
    assert body["tool_choice"] == {"type": "none"}
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]},
        {"role": "user", "content": [{"type": "text", "text": "weather?"}]},
        {
            "role": "assistant",
            "content": [
                {
                    "type": "tool_use",
                    "id": "functions_weather_0",
                    "name": "the_weather",
                    "input": {},
                }
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "functions_weather_0", "content": "cold"},
                {"type": "text", "text": "go on", "cache_control": CACHED},
            ],
        },
    ]


_MESSAGES = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["system", "user", "assistant", "tool"]),
        content=st.none() | st.sampled_from(["", " ", "a", "a "]),
        tool_calls=st.none(),
        call_id=st.none() | st.just("c"),
    ),
    max_size=8,
)


@given(_MESSAGES)
def test_users_and_assistants_take_turns_and_no_text_is_empty(messages: list[Message]) -> None:
    sent = request(*messages)["messages"]
    assert [turn["role"] for turn in sent] == ["user", "assistant"] * (len(sent) // 2) + [
        "user"
    ] * (len(sent) % 2)
    for turn in sent:
        assert turn["content"]
        assert all(block["text"].strip() for block in turn["content"] if block["type"] == "text")


async def test_thinking_is_not_text_and_unknown_events_are_skipped() -> None:
    steps = [
        event({"type": "message_start", "message": {"model": "m-1", "usage": {"input_tokens": 3}}}),
        event(
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "thinking", "thinking": "", "signature": ""},
            }
        ),
        event(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "thinking_delta", "thinking": "hm"},
            }
        ),
        event(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "signature_delta", "signature": "x"},
            }
        ),
        event({"type": "something_new", "delta": {"type": "new"}}),
        event(
            {
                "type": "content_block_start",
                "index": 1,
                "content_block": {"type": "server_tool_use", "id": "s", "name": "web", "input": {}},
            }
        ),
        event(
            {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "input_json_delta", "partial_json": '{"q":1}'},
            }
        ),
        event(
            {
                "type": "content_block_delta",
                "index": 2,
                "delta": {"type": "text_delta", "text": "42"},
            }
        ),
        event(
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn"},
                "usage": {"output_tokens": 9, "input_tokens": 4},
            }
        ),
        event({"type": "message_stop"}),
    ]
    pieces, _ = await ask(Answer(steps))
    assert pieces == [
        TextDelta("42"),
        Finish(reason="end_turn", usage=Usage(input_tokens=4, output_tokens=9), model="m-1"),
    ]


async def test_arguments_may_come_at_once_and_every_block_with_index_0() -> None:
    one = {"type": "tool_use", "id": "a", "name": "one", "input": {"x": 1}}
    two = {"type": "tool_use", "id": "b", "name": "two", "input": {"x": 1}}
    steps = [
        event({"type": "content_block_start", "index": 0, "content_block": one}),
        event({"type": "content_block_start", "index": 0, "content_block": two}),
        event(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": '{"x":2}'},
            }
        ),
        event({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        event({"type": "message_stop"}),
    ]
    pieces, _ = await ask(Answer(steps))
    assert pieces[:2] == [
        ToolCall(call_id="a", name="one", arguments={"x": 1}),
        ToolCall(call_id="b", name="two", arguments={"x": 2}),
    ]


async def test_parts_of_two_tool_calls_may_take_turns() -> None:
    def begins(index: int, name: str) -> bytes:
        block: dict[str, Any] = {"type": "tool_use", "id": name, "name": name, "input": {}}
        return event({"type": "content_block_start", "index": index, "content_block": block})

    def part(index: int, text: str) -> bytes:
        delta = {"type": "input_json_delta", "partial_json": text}
        return event({"type": "content_block_delta", "index": index, "delta": delta})

    steps = [
        begins(1, "one"),
        begins(2, "two"),
        part(1, '{"x":'),
        part(2, '{"y":'),
        part(1, "1}"),
        part(2, "2}"),
        event({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        event({"type": "message_stop"}),
    ]
    pieces, _ = await ask(Answer(steps))
    assert pieces[:2] == [
        ToolCall(call_id="one", name="one", arguments={"x": 1}),
        ToolCall(call_id="two", name="two", arguments={"y": 2}),
    ]


@pytest.mark.parametrize(
    ("kind", "transient"),
    [("invalid_request_error", False), ("overloaded_error", True), ("timeout_error", True)],
)
def test_what_an_error_in_mid_stream_means(kind: str, transient: bool) -> None:
    with pytest.raises(ModelError) as caught:
        MessageAssembler().event(
            json.dumps({"type": "error", "error": {"type": kind, "message": "no"}}), "error"
        )
    assert (caught.value.kind, caught.value.transient) == ("stream", transient)


async def test_a_model_with_a_lower_limit_is_asked_again_with_that() -> None:
    message = (
        "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for m-1"
    )
    refusal = Answer(
        [
            json.dumps(
                {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
            ).encode()
        ],
        status=400,
    )
    steps = [
        event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        event({"type": "message_stop"}),
    ]
    pieces, bodies = await ask(refusal, Answer(steps))
    assert pieces == [Finish(reason="end_turn")]
    assert [body["max_tokens"] for body in bodies] == [32000, 8192]


async def test_the_limit_of_a_model_is_its_own_and_holds_for_parameters_too() -> None:
    message = "max_tokens: 64000 > 8192, which is the maximum allowed number for m-1"
    body = json.dumps({"error": {"type": "invalid_request_error", "message": message}}).encode()
    steps = [
        event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        event({"type": "message_stop"}),
    ]
    answers = [Answer([body], status=400), *[Answer(steps) for _ in range(4)]]
    with LoopbackServer(*answers) as server, trio.fail_after(120):
        model = AnthropicModel("m-1", base_url=server.base_url)
        for name, tokens in (("m-1", 64_000), ("m-1", 100), ("m-2", 64_000), ("m-1", 9_000)):
            more = {"max_tokens": tokens}
            async with model.stream(HELLO, [], model=name, parameters=more) as pieces:
                assert [piece async for piece in pieces] == [Finish(reason="end_turn")]
        await model.aclose()
        sent = [request.body["max_tokens"] for request in server.requests]
    assert sent == [64_000, 8_192, 100, 64_000, 8_192]


async def test_the_version_of_the_api_is_sent() -> None:
    steps = [
        event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        event({"type": "message_stop"}),
    ]
    with LoopbackServer(Answer(steps)) as server, trio.fail_after(120):
        model = AnthropicModel("m-1", base_url=server.base_url.removesuffix("/v1"))
        async with model.stream(HELLO, []) as pieces:
            assert [piece async for piece in pieces] == [Finish(reason="end_turn")]
        await model.aclose()
    assert server.requests[0].path == "/v1/messages"
    assert server.requests[0].headers["anthropic-version"] == "2023-06-01"


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
_PART = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["text", "tool_use", "text_delta", "input_json_delta"]) | _JSON,
        "text": st.text(max_size=3) | _JSON,
        "partial_json": st.text(max_size=3) | _JSON,
        "id": st.just("a") | _JSON,
        "name": st.just("f") | _JSON,
        "input": _JSON,
        "stop_reason": _JSON,
    },
)
_KINDS = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "message_delta",
    "message_stop",
    "error",
    "ping",
]
_EVENT = st.fixed_dictionaries(
    {"type": st.sampled_from(_KINDS) | _JSON},
    optional={
        "index": st.integers(0, 2) | _JSON,
        "content_block": _PART,
        "delta": _PART,
        "message": _JSON,
        "usage": _JSON,
        "error": _JSON,
    },
)


@given(st.lists(_EVENT | _JSON, max_size=6))
def test_whatever_a_server_sends_is_a_piece_or_an_error_of_ours(sent: list[Any]) -> None:
    answer = MessageAssembler()
    for value in sent:
        with contextlib.suppress(ModelError):
            assert isinstance(answer.event(json.dumps(value), ""), str)
    pieces = list(answer.end())
    assert isinstance(pieces[-1], Finish)
    calls = [piece for piece in pieces if isinstance(piece, ToolCall)]
    assert len(calls) == len(pieces) - 1
    assert len({call.call_id for call in calls}) == len(calls)
