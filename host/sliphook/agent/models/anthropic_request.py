"""Pure: a conversation as a request of Anthropic's messages API.

The system text stands apart, and the roles of user and assistant alternate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from sliphook.schemas import tool_for
from sliphook_sdk.protocol import Message, ModelTool, Part

from .request import as_text, images_of, in_words

_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_-]")
"""Characters that this API refuses in ids and names; other providers and models write them."""

_CACHED: Final = {"cache_control": {"type": "ephemeral"}}
"""Ends a part that the server keeps in its cache.

The next request begins with the same part, so the server reads it faster and for less money.
"""


def message_request(
    model: str, messages: Sequence[Message], tools: Sequence[ModelTool], *, images: bool = True
) -> dict[str, Any]:
    """The body of a request that asks for a stream, still without `max_tokens`."""
    system = "\n\n".join(
        message.content for message in messages if message.role == "system" and message.content
    )
    said = _in_turn([message for message in messages if message.role != "system"], images=images)
    if said:
        said[-1]["content"][-1] |= _CACHED
    body: dict[str, Any] = {"model": model, "stream": True}
    if system:
        body["system"] = [{"type": "text", "text": system} | _CACHED]
    if tools:
        body["tools"] = [_tool(tool) for tool in tools]
    elif called := sorted(
        {_clean(call.name) for message in messages for call in message.tool_calls or ()}
    ):
        # the API refuses a conversation with calls in it that declares no tools
        body["tools"] = [{"name": name, "input_schema": {"type": "object"}} for name in called]
        body["tool_choice"] = {"type": "none"}
    body["messages"] = said
    return body


def _in_turn(messages: Sequence[Message], *, images: bool) -> list[dict[str, Any]]:
    """The messages with those of one role in a row joined; the API wants a user's message first."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message, images=images)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    if turns and turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [{"type": "text", "text": "Go on."}]})
    return turns


def _blocks(message: Message, *, images: bool) -> list[dict[str, Any]]:
    """The content of one message, without text that is only white space: the API refuses that."""
    if message.role == "tool":
        return [
            {
                "type": "tool_result",
                "tool_use_id": _clean(message.call_id or ""),
                "content": _result(message, images=images),
            }
        ]
    text = message.content or ""
    if message.role == "assistant":
        text = text.rstrip()  # the API refuses white space at the end of the last one
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text.strip() else []
    for call in message.tool_calls or ():
        blocks.append(
            {
                "type": "tool_use",
                "id": _clean(call.call_id),
                "name": _clean(call.name),
                "input": call.arguments,
            }
        )
    return blocks


def _result(message: Message, *, images: bool) -> str | list[dict[str, Any]]:
    """A tool's result: in blocks if it has an image, else as one text."""
    if not images or not images_of(message):
        return as_text(message)
    return [block for part in message.parts or () if (block := _result_block(part)) is not None]


def _result_block(part: Part) -> dict[str, Any] | None:
    if part.type == "image":
        source = {"type": "base64", "media_type": part.mime_type, "data": part.data}
        return {"type": "image", "source": source}
    text = in_words(part)
    return {"type": "text", "text": text} if text.strip() else None


def _tool(tool: ModelTool) -> dict[str, Any]:
    description, schema = tool_for("anthropic", tool.description, tool.input_schema)
    return {"name": tool.name, "description": description, "input_schema": schema}


def _clean(name: str) -> str:
    return _FOREIGN.sub("_", name) or "_"
