"""What a `config_schema` says of the settings, whatever a plugin has written there."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.registry.settings_schema import line_of, settings_of, unknown_setting


class Nested(msgspec.Struct):
    depth: int = 1


class Config(msgspec.Struct):
    token: str
    limit: int = 5
    words: list[str] | None = None
    nested: Nested = msgspec.field(default_factory=Nested)


def test_a_struct_of_the_sdk_is_told_in_lines() -> None:
    lines = [line_of(name, one) for name, one in settings_of(msgspec.json.schema(Config)).items()]
    assert lines == [
        "token, string, required",
        "limit, integer, default 5",
        "words, array or null, default null",
        "nested, object, default none",
    ]


@pytest.mark.parametrize(
    ("part", "line"),
    [
        ({"enum": ["a", 1], "description": "which"}, 'x, one of "a", 1, default none: which'),
        ({"type": ["string", "null"]}, "x, string or null, default none"),
        (True, "x, any, default none"),
        ({"$ref": "#/$defs/missing"}, "x, any, default none"),
        ({"$ref": "#/properties/x"}, "x, any, default none"),
        ({"type": 3, "default": {"a": [1]}}, 'x, any, default {"a":[1]}'),
    ],
)
def test_any_part_of_a_schema_has_a_line(part: object, line: str) -> None:
    (setting,) = settings_of({"properties": {"x": part}}).values()
    assert line_of("x", setting) == line


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (None, None),
        ({}, None),
        ({"properties": {}}, None),
        ({"properties": {"limit": {}}}, "there is no setting limt; did you mean limit?"),
        ({"properties": {"limit": {}}, "additionalProperties": True}, None),
        ({"properties": {"limit": {}}, "additionalProperties": {"type": "string"}}, None),
        ({"properties": {"limit": {}}, "patternProperties": {"^l": {}}}, None),
        ({"properties": {"limit": {}}, "anyOf": [{"required": ["limt"]}]}, None),
    ],
)
def test_a_setting_is_unknown_if_the_schema_names_all(
    schema: dict[str, Any] | None, why: str | None
) -> None:
    assert unknown_setting("limt", schema) == why


KEYWORDS = st.sampled_from(
    ["$ref", "$defs", "properties", "required", "type", "enum", "anyOf", "x"]
)
SCHEMAS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["#/$defs/x", "#/x", "string"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4),
)


@given(st.dictionaries(KEYWORDS, SCHEMAS))
def test_no_schema_breaks_it(schema: dict[str, Any]) -> None:
    for name, setting in settings_of(schema).items():
        assert line_of(name, setting).startswith(f"{name}, ")
    unknown_setting("y", schema)
