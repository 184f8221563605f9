"""Pure: what a server's result is for us: a text, parts and data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from sliphook_sdk.protocol import Part, ToolResult
from sliphook_sdk.protocol.limits import (
    MAX_MESSAGE_BYTES,
    MAX_MESSAGE_VALUES,
    MAX_RESULT_PARTS,
)
from sliphook_sdk.protocol.parts import shown, why_not
from sliphook_sdk.protocol.weight import weigh

_ENVELOPE_BYTES: Final = 1_024
_MOST_VALUES: Final = MAX_MESSAGE_VALUES - 100
_CUT_CHARS: Final = 100_000
"""A text is cut here if it is too large; a character may take six bytes in JSON."""
_PART: Final = msgspec.json.Decoder(Part)


def tool_result(
    content: Sequence[dict[str, Any] | msgspec.Raw], structured: Any, is_error: bool
) -> ToolResult:
    """The result of `tools/call`: its content blocks as parts, its structured content as data.

    A block that cannot be a part becomes a text that says so. The model reads the structured
    content as JSON if there is no block. What is too large for one result is left out, and a text
    says so: the structured content first, then what is no text, then the end of the text.
    """
    parts = [_part(block) for block in content[:MAX_RESULT_PARTS]]
    left_out = len(content) - len(parts)
    if left_out:
        parts[-1] = _note(f"{left_out + 1} more parts are left out")
    if not parts and structured is not None:
        parts = [Part(type="text", text=json.dumps(structured, ensure_ascii=False))]
    result = _result(parts, structured, is_error)
    if _fits(result):
        return result
    if structured is not None:
        parts.append(_note("the structured content is left out: it is too large"))
        result = _result(parts, None, is_error)
    if not _fits(result):
        smaller = [_note(f"{shown(one)}: too large") if _holds_bytes(one) else one for one in parts]
        result = _result(smaller, None, is_error)
    if not _fits(result):
        text = f"{result.content[:_CUT_CHARS]}\n[the rest is left out: it is too large]"
        result = ToolResult(content=text, is_error=is_error)
    return result


def _result(parts: list[Part], structured: Any, is_error: bool) -> ToolResult:
    texts = [text for part in parts if (text := _text(part)) is not None]
    plain = all(part.type == "text" for part in parts)
    return ToolResult(
        content="\n".join(texts),
        data=structured,
        is_error=is_error,
        parts=msgspec.UNSET if plain else parts,
    )


def _fits(result: ToolResult) -> bool:
    body = msgspec.json.encode(result)
    return len(body) <= MAX_MESSAGE_BYTES - _ENVELOPE_BYTES and weigh(body).values < _MOST_VALUES


def _holds_bytes(part: Part) -> bool:
    return part.data is not None or part.resource is not None


def _note(text: str) -> Part:
    return Part(type="text", text=f"[{text}]")


def _text(part: Part) -> str | None:
    """What the model reads of a part that it does not take; None if that is only its kind."""
    if part.type == "resource_link":
        return f"{part.name}: {part.uri}"
    return part.resource.text if part.resource is not None else part.text


def _part(block: dict[str, Any] | msgspec.Raw) -> Part:
    try:
        part = _PART.decode(msgspec.json.encode(block))
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        return _note(f"a part is left out: {exc}")
    why = why_not([part])
    return part if why is None else _note(f"a part is left out: {why}")
