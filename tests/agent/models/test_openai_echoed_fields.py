"""Reasoning and signatures: fields that a server wants back with the calls they came with."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from sliphook.agent.models.base import ModelError
from sliphook.agent.models.echoed_fields import EchoedFields, EchoedFieldStore
from sliphook.agent.models.openai import OpenAIModel
from sliphook_sdk.protocol import Message, ToolCallRequest
from tests.agent.loopback import (
    DONE,
    Answer,
    LoopbackServer,
    chunk,
    text,
)

from .asking import HELLO, ask_at, refusal_of

CALL = Message(
    role="assistant",
    content=None,
    tool_calls=[ToolCallRequest(call_id="call_a", name="one", arguments={})],
)
RESULT = Message(role="tool", content="1", call_id="call_a")


async def conversation_of(*answers: Answer) -> list[dict[str, Any]]:
    """The messages of the last request of two: a question, and the result of the call that came."""
    with LoopbackServer(*answers) as server:
        model = OpenAIModel("m-1", base_url=server.base_url)
        with trio.fail_after(120):
            for messages in (HELLO, [*HELLO, CALL, RESULT]):
                async with model.stream(messages, []) as pieces:
                    assert [piece async for piece in pieces]
        await model.aclose()
    sent: list[dict[str, Any]] = server.requests[-1].body["messages"]
    return sent


async def test_reasoning_and_signatures_go_back_with_their_calls() -> None:
    signature = {"google": {"thought_signature": "abc"}}
    detail = {"type": "reasoning.encrypted", "data": "x"}
    part = {
        "index": 0,
        "id": "call_a",
        "function": {"name": "one", "arguments": "{}"},
        "extra_content": signature,
    }
    steps = [
        chunk({"reasoning_content": "I th"}),
        chunk({"reasoning_content": "ink", "reasoning_details": [detail]}),
        chunk({"tool_calls": [part]}, "tool_calls"),
        DONE,
    ]
    [question, call, result] = await conversation_of(Answer(steps), Answer([text("ok")]))
    assert (question["content"], result["content"]) == ("hello", "1")
    assert call == {
        "role": "assistant",
        "content": None,
        "reasoning_content": "I think",
        "reasoning_details": [detail],
        "tool_calls": [
            {
                "id": "call_a",
                "type": "function",
                "function": {"name": "one", "arguments": "{}"},
                "extra_content": signature,
            }
        ],
    }


@pytest.mark.parametrize(
    ("refusal", "message", "call"),
    [
        (
            "The reasoning_content in the thinking mode must be passed back to the API.",
            {"reasoning_content": ""},
            {},
        ),
        (
            "Function call is missing a thought_signature in functionCall parts.",
            {},
            {
                "extra_content": {
                    "google": {"thought_signature": "skip_thought_signature_validator"}
                }
            },
        ),
    ],
)
async def test_what_was_never_kept_is_filled_in_where_a_server_wants_it(
    refusal: str, message: dict[str, Any], call: dict[str, Any]
) -> None:
    refused = Answer(refusal_of(refusal), status=400, content_type="application/json")
    [_, sent, _] = await conversation_of(Answer([text("no call")]), refused, Answer([text("ok")]))
    wire = {
        "id": "call_a",
        "type": "function",
        "function": {"name": "one", "arguments": "{}"},
        **call,
    }
    assert sent == {"role": "assistant", "content": None, **message, "tool_calls": [wire]}


async def test_a_server_that_goes_on_refusing_is_not_asked_for_ever() -> None:
    refused = Answer(
        refusal_of("reasoning_content must be passed back"),
        status=400,
        content_type="application/json",
    )
    with LoopbackServer(refused, refused) as server:
        with pytest.raises(ModelError, match="reasoning_content must be passed back"):
            await ask_at(server, messages=[*HELLO, CALL, RESULT])
        assert len(server.requests) == 2


def test_what_is_kept_is_bounded() -> None:
    kept = EchoedFieldStore()
    kept.keep(["call_a"], EchoedFields(fields={"reasoning_content": "first"}))
    kept.keep(
        [f"call_{number}" for number in range(500)],
        EchoedFields(fields={"reasoning_content": "later"}),
    )
    assert kept.of(CALL) == EchoedFields()
