"""Halves of characters beyond U+FFFF, as servers cut them and models write them."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.agent.models.anthropic import AnthropicModel
from sliphook.agent.models.base import Finish, Model, ModelError, TextDelta, ToolCall, read_call
from sliphook.agent.models.bounded.written import Halves, decode
from sliphook.agent.models.openai import OpenAIModel
from sliphook_sdk.protocol import Message, ToolCallRequest
from tests.agent.loopback import DONE, Answer, LoopbackServer

from .asking import HELLO

_TEXTS = msgspec.json.Decoder(list[str])


def openai_text(part: str) -> bytes:
    return b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n' % part.encode()


def openai_call(part: str) -> bytes:
    return (
        b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a",'
        b'"function":{"name":"f","arguments":"%s"}}]}}]}\n\n' % part.encode()
    )


OPENAI_END = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n' + DONE


def anthropic_delta(delta: str) -> bytes:
    return b'data: {"type":"content_block_delta","index":1,"delta":{%s}}\n\n' % delta.encode()


def anthropic_text(part: str) -> bytes:
    return anthropic_delta(f'"type":"text_delta","text":"{part}"')


ANTHROPIC_CALL = (
    b'data: {"type":"content_block_start","index":1,'
    b'"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}\n\n'
)


def anthropic_call(part: str) -> bytes:
    return anthropic_delta(f'"type":"input_json_delta","partial_json":"{part}"')


ANTHROPIC_END = (
    b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n'
    b'data: {"type":"message_stop"}\n\n'
)

TEXTS = [
    ([r"fine \ud83d", r"\ude00 done"], "fine 😀 done"),
    ([r"\ud83d", "", r"\ude00"], "😀"),
    ([r"\uD83D", r"\uDE00"], "😀"),
    ([r"lone \ud83d", "x"], "lone \ufffdx"),
    ([r"lone \ud83d", r"\ud83d\ude00"], "lone \ufffd😀"),
    ([r"low \ude00 alone"], "low \ufffd alone"),
    ([r"at the end \ud83d"], "at the end \ufffd"),
    ([r"no half: \\ud83d"], r"no half: \ud83d"),
    ([r"\\\ud83d", r"\ude00"], "\\😀"),
    # the private characters that stand for halves meanwhile stay what they are
    (["\U0010f03d", r"\ude00"], "\U0010f03d\ufffd"),
    (["\U0010f03d\\ud83d", r"\ude00"], "\U0010f03d\ufffd\ufffd"),
]


async def pieces_of(model_type: type[OpenAIModel | AnthropicModel], answer: bytes) -> list[object]:
    with LoopbackServer(Answer([answer])) as server:
        model: Model = model_type("m-1", base_url=server.base_url)
        async with model.stream(HELLO, []) as stream:
            pieces: list[object] = [piece async for piece in stream]
        await model.aclose()
    assert isinstance(pieces.pop(), Finish)
    return pieces


@pytest.mark.parametrize(("parts", "text"), TEXTS)
async def test_halves_in_text(parts: list[str], text: str) -> None:
    for model, part, end in (
        (OpenAIModel, openai_text, OPENAI_END),
        (AnthropicModel, anthropic_text, ANTHROPIC_END),
    ):
        pieces = await pieces_of(model, b"".join(map(part, parts)) + end)
        assert "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)) == text


@pytest.mark.parametrize(
    ("parts", "value"),
    [
        # escapes of the event's own JSON, and of the arguments', which are JSON in it
        ([r"{\"a\":\"\ud83d", r"\ude00\"}"], "😀"),
        ([r"{\"a\":\"\\ud83d", r"\\ude00\"}"], "😀"),
        ([r"{\"a\":\"\\ud83d", r"x\"}"], "\ufffdx"),
        ([r"{\"a\":\"\ud83d", r"x\"}"], "\ufffdx"),
        ([r"{\"a\":\"\\\\ud83d\"}"], r"\ud83d"),
    ],
)
async def test_halves_in_a_tool_call(parts: list[str], value: str) -> None:
    call = ToolCall(call_id="a", name="f", arguments={"a": value})
    sent = b"".join(map(openai_call, parts)) + OPENAI_END
    assert await pieces_of(OpenAIModel, sent) == [call]
    sent = ANTHROPIC_CALL + b"".join(map(anthropic_call, parts)) + ANTHROPIC_END
    assert await pieces_of(AnthropicModel, sent) == [call]


@pytest.mark.parametrize(
    ("model_type", "end"), [(OpenAIModel, OPENAI_END), (AnthropicModel, ANTHROPIC_END)]
)
async def test_halves_in_the_conversation_are_sent_as_unknown_characters(
    model_type: type[OpenAIModel | AnthropicModel], end: bytes
) -> None:
    call = ToolCallRequest(call_id="a", name="f", arguments={"a": "\ude00!"})
    conversation = [
        Message(role="user", content="half a \ud83d"),
        Message(role="assistant", content=None, tool_calls=[call]),
        Message(role="tool", content="\udcff", call_id="a"),
    ]
    with LoopbackServer(Answer([end])) as server:
        model: Model = model_type("m-1", base_url=server.base_url)
        async with model.stream(conversation, []) as stream:
            assert [type(piece) async for piece in stream] == [Finish]
        await model.aclose()
    sent = json.dumps(server.requests[0].body["messages"], ensure_ascii=False)
    assert [text in sent for text in ("half a \ufffd", "\ufffd!", '"\ufffd"')] == [True] * 3


@pytest.mark.parametrize("model_type", [OpenAIModel, AnthropicModel])
async def test_arguments_of_too_many_halves_are_refused(
    model_type: type[OpenAIModel | AnthropicModel],
) -> None:
    call = ToolCallRequest(call_id="a", name="f", arguments={"a": ["\ud83d"] * 20_000})
    model: Model = model_type("m-1", base_url="http://127.0.0.1:9")
    with pytest.raises(ModelError, match="the conversation cannot be sent: too many") as caught:
        async with model.stream([Message(role="assistant", content=None, tool_calls=[call])], []):
            pass
    assert caught.value.kind == "refused"
    await model.aclose()


async def test_what_is_broken_in_another_way_stays_an_error() -> None:
    with pytest.raises(ModelError, match="no chunk of an answer"):
        await pieces_of(OpenAIModel, b'data: {"choices":"\\ud83d\n\n')


def test_a_half_in_arguments_that_came_in_one_piece() -> None:
    assert read_call("a", "f", r'{"a":"\ude00"}').arguments == {"a": "\ufffd"}


@given(
    st.lists(
        st.lists(
            st.sampled_from([0xD83D, 0xDBFF, 0xD800, 0xDE00, 0xDFFF, 0x5C, 0x75, 0x41, 0x20AC]),
            max_size=5,
        ),
        max_size=6,
    )
)
def test_any_parts_make_the_text_that_utf_16_makes_of_them(parts: list[list[int]]) -> None:
    halves = Halves()
    text = ""
    for units in parts:
        escaped = "".join(f"\\u{unit:04x}" for unit in units)
        texts, marked = decode(_TEXTS, f'["{escaped}"]')
        assert texts is not None
        text += halves.add(texts[0], marked)
    text += halves.end()
    utf_16 = b"".join(unit.to_bytes(2, "little") for part in parts for unit in part)
    assert text == utf_16.decode("utf-16-le", "replace")
