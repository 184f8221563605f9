"""What an answer to a question has to be: which schemas are taken, and what fits them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sliphook.schemas import SchemaError
from sliphook.session.questions.form import YES_OR_NO, read_form
from sliphook_sdk.testing.person import why_no_answer
from tests.docs.protocol_sentences.says import limit, says

WHERE = {
    "type": "object",
    "title": "Deploy",
    "properties": {
        "server": {"type": "string", "enum": ["a", "b"], "enumNames": ["Aachen", "Bonn"]},
        "times": {"type": "integer", "minimum": 1, "maximum": 3, "default": 1},
        "share": {"type": "number", "description": "0 to 1"},
        "sure": {"type": "boolean"},
        "mail": {"type": "string", "format": "email", "maxLength": 20},
    },
    "required": ["server", "sure"],
}


@says(
    "`schema` is a `string` (with `enum`, `enumNames`, `format` or a length), a `number` or"
    " `integer` (with bounds), a `boolean`, or an object of such `properties`, as in MCP's"
    " elicitation; else -32602."
)
def test_an_object_of_flat_values() -> None:
    form = read_form(WHERE)
    assert form.is_object
    assert [(one.name, one.kind, one.required, one.choice_names) for one in form.fields] == [
        ("server", "string", True, ("Aachen", "Bonn")),
        ("times", "integer", False, ()),
        ("share", "number", False, ()),
        ("sure", "boolean", True, ()),
        ("mail", "string", False, ()),
    ]
    assert form.why_not({"server": "a", "sure": True, "times": 2}) is None
    assert form.why_not({"server": "Aachen", "sure": True}) is not None
    assert form.why_not({"server": "a", "sure": True, "more": 1}) is not None
    assert form.why_not({"server": "a"}) is not None
    assert form.why_not("a") is not None
    assert form.fields[1].why_not(4) is not None


ANSWERS: list[dict[str, Any]] = json.loads(
    (Path(__file__).resolve().parents[1] / "vectors" / "answers_of_people.json").read_text("utf-8")
)


@pytest.mark.parametrize("row", ANSWERS, ids=lambda row: json.dumps(row["schema"])[:60])
def test_the_host_and_the_harness_take_the_same_answers(row: dict[str, Any]) -> None:
    """The harness of Node reads the same file."""
    form = read_form(row["schema"])
    for fits in (True, False):
        for answer in row["fits" if fits else "fits_not"]:
            assert (form.why_not(answer) is None) == fits, answer
            assert (why_no_answer(answer, row["schema"]) is None) == fits, answer


def test_one_value() -> None:
    assert read_form(None).why_not("anything") is None
    assert read_form(None).why_not(5) is not None
    (field,) = read_form({"type": "integer"}).fields
    assert (field.name, field.required, field.why_not(5), field.why_not(True) is None) == (
        None,
        True,
        None,
        False,
    )


@limit("the properties in the schema of a question; the values of one `enum`")
@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({}, "type is missing; it must be one of string, number, integer, boolean, object"),
        ({"type": "array"}, "type must be one of string, number, integer, boolean, object"),
        ({"type": ["string", "null"]}, "type must be one of"),
        ({"type": "object"}, "properties is empty; name what the answer has to have"),
        ({"type": "object", "properties": {}}, "properties is empty"),
        (
            {"type": "object", "properties": {"a": {"type": "object"}}},
            "properties.a.type must be one of string, number, integer, boolean",
        ),
        ({"type": "object", "properties": {"a": True}}, "properties.a.type must be one of"),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]},
            "required names b, which is not in properties",
        ),
        (
            {"type": "string", "pattern": "a*"},
            "pattern is not for questions to people; string has default, description, enum,"
            " enumNames, format, maxLength, minLength, title",
        ),
        (
            {"type": "integer", "minimun": 1},
            "minimun is not for questions to people; did you mean minimum?",
        ),
        ({"type": "string", "$ref": "#"}, "$ref leads"),
        (
            {"type": "object", "properties": {"a": {"$ref": "#"}}},
            "properties.a.type is missing; it must be",
        ),
        ({"type": "string", "enum": []}, "enum must be a list of texts"),
        ({"type": "string", "enum": None}, "enum is null"),
        ({"type": "string", "enum": [1]}, "enum must be a list of texts"),
        ({"type": "string", "enum": ["a"], "enumNames": ["A", "B"]}, "enumNames must have a name"),
        ({"type": "string", "enumNames": ["A"]}, "enumNames must have a name for each value"),
        (
            {"type": "string", "enum": [str(n) for n in range(101)]},
            "enum has more than 100 entries",
        ),
        (
            {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(33)}},
            "properties has more than 32 entries",
        ),
        ({"type": "string", "minLength": -1}, "minLength is -1; it must be a whole number from 0"),
        ({"type": "object", "properties": {"a\x1b[2J": {"type": "x"}}}, "type"),
    ],
)
def test_what_is_not_flat_is_refused_with_its_place(schema: dict[str, Any], why: str) -> None:
    with pytest.raises(SchemaError) as refused:
        read_form(schema)
    assert why in str(refused.value)


def test_an_answer_of_a_plugin_is_a_text_or_json() -> None:
    assert YES_OR_NO.read("allow") == "allow"
    assert read_form(None).read('{"a":1}') == '{"a":1}'
    assert read_form({"type": "boolean"}).read(" true") is True
    assert read_form({"type": "number"}).read("2.5") == 2.5
    whole = {"server": "b", "sure": False}
    form = read_form(WHERE)
    assert form.read(form.written(whole)) == whole


@pytest.mark.parametrize(
    ("schema", "choice", "why"),
    [
        ({"type": "string", "enum": ["a", "b"]}, "c", '"c" is not one of'),
        ({"type": "integer"}, "one", "it is no JSON"),
        ({"type": "integer"}, "1.5", "is not of type"),
        ({"type": "integer"}, "9" * 10_000, "it is no JSON"),
        ({"type": "integer"}, "[" * 9_000, "it is no JSON"),
        ({"type": "boolean"}, '"true"', "is not of type"),
        ({"type": "string"}, "x" * 10_001, "it has more than 10,000 characters"),
        (WHERE, '{"server":"a"}', '"sure" is a required property'),
        (WHERE, '{"server":"a","sure":true,"\\ud800":1}', "it is no JSON"),
    ],
)
def test_what_does_not_fit_is_no_answer(schema: dict[str, Any], choice: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)) as refused:
        read_form(schema).read(choice)
    assert len(str(refused.value)) < 500
