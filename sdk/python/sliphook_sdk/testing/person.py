"""What a person may answer to a question of a plugin, as the host checks it.

The schemas of questions are flat: one value, or an object of such values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast


def why_no_answer(answer: Any, schema: Mapping[str, Any] | None) -> str | None:
    """Why `answer` is none to a question with this schema, in words behind it; None if it is one.

    `format` is for people and is not checked.
    """
    schema = {"type": "string"} if schema is None else schema
    kind = schema.get("type")
    if kind == "object":
        return _why_no_object(answer, schema)
    if kind == "string":
        return _why_no_text(answer, schema)
    if kind == "boolean":
        return None if isinstance(answer, bool) else "is no boolean"
    return _why_no_number(answer, schema, whole=kind == "integer")


def _why_no_object(answer: Any, schema: Mapping[str, Any]) -> str | None:
    if not isinstance(answer, dict):
        return "is no object"
    properties: dict[str, Any] = schema.get("properties", {})
    values = cast("dict[str, Any]", answer)
    for name in schema.get("required", ()):
        if name not in values:
            return f"lacks {name!r}"
    for name, value in values.items():
        if name not in properties:
            return f"has {name!r}, which is not asked for"
        why = why_no_answer(value, properties[name])
        if why is not None:
            return f"has a {name!r} that {why}"
    return None


def _why_no_text(answer: Any, schema: Mapping[str, Any]) -> str | None:
    if not isinstance(answer, str):
        return "is no text"
    if answer not in schema.get("enum", (answer,)):
        return f"is not one of {', '.join(schema['enum'])}"
    if not schema.get("minLength", 0) <= len(answer) <= schema.get("maxLength", len(answer)):
        return f"has {len(answer):,} characters"
    return None


def _why_no_number(answer: Any, schema: Mapping[str, Any], *, whole: bool) -> str | None:
    if isinstance(answer, bool) or not isinstance(answer, (int, float)):
        return "is no number"
    if whole and answer % 1 != 0:
        return "is no integer"
    step = schema.get("multipleOf")
    if (
        answer < schema.get("minimum", answer)
        or answer > schema.get("maximum", answer)
        or ("exclusiveMinimum" in schema and answer <= schema["exclusiveMinimum"])
        or ("exclusiveMaximum" in schema and answer >= schema["exclusiveMaximum"])
        or (step is not None and answer % step != 0)
    ):
        return "is out of the bounds"
    return None
