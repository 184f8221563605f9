"""Every quote stands on the page; every sentence of the page is quoted, or says why it is not."""

from __future__ import annotations

import re
from typing import Final

import pytest

from .says import PAGE, flat, limit, quotes, rows_of_limits, says, statements
from .untried import UNTRIED, UNTRIED_LIMITS

STATEMENTS: Final = list(statements(PAGE))
BINDS: Final = re.compile(r"\b(?:MUST|SHOULD)\b")


def rest_of(statement: str, texts: list[str]) -> str:
    """What no text quotes of a statement."""
    for text in sorted(texts, key=len, reverse=True):
        if statement in text:
            return ""
        statement = statement.replace(text, " ")
    return statement


def words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z]{2,}", text)


def test_the_page_is_not_too_long() -> None:
    assert len(PAGE.splitlines()) <= 1_400


def test_what_is_quoted_stands_on_the_page() -> None:
    page = flat(re.sub(r"^(\s*)(?:- |[0-9]+\. )", r"\1", PAGE, flags=re.MULTILINE))
    found = quotes()
    assert len([one for one in found if one.kind == "says"]) > 150
    assert [f"{one.where}: {one.text}" for one in found if one.text not in page] == []


def test_every_sentence_is_tried_or_says_why_it_cannot_be() -> None:
    texts = [one.text for one in quotes() if one.kind == "says"]
    reasons = [flat(text) for listed in UNTRIED.values() for text in listed]
    assert [one for one in STATEMENTS if len(words(rest_of(one, [*texts, *reasons]))) > 1] == []


def test_what_says_why_it_is_not_tried_stands_on_the_page_and_binds_nobody() -> None:
    for reason, listed in UNTRIED.items():
        for text in listed:
            assert any(flat(text) in one for one in STATEMENTS), f"not on the page: {text}"
            assert reason.startswith("cannot be tried: ") or not BINDS.search(text), text


def test_every_limit_is_tried() -> None:
    rows = rows_of_limits(PAGE)
    tried = {one.text for one in quotes() if one.kind == "limit"}
    assert len(rows) > 40
    assert tried <= set(rows)
    assert UNTRIED_LIMITS.keys() <= set(rows) - tried
    assert [row for row in rows if row not in tried | UNTRIED_LIMITS.keys()] == []


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("One. Two\ngoes on.\nThree:\n", ["One. Two goes on.", "Three:"]),
        ("- A list.\n  B in it.\n- C\n", ["A list.", "B in it.", "C"]),
        ("| a | b |\n| --- | --- |\n| c | d |\n", ["| a | b |", "| c | d |"]),
        ("<!-- generated: x -->\n| a |\n<!-- end -->\n\n```\nx.\n```\n\nEnd.", ["End."]),
        ("<!-- generated list: x -->\n- a.\n- b.\n\n- End.\n", ["End."]),
        ("# Head\n\n1. First.\n", ["First."]),
    ],
)
def test_the_parts_of_a_page(page: str, found: list[str]) -> None:
    assert list(statements(page)) == found


def test_a_sentence_that_no_test_quotes_is_found() -> None:
    assert rest_of("It is so. It is not.", ["It is so."]).strip() == "It is not."
    assert rest_of("It is so.", ["Here: It is so. And more."]) == ""


def test_the_marks_change_nothing() -> None:
    def test() -> None:
        pass

    assert says()(test) is test
    assert limit()(test) is test
