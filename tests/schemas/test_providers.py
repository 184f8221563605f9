"""What providers of models refuse in a tool is found before it is sent, or in their errors."""

from __future__ import annotations

from typing import Any

import pytest

from sliphook.schemas import blamed_tool, tool_for, why_tool_is_refused

CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}
CHOICE = {"anyOf": [{"required": ["city"]}, {"required": ["place"]}]}


@pytest.mark.parametrize(
    ("provider", "name", "schema", "why"),
    [
        ("anthropic", "price", CITY, None),
        ("openai", "price", CITY, None),
        ("scripted", "x y", {}, None),
        ("openai", "price", {}, None),
        (
            "openai",
            "a.b",
            CITY,
            "its name must be 1 to 64 letters of A to Z, digits, _ and -",
        ),
        (
            "anthropic",
            "price",
            {"properties": {"größe": {}}},
            "its parameter größe must be named with 1 to 64 letters of A to Z, digits, _, . and -",
        ),
        ("openai", "price", {"properties": {"größe": {}}}, None),
        (
            "anthropic",
            "price",
            {"properties": []},
            "properties of its input_schema must be an object",
        ),
        ("openai", "price", {"type": "array"}, 'its input_schema must have "type": "object"'),
        (
            "openai",
            "price",
            {"oneOf": [CITY, {}]},
            "its input_schema has oneOf at the top and no properties; give it an object with"
            " properties",
        ),
        ("openai", "price", CITY | CHOICE, None),
    ],
)
def test_what_a_provider_refuses_is_known(
    provider: str, name: str, schema: dict[str, Any], why: str | None
) -> None:
    assert why_tool_is_refused(provider, name, schema) == why


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_choice_at_the_top_is_not_sent_and_an_object_says_so(provider: str) -> None:
    properties = {"properties": {"city": {"type": "string"}}}
    assert tool_for(provider, "d", {**properties, **CHOICE}) == (
        "d",
        {"type": "object", **properties},
    )
    assert tool_for("scripted", "d", CHOICE) == ("d", CHOICE)


def test_openai_gets_a_thousand_characters_of_a_description() -> None:
    assert tool_for("openai", "d" * 2_000, CITY) == ("d" * 1_023 + "…", CITY)
    assert tool_for("anthropic", "d" * 2_000, CITY) == ("d" * 2_000, CITY)


@pytest.mark.parametrize(
    ("refusal", "name"),
    [
        ("400: tools.1.custom.input_schema.properties: Property keys should match", "b"),
        ("Invalid 'tools[0].function.name': string does not match pattern", "a"),
        ("Invalid schema for function 'b': array schema missing items.", "b"),
        ("tools.9.custom: out of range", None),
        ("the model 'a' does not exist", None),
        ("Invalid schema for function 'other'", None),
    ],
)
def test_the_tool_that_an_error_names_is_found(refusal: str, name: str | None) -> None:
    assert blamed_tool(refusal, ["a", "b"]) == name
