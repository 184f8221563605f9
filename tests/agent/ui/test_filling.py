"""What a user is asked, line after line, and what the lines mean."""

from __future__ import annotations

from typing import Any

import pytest

from sliphook import AskRequest
from sliphook.agent.ui.filling import FilledForm
from sliphook.session.questions.form import read_form


def asked(schema: dict[str, Any] | None, prompt: str = "Where to?") -> FilledForm:
    return FilledForm(
        AskRequest(
            session_id="s-1",
            turn_id="t-1",
            question_id="q-1",
            call_id=None,
            plugin="deploy",
            prompt=prompt,
            form=read_form(schema),
        )
    )


SERVER = {"type": "string", "enum": ["a", "b"], "enumNames": ["Aachen", "Bonn"]}
WHERE = {
    "type": "object",
    "properties": {
        "server": {**SERVER, "title": "Server"},
        "times": {"type": "integer", "minimum": 1, "maximum": 3, "default": 2},
        "mail": {"type": "string", "format": "email", "description": "who is told"},
        "sure": {"type": "boolean"},
    },
    "required": ["server", "sure"],
}


def test_the_fields_of_an_object_one_after_the_other() -> None:
    form = asked(WHERE)
    shown: list[str] = []
    for line in ("Bonn", "", "", "y"):
        assert not form.over
        shown.append(form.question.text())
        assert form.take(f"{line}\n") is None
    assert (form.over, form.answer) == (True, {"server": "b", "times": 2, "sure": True})
    assert shown == [
        "deploy asks: Where to?\n  1  a: Aachen\n  2  b: Bonn\nServer: [1 to 2]",
        "times: [a whole number, empty: 2]",
        "who is told\nmail: [email, may be empty]",
        "sure: [y/n]",
    ]


@pytest.mark.parametrize(
    ("schema", "line", "answer"),
    [
        (None, "  as you like ", "as you like"),
        (SERVER, "a", "a"),
        (SERVER, "aachen", "a"),
        (SERVER, "2", "b"),
        ({"type": "string", "enum": ["2", "1"]}, "1", "1"),
        ({"type": "integer"}, "-5", -5),
        ({"type": "number"}, "2.5", 2.5),
        ({"type": "number"}, "2", 2),
        ({"type": "boolean"}, "No", False),
        ({"type": "boolean", "default": True}, "", True),
        ({"type": "integer", "default": "x"}, "", None),
        (None, "", None),
        ({"type": "boolean"}, "", None),
    ],
)
def test_a_line_for_one_value(schema: dict[str, Any] | None, line: str, answer: object) -> None:
    form = asked(schema)
    assert form.take(line) is None
    assert (form.over, form.answer) == (True, answer)


@pytest.mark.parametrize(
    ("schema", "line", "why"),
    [
        (SERVER, "3", '"3" is not one of "a" or "b"'),
        (SERVER, "c", '"c" is not one of "a" or "b"'),
        ({"type": "integer"}, "five", "please answer a whole number"),
        ({"type": "integer"}, "true", "please answer a whole number"),
        ({"type": "integer"}, "1" * 5_000, "please answer a whole number"),
        ({"type": "integer", "maximum": 3}, "4", "4 is greater than the maximum of 3"),
        ({"type": "number"}, "NaN", "please answer a number"),
        ({"type": "number"}, "[1]", "please answer a number"),
        ({"type": "boolean"}, "perhaps", "please answer y or n"),
        ({"type": "string", "maxLength": 3}, "\x1b[2Jx", '"\\x1b[2Jx" is longer than 3 characters'),
    ],
)
def test_what_is_not_taken_leaves_the_question_open(
    schema: dict[str, Any], line: str, why: str
) -> None:
    form = asked(schema)
    said = form.take(line)
    assert said is not None
    assert why.replace("\\x1b", "") in said.replace("\\u001b", "").replace("\\x1b", "")
    assert "\x1b" not in said
    assert (form.over, form.answer) == (False, None)


def test_texts_of_a_plugin_do_not_steer_the_terminal() -> None:
    evil = "a\x1b[2J\nb\u202e"
    form = asked(
        {
            "type": "object",
            "properties": {
                evil: {
                    "type": "string",
                    "title": evil,
                    "description": evil,
                    "enum": [evil],
                    "enumNames": [evil + "c"],
                    "format": evil,
                    "default": evil,
                }
            },
        },
        evil,
    )
    for line in form.question.text().split("\n"):
        assert line.isprintable(), line
    assert len(form.question.text().split("\n")) == 4


def test_to_decline_ends_it_in_the_middle() -> None:
    form = asked(WHERE)
    form.take("a")
    form.decline()
    assert (form.over, form.answer) == (True, None)
