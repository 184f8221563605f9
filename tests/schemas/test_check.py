"""A tool's arguments against its schema; the schema is a plugin's and may be anything."""

from __future__ import annotations

import http.server
import itertools
import threading
from pathlib import Path
from typing import Any

import pytest

from sliphook.schemas import (
    SchemaError,
    TooManySchemas,
    check,
    check_schema,
    why_arguments_do_not_fit,
)
from tests.docs.protocol_sentences.says import says

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
        ({}, CITY, '"city" is a required property'),
        ({"city": 7}, CITY, 'city: 7 is not of type "string"'),
        ({"city": "Rome", "days": [1, "two"]}, CITY, 'days[1]: "two" is not of type "integer"'),
        ([], {"type": "object"}, '[] is not of type "object"'),
        (
            {"x": 1},
            {"properties": {}, "additionalProperties": False},
            "Additional properties are not allowed ('x' was unexpected)",
        ),
        (
            {"x": 1},
            {"$ref": "#/$defs/s", "$defs": {"s": {"properties": {"x": {"type": "null"}}}}},
            'x: 1 is not of type "null"',
        ),
        (
            {"x": 1},
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "properties": {"x": {"$ref": "#/d"}},
                "d": {"type": "null"},
            },
            'x: 1 is not of type "null"',
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


BROKEN: list[tuple[dict[str, Any], str]] = [
    (
        {"type": 7},
        "type is 7; it must be one of array, boolean, integer, null, number, object, string,"
        " or a list of them",
    ),
    (
        {"properties": {"x": {"type": "sting"}}},
        'properties.x.type is "sting"; it must be one of array, boolean, integer, null,'
        " number, object, string, or a list of them; did you mean string?",
    ),
    ({"properties": []}, "properties is a list; it must be an object of schemas"),
    (
        {"properties": {"x": {"items": "string"}}},
        "properties.x.items is text; it must be a schema, which is an object",
    ),
    (
        {"properties": {"x": {"items": [{}]}}},
        "properties.x.items is a list; in draft 2020-12 a list of schemas is prefixItems",
    ),
    (
        {"properties": {"x": {"$ref": "#/nowhere"}}},
        "properties.x.$ref leads to #/nowhere, where there is nothing",
    ),
    (
        {"$ref": "#"},
        "$ref leads back to itself without going into a property or an item, which never ends",
    ),
    (
        {"$dynamicRef": "#x"},
        "$dynamicRef is not followed here; refer with $ref to a part under $defs",
    ),
    (
        {"properties": {"x": {"pattern": "a(b"}}},
        "properties.x.pattern a(b has a ( that no ) closes",
    ),
    (
        {"properties": {"x": {"pattern": "\\p{Nonsense}"}}},
        "properties.x.pattern \\p{Nonsense} is not taken: it is no regular expression of JSON"
        " Schema, or would be too large",
    ),
    ({"required": ["a", 1]}, 'required is ["a",1]; it must be a list of names'),
    (
        {"allOf": [True], "properties": {"x": {"$ref": "#/allOf/" + "0" * 5_000}}},
        "properties.x.$ref leads to #/allOf/" + "0" * 71 + "…, where there is nothing",
    ),
]


@pytest.mark.parametrize(("schema", "why"), BROKEN)
def test_a_schema_that_cannot_be_used_is_refused_with_its_place(
    schema: dict[str, Any], why: str
) -> None:
    with pytest.raises(SchemaError) as refused:
        check_schema(schema)
    assert str(refused.value) == why
    assert why_arguments_do_not_fit({"x": 1}, schema) is not None


@pytest.mark.parametrize(
    ("expression", "taken"),
    [
        (r"^[a-z]{{1,20}}{0}$", 80),
        (r"^https?://[a-z]+\.[a-z]+/{0}$", 35),
        (r"\p{{L}}+{0}", 14),
        (r"[^a{0}]" * 20, 8),
        ("a" * 900 + "{0}", 2),
        ("[^a]{{99}}{0}", 12),
        (r"\S{{40}}{0}", 25),
        (r"(?:(?:a|b|c){{10}}){{10}}{0}", 15),
        ("(?i)a{{999}}{0}", 12),
        ("(?i)^[a-z0-9.-]+-[a-z]{{2}}{0}$", 40),
        ("(?i)[{0}-\U0010ffff]", 2),
        ("(?si:[a-\u3000]{0})", 2),
        (r"(?i)[\x00-\u{{10FFFF}}]{0}", 2),
        (r"(?i)\p{{L}}{0}", 2),
        ("(?ix)[a - \u3000]{0}", 2),
    ],
)
def test_expressions_of_a_schema_count_by_what_they_take(expression: str, taken: int) -> None:
    def schema(many: int) -> dict[str, Any]:
        return {"patternProperties": {expression.format(10 + one): {} for one in range(many)}}

    assert check_schema(schema(taken)) <= 700
    with pytest.raises(SchemaError, match="more than 700 schemas, expressions counted"):
        check_schema(schema(2 * taken))


@pytest.mark.parametrize(
    ("part", "counts"),
    [
        (True, 1),
        ({"type": "string", "title": "t", "description": "d", "default": "", "enum": [""]}, 1),
        (dict.fromkeys(["title", "description", "$comment", "format", "default", "const"], ""), 2),
        ({"$ref": "#/$defs/a"}, 2),
        ({"$anchor": "here"}, 2),
        ({"$id": "here"}, 2),
    ],
)
def test_a_schema_counts_by_what_it_takes_to_read(part: Any, counts: int) -> None:
    assert check_schema({"$defs": {"a": {}}, "properties": {"x": part}}) == 2 + counts


