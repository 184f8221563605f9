"""What the tools of a server have promised, and what is held against them."""

from __future__ import annotations

from typing import Any

import pytest

from sliphook.adapters.mcp.output_schemas import OutputSchemas

PATTERN = {"items": {"properties": {"a": {"pattern": "^[a-z]+$"}}}}
ONE_OF_FOUR = {"items": {"oneOf": [{"required": [name]} for name in "abcd"]}}


def promised(schema: dict[str, Any]) -> OutputSchemas:
    outputs = OutputSchemas()
    outputs.list({"work": schema, "other": None})
    return outputs


def test_what_does_not_fit_is_told() -> None:
    outputs = promised({"type": "array"})
    assert outputs.why_not("work", [1]) is None
    assert outputs.why_not("work", {}) == '{} is not of type "array"'


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (PATTERN, [{"a": "abcdefgh"}] * 6_630),
        (ONE_OF_FOUR, [{"a": "x"}] * 3_978),
        ({"type": "array"}, [[1]] * 9_945),
        ({"type": "array"}, [2**1_100]),
    ],
)
def test_what_takes_too_long_to_tell_is_no_fault(schema: dict[str, Any], value: Any) -> None:
    """All of these fit."""
    assert promised(schema).why_not("work", value) is None


@pytest.mark.parametrize(
    "schema", [{"type": 5}, {"properties": {"a": {"maximum": float("inf")}}}, {"a": "x" * 70_000}]
)
def test_a_schema_that_cannot_be_used_is_none(schema: dict[str, Any]) -> None:
    assert not promised(schema).has("work")
