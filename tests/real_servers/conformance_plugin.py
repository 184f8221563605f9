#!/usr/bin/env python3
"""What MCP's conformance suite asks of a server, as a plugin: tools, a question, a prompt."""

from __future__ import annotations

import base64
from typing import Any, Final

from sliphook_sdk import Context, Image, Plugin, ToolError, ToolResult
from sliphook_sdk.protocol.parts import Part, Resource

_PNG: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
_AUDIO: Final = Part(type="audio", mime_type="audio/wav", data="UklGRiQAAABXQVZF")
_IMAGE: Final = Part(type="image", mime_type="image/png", data=base64.b64encode(_PNG).decode())
_FILE: Final = Part(
    type="resource", resource=Resource(uri="test://a", mime_type="text/plain", text="a file")
)
_PERSON: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"username": {"type": "string"}, "email": {"type": "string"}},
    "required": ["username", "email"],
}
_STATUSES: Final = ["active", "inactive", "pending"]
_DEFAULTS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": _STATUSES, "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
_REFERS: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}

plugin = Plugin("conformance", uses=["ask"])


def _in_parts(*parts: Part) -> ToolResult:
    return ToolResult(content="", parts=list(parts))


@plugin.tool
def test_simple_text() -> str:
    """A text."""
    return "a text"


@plugin.tool
def test_image_content() -> Image:
    """An image."""
    return Image(_PNG)


@plugin.tool
def test_audio_content() -> ToolResult:
    """Audio."""
    return _in_parts(_AUDIO)


@plugin.tool
def test_embedded_resource() -> ToolResult:
    """A file."""
    return _in_parts(_FILE)


@plugin.tool
def test_multiple_content_types() -> ToolResult:
    """A text, an image and a file."""
    return _in_parts(Part(type="text", text="three parts"), _IMAGE, _FILE)


@plugin.tool
def test_error_handling() -> str:
    """An error."""
    raise ToolError("this tool always fails")


@plugin.tool
def test_tool_with_progress(ctx: Context) -> str:
    """Progress, three times."""
    for done in (0.0, 0.5, 1.0):
        ctx.progress(fraction=done)
        ctx.wait(0.2)  # ten a second pass
    return "done"


@plugin.tool
def test_elicitation(message: str, ctx: Context) -> str:
    """A question."""
    return ctx.ask(message, _PERSON).outcome


@plugin.tool
def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """A question whose fields have defaults."""
    return ctx.ask("Who is it?", _DEFAULTS).outcome


@plugin.tool(schema=_REFERS)
def json_schema_2020_12_tool(arguments: dict[str, Any]) -> str:
    """A tool whose schema refers to a part of itself."""
    return repr(arguments)


@plugin.command
def test_simple_prompt(arguments: str) -> str:
    """A prompt."""
    return arguments or "a prompt"


if __name__ == "__main__":
    plugin.run()
