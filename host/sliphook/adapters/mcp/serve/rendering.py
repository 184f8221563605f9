"""Pure: what tools, commands and results of plugins are in MCP."""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec
from mcp_types import (
    CallToolResult,
    GetPromptResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
    Tool,
)

from sliphook import CommandOffer, ToolOffer
from sliphook.adapters.relayed.messages import Called
from sliphook_sdk.protocol.weight import weigh

ARGUMENT: Final = "arguments"
"""The one argument of a prompt: the text behind a slash command."""


def tool(offer: ToolOffer) -> Tool:
    """A tool as the client lists it."""
    return Tool(
        name=offer.name, description=offer.description or None, input_schema=offer.input_schema
    )


def prompt(offer: CommandOffer) -> Prompt:
    """A slash command as the client lists it."""
    argument = PromptArgument(
        name=ARGUMENT, description="What stands behind the command.", required=False
    )
    return Prompt(name=offer.name, description=offer.description or None, arguments=[argument])


def prompted(text: str) -> GetPromptResult:
    """What a command has said, as a message of the user."""
    content = TextContent(type="text", text=text)
    return GetPromptResult(messages=[PromptMessage(role="user", content=content)])


def result(called: Called) -> CallToolResult:
    """What the client reads of a call: the parts, or else the text, then the texts of plugins.

    Structured content is sent only if the text is the same as JSON: some clients (Claude Code,
    Codex) show the model nothing else then. It is an object: up to 2025-11-25 it may be nothing
    else.
    """
    blocks: list[dict[str, Any]] = msgspec.to_builtins(called.parts or []) or [
        _text(called.content)
    ]
    blocks += [_text(text) for text in called.context]
    found: dict[str, Any] = {"content": blocks, "isError": called.is_error}
    if called.data is not None and len(blocks) == 1 and _says(blocks[0].get("text"), called.data):
        found["structuredContent"] = called.data
    return CallToolResult.model_validate(found)


def _says(text: str | None, data: object) -> bool:
    """Whether the text is this object as JSON; one with more values than data may have is not."""
    said = (text or "").encode()
    if weigh(said).excess is not None:
        return False
    try:
        found: object = msgspec.json.decode(said)
    except (msgspec.DecodeError, RecursionError):
        return False
    return isinstance(found, dict) and found == data


def failed(why: str) -> CallToolResult:
    """A call that could not be made, as the model reads it."""
    return CallToolResult.model_validate({"content": [_text(why)], "isError": True})


class Steps:
    """The numbers of a call's progress, which must grow, although a plugin's need not."""

    def __init__(self) -> None:
        self._last = -math.inf
        self._total: float | None = None

    def next(self, fraction: float | None) -> tuple[float, float | None]:
        """Progress and total. As long as no fraction is known, the steps are counted."""
        if fraction is not None:
            wanted, self._total = fraction, 1.0
        else:
            wanted = self._last if self._total is not None else max(self._last, 0.0) + 1.0
        self._last = max(wanted, math.nextafter(self._last, math.inf))
        return self._last, self._total


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
