"""Pure: what a server's result is for us: a text, parts and data."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from sliphook_sdk.protocol import Part, ToolResult
from sliphook_sdk.protocol.limits import MAX_RESULT_PARTS
from sliphook_sdk.protocol.parts import why_not

_PART: Final = msgspec.json.Decoder(Part)


def tool_result(content: list[dict[str, Any]], structured: Any, is_error: bool) -> ToolResult:
    """The result of `tools/call`: its content blocks as parts, its structured content as data.

    A block that cannot be a part becomes a text that says so. The model reads the structured
    content as JSON if there is no block.
    """
    parts = [_part(block) for block in content[:MAX_RESULT_PARTS]]
    left_out = len(content) - len(parts)
    if left_out:
        parts[-1] = Part(type="text", text=f"[{left_out + 1} more parts are left out]")
    texts = [text for part in parts if (text := _text(part)) is not None]
    if not parts and structured is not None:
        texts = [json.dumps(structured, ensure_ascii=False)]
    if all(part.type == "text" for part in parts):
        return ToolResult(content="\n".join(texts), data=structured, is_error=is_error)
    return ToolResult(content="\n".join(texts), data=structured, is_error=is_error, parts=parts)


def _text(part: Part) -> str | None:
    """What the model reads of a part that it does not take; None if that is only its kind."""
    if part.type == "resource_link":
        return f"{part.name}: {part.uri}"
    return part.resource.text if part.resource is not None else part.text


def _part(block: dict[str, Any]) -> Part:
    try:
        part = _PART.decode(msgspec.json.encode(block))
    except msgspec.ValidationError as exc:
        return Part(type="text", text=f"[a part is left out: {exc}]")
    why = why_not([part])
    return part if why is None else Part(type="text", text=f"[a part is left out: {why}]")
