"""What a server asks for, as a form of ours."""

from __future__ import annotations

from typing import Any

import pytest

from sliphook.adapters.mcp.forms import form_of


def asked(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def test_what_can_be_asked_is_kept() -> None:
    number = {"type": "number", "minimum": 1, "multipleOf": 2}
    text = {"type": "string", "title": "Name", "x-shown": True}
    assert form_of(asked(["n"], n=number, s=text)) == {
        "type": "object",
        "properties": {
            "n": {"type": "number", "minimum": 1},
            "s": {"type": "string", "title": "Name"},
        },
        "required": ["n"],
    }


def test_a_titled_choice_is_a_choice_with_names() -> None:
    choice = {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "b"}]}
    form = form_of(asked([], c=choice))
    assert form is not None
    assert form["properties"]["c"] == {
        "type": "string",
        "enum": ["r", "b"],
        "enumNames": ["Red", "b"],
    }


def test_several_at_once_cannot_be_asked_for() -> None:
    several = {"type": "array", "items": {"type": "string", "enum": ["a"]}}
    text = {"type": "string"}
    form = form_of(asked([], several=several, s=text))
    assert form == {"type": "object", "properties": {"s": text}, "required": []}
    assert form_of(asked(["several"], several=several, s=text)) is None
    assert form_of(asked([], several=several)) is None


def test_without_fields_it_is_yes_or_no() -> None:
    assert form_of({"type": "object", "properties": {}}) == {"type": "boolean"}
    assert form_of({}) == {"type": "boolean"}


@pytest.mark.parametrize("kind", [["string", "null"], {"a": 1}, None, "array"])
def test_what_is_no_kind_of_field_is_none(kind: Any) -> None:
    assert form_of(asked([], a={"type": kind})) is None