@pytest.mark.parametrize("keyword", ["$id", "$ref"])
def test_addresses_count_by_their_length(keyword: str) -> None:
    def schema(address: str, parts: int) -> dict[str, Any]:
        named = {f"p{one}": {keyword: f"x{one}"} for one in range(parts)}
        others = {f"d{one}": {"$id": f"x{one}"} for one in range(parts)}
        defs = others if keyword == "$ref" else {}
        return {"$id": address, "properties": named, "$defs": defs}

    assert check_schema(schema("https://example.com/schemas/all.json", 40)) <= 200
    with pytest.raises(SchemaError, match="more than 700 schemas, expressions counted"):
        check_schema(schema("http://h/" + "../" * 5_000, 40))


@pytest.mark.parametrize("text", ["a{²}", "a{1,²}", "a{٣}", "a{1,٣}"])
def test_other_digits_than_those_of_ascii_repeat_nothing(text: str) -> None:
    with pytest.raises(SchemaError, match="is not taken"):
        check_schema({"pattern": text})


def test_a_schema_is_read_no_further_than_the_caller_allows() -> None:
    schema = {"properties": {f"k{one}": {"type": "string"} for one in range(100)}}
    assert check_schema(schema, at_most=101) == 101
    with pytest.raises(TooManySchemas, match="more than 100 schemas"):
        check_schema(schema, at_most=100)
    # a fault behind that is not found any more
    schema["properties"]["k0"] = {"type": "no"}
    with pytest.raises(TooManySchemas):
        check_schema(schema, at_most=50)


def test_an_unknown_draft_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(SchemaError, match=r"2020-12/schema.*draft-07"):
        check_schema({"$schema": "https://json-schema.org/draft/2030-01/schema"})


@says(
    "A check that takes longer than 8 ms of the processor is given up, and the model is told to send"
    " less: where many alternatives (`anyOf`) are nested, or thousands of objects come.",
)
@pytest.mark.parametrize("draft", ["2020-12/schema", "2019-09/schema"])
def test_a_schema_of_a_few_lines_cannot_ask_for_a_million_steps(draft: str) -> None:
    doubling = {
        f"n{level}": {"allOf": [{"$ref": f"#/$defs/n{level + 1}"}] * 2} for level in range(20)
    }
    schema = {
        "$schema": f"https://json-schema.org/draft/{draft}",
        "$ref": "#/$defs/n0",
        "$defs": {**doubling, "n20": {}},
    }
    assert (
        why_arguments_do_not_fit({}, schema)
        == "they take too long to check against this schema; send fewer or shorter values"
    )
    assert why_arguments_do_not_fit({}, {"$ref": "#/$defs/n0", "$defs": {"n0": {}}}) is None


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_nothing_is_fetched_for_a_schema(scheme: str, tmp_path: Path) -> None:
    (tmp_path / "schema").write_text("{}")
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
        place = f"//127.0.0.1:{server.server_port}" if scheme == "http" else f"//{tmp_path}"
        try:
            why = why_arguments_do_not_fit(
                {"x": 1}, {"properties": {"x": {"$ref": f"{scheme}:{place}/schema"}}}
            )
        finally:
            server.shutdown()
            thread.join(120)
    assert "which is not inside of this schema, and nothing is fetched" in str(why)
    assert asked == []


@pytest.mark.parametrize("draft", ["draft/2020-12/schema", "draft-07/schema#"])
def test_no_part_of_a_schema_chooses_another_draft(draft: str) -> None:
    part: dict[str, Any] = {"$schema": f"https://json-schema.org/{draft}", "items": [{}]}
    with pytest.raises(SchemaError, match=r"^properties\.x\.items is a list; in draft 2020-12"):
        check_schema({"properties": {"x": part}})


def test_a_thousand_anchors_are_found_as_quickly_as_one() -> None:
    parts = {f"p{number}": {"$anchor": f"x{number}"} for number in range(170)}
    schema = {"allOf": [{"$ref": f"#x{number}"} for number in range(170)], "$defs": parts}
    assert why_arguments_do_not_fit({}, schema) is None


def test_multiples_of_a_tiny_number_take_long() -> None:
    """The fraction of 1e-300 has 300 digits, and 12 us are too much for each of 2,000 items."""
    why = why_arguments_do_not_fit([0.5] * 2_000, {"items": {"multipleOf": 1e-300}})
    assert why == "they take too long to check against this schema; send fewer or shorter values"
    assert why_arguments_do_not_fit([0.5] * 300, {"items": {"multipleOf": 1e-300}}) is None


def test_a_machine_that_stands_still_for_a_while_refuses_no_ordinary_arguments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a virtual machine the thread's clock counts while another machine has the processor."""
    looks = itertools.count()
    monkeypatch.setattr(check, "thread_time_ns", lambda: next(looks) * 50_000_000)
    edit = {
        "type": "object",
        "properties": {"path": {"type": "string", "pattern": "^[a-z/]+$"}, "n": {"type": "number"}},
        "required": ["path"],
    }
    schema = {"type": "object", "properties": {"edits": {"type": "array", "items": edit}}}
    edits = [{"path": "a/b", "n": number} for number in range(20)]
    assert why_arguments_do_not_fit({"edits": edits}, schema) is None
    different = {"type": "array", "items": {"uniqueItems": True}}
    assert why_arguments_do_not_fit([[1, 2, 3]] * 20, different) is None
    why = why_arguments_do_not_fit([list(range(5_000))], different)
    assert why == "they take too long to check against this schema; send fewer or shorter values"
