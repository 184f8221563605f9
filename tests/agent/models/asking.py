"""Ask the OpenAI-compatible model, and what it said."""

from __future__ import annotations

import json

import pytest
import trio

from sliphook.agent.models.base import ModelError, Piece, TextDelta, ToolCall
from sliphook.agent.models.openai import OpenAIModel
from sliphook_sdk.protocol import Message, ModelTool
from tests.agent.loopback import (
    Answer,
    LoopbackServer,
    chunk,
)

HELLO = [Message(role="user", content="hello")]
STOP = chunk({}, "stop")


async def ask(
    *answers: Answer,
    messages: list[Message] = HELLO,
    tools: list[ModelTool] | None = None,
    key: str | None = None,
) -> list[Piece]:
    """The pieces of one answer of a server that gives `answers`."""
    with LoopbackServer(*answers) as server:
        return await ask_at(server, messages=messages, tools=tools, key=key)


async def ask_at(
    server: LoopbackServer,
    *,
    messages: list[Message] = HELLO,
    tools: list[ModelTool] | None = None,
    key: str | None = None,
) -> list[Piece]:
    model = OpenAIModel("m-1", base_url=server.base_url, api_key=key)
    pieces: list[Piece] = []
    with trio.fail_after(120):
        try:
            async with model.stream(messages, tools or []) as stream:
                async for piece in stream:
                    pieces.append(piece)
        finally:
            await model.aclose()
    return pieces


async def failure(*answers: Answer) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(*answers)
    return caught.value


def said(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))


def calls(pieces: list[Piece]) -> list[ToolCall]:
    return [piece for piece in pieces if isinstance(piece, ToolCall)]


def refusal_of(message: str, **more: object) -> list[bytes | float]:
    return [json.dumps({"error": {"message": message, **more}}).encode()]
