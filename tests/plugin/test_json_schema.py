"""A tool's arguments against its schema; the schema is a plugin's and may be anything."""

from __future__ import annotations

import http.server
import threading
from typing import Any

import pytest

from sliphook.plugin.json_schema import why_arguments_do_not_fit

CITY = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["city"],
}


@pytest.mark.parametrize(
    ("arguments", "schema"),
    [
        ({}, {"type": "object"}),
        ({"anything": [1]}, {"type": "object"}),
        ({"city": "Rome", "days": [1], "more": 1}, CITY),
        ({"a": 1}, {}),
    ],
)
def test_arguments_that_fit(arguments: dict[str, Any], schema: dict[str, Any]) -> None:
    assert why_arguments_do_not_fit(arguments, schema) is None


@pytest.mark.parametrize(
    ("arguments", "schema", "why"),
    [
        ({}, CITY, "'city' is a required property"),
        ({"city": 7}, CITY, "city: 7 is not of type 'string'"),
        ({"city": "Rome", "days": [1, "two"]}, CITY, "days[1]: 'two' is not of type 'integer'"),
        ([], {"type": "object"}, "[] is not of type 'object'"),
        (
            {"x": 1},
            {"properties": {}, "additionalProperties": False},
            "Additional properties are not allowed ('x' was unexpected)",
        ),
        (
            {"x": 1},
            {"$ref": "#/$defs/s", "$defs": {"s": {"properties": {"x": {"type": "null"}}}}},
            "x: 1 is not of type 'null'",
        ),
        (
            {"x": 1},
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "properties": {"x": {"$ref": "#/d"}},
                "d": {"type": "null"},
            },
            "x: 1 is not of type 'null'",
        ),
    ],
)
def test_what_does_not_fit_is_said_so_that_the_model_can_act_on_it(
    arguments: Any, schema: dict[str, Any], why: str
) -> None:
    assert why_arguments_do_not_fit(arguments, schema) == why


def test_what_a_model_wrote_is_shown_on_one_line_and_cut() -> None:
    why = why_arguments_do_not_fit({"city": ["\n" * 1_000]}, CITY)
    assert why is not None
    assert "\n" not in why
    assert len(why) == 400


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (
            {"type": 7},
            "the tool's input_schema is broken: 7 is not valid under any of the given schemas",
        ),
        ({"properties": {"x": {"$ref": "#/nowhere"}}}, "the tool's input_schema cannot be used: "),
        ({"$ref": "#"}, "the tool's input_schema cannot be used: "),
    ],
)
def test_a_broken_schema_is_said_to_be_the_tool_s_fault(schema: dict[str, Any], why: str) -> None:
    assert str(why_arguments_do_not_fit({"x": 1}, schema)).startswith(why)


def test_no_regular_expression_of_a_schema_can_hold_the_agent() -> None:
    """Each of these would run for years."""
    evil = "^(a|a)*b$"
    text = "a" * 100
    assert why_arguments_do_not_fit({"x": text}, {"properties": {"x": {"pattern": evil}}}) is None
    assert why_arguments_do_not_fit({text: 1}, {"patternProperties": {evil: False}}) is None
    assert (
        why_arguments_do_not_fit(
            {text: 1}, {"patternProperties": {evil: {}}, "additionalProperties": False}
        )
        is None
    )
    assert (
        why_arguments_do_not_fit(
            {text: 1}, {"patternProperties": {evil: {}}, "unevaluatedProperties": False}
        )
        is None
    )


@pytest.mark.parametrize("draft", ["2020-12/schema", "2019-09/schema"])
def test_a_schema_of_a_few_lines_cannot_ask_for_a_million_steps(draft: str) -> None:
    doubling = {
        f"n{level}": {"allOf": [{"$ref": f"#/$defs/n{level + 1}"}] * 2} for level in range(60)
    }
    schema = {
        "$schema": f"https://json-schema.org/draft/{draft}",
        "$ref": "#/$defs/n0",
        "$defs": {**doubling, "n60": {}},
    }
    assert (
        why_arguments_do_not_fit({}, schema)
        == "the tool's input_schema cannot be used: it follows more than 2,000 references"
    )
    assert why_arguments_do_not_fit({}, {"$ref": "#/$defs/n0", "$defs": {"n0": {}}}) is None


def test_nothing_is_fetched_for_a_schema() -> None:
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            why = why_arguments_do_not_fit(
                {"x": 1},
                {"properties": {"x": {"$ref": f"http://127.0.0.1:{server.server_port}/schema"}}},
            )
        finally:
            server.shutdown()
            thread.join(5)
    assert str(why).startswith(
        "the tool's input_schema cannot be used: Unresolvable: http://127.0.0.1:"
    )
    assert asked == []


@pytest.mark.parametrize("draft", ["draft/2020-12/schema", "draft-07/schema#"])
def test_no_part_of_a_schema_chooses_a_draft_that_tries_regular_expressions(draft: str) -> None:
    part = {
        "$schema": f"https://json-schema.org/{draft}".replace(
            "https://json-schema.org/draft-07", "http://json-schema.org/draft-07"
        )
    }
    schema = {
        "properties": {"x": {**part, "pattern": "^(a|a)*b$"}, "y": {"$ref": "#/$defs/y"}},
        "$defs": {"y": {**part, "type": "null"}},
    }
    assert why_arguments_do_not_fit({"x": "a" * 100}, schema) is None
    assert why_arguments_do_not_fit({"y": 1}, schema) == "y: 1 is not of type 'null'"


def test_a_schema_of_a_few_kilobytes_cannot_take_minutes() -> None:
    """Each of the references searches all parts for the anchor."""
    parts = {f"p{number}": {"$anchor": f"x{number}"} for number in range(1_000)}
    schema = {"allOf": [{"$ref": f"#x{number}"} for number in range(1_000)], "$defs": parts}
    assert (
        why_arguments_do_not_fit({}, schema)
        == "the tool's input_schema cannot be used: it takes more than 0.5 s to check"
    )


def test_references_that_follow_references_of_their_own_are_left_to_the_plugin() -> None:
    doubling = {
        f"n{level}": {"allOf": [{"$ref": f"#/$defs/n{level + 1}"}] * 2} for level in range(60)
    }
    parts = {"$defs": {**doubling, "n60": {}}}
    assert (
        why_arguments_do_not_fit(
            {"x": [1]},
            {"properties": {"x": {"unevaluatedItems": False}}, "$dynamicRef": "#n0", **parts},
        )
        is None
    )
