"""Pure: what Hermes's tools return, in the protocol's shape, and errors in Hermes's."""

from __future__ import annotations

import json
from typing import Any, cast

from sliphook_sdk.protocol import ToolResult


def error_text(why: str) -> str:
    """An error as the model reads it: Hermes's own tools write it so."""
    return json.dumps({"error": why}, ensure_ascii=False)


def result_of(raw: object) -> ToolResult:
    """What a tool of Hermes returned: a text, most of them JSON, or an object with images."""
    text = raw if isinstance(raw, str) else json.dumps(raw, default=str, ensure_ascii=False)
    return ToolResult(content=text, is_error=_says_error(raw))


def failed(error: BaseException) -> ToolResult:
    """What a tool of Hermes raised."""
    return ToolResult(content=f"{type(error).__name__}: {error}", is_error=True)


def _says_error(raw: object) -> bool:
    value: Any = raw
    if isinstance(raw, str):
        if not raw.startswith("{"):
            return False
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError):
            return False
    return isinstance(value, dict) and bool(cast("dict[str, object]", value).get("error"))
