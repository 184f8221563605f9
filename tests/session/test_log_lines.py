"""How many lines one `host/log` becomes, and what is done with a text of any length for it."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.session.requests.plugin_requests import log_lines

STEERS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]")
"""Control characters, ends of lines, and what turns the direction of text."""


def test_short_fields_stand_in_the_line_and_a_traceback_line_by_line_below() -> None:
    lines = log_lines("it failed", {"tries": 2, "trace": "Traceback\r\n  here\n", "of": "disk"})
    assert lines == ['it failed {"tries":2,"of":"disk"}', "  Traceback", "    here"]


def test_of_a_message_fifty_lines_are_kept_and_the_last_says_how_many_are_not() -> None:
    assert log_lines("x", {"trace": "a\n" * 49}) == ["x", *["  a"] * 49]
    assert log_lines("x", {"trace": "a\n" * 60}) == [
        "x",
        *["  a"] * 48,
        "  [cut: 12 more lines]",
    ]


def test_lines_count_over_all_fields() -> None:
    lines = log_lines("x", {f"k{index}": "\n" * 50 for index in range(560)})
    assert len(lines) == 50
    assert (lines[0], lines[-1]) == ("x [cut: 528 more fields]", "  [cut: 1,552 more lines]")


class CountedText(str):
    """A text that notes into how many pieces it was split."""

    pieces = 0

    def removesuffix(self, suffix: str, /) -> str:
        return self

    def split(self, sep: str | None = None, maxsplit: int = -1) -> list[str]:  # type: ignore[override]
        found = super().split(sep, maxsplit)
        CountedText.pieces += len(found)
        return found


def test_no_text_is_split_further_than_it_is_shown() -> None:
    CountedText.pieces = 0
    log_lines("x", {f"k{index}": CountedText("ab\n" * 100_000) for index in range(5)})
    assert CountedText.pieces <= 50 + 5  # the rest of each is one piece


@pytest.mark.parametrize("text", ["\n" * 1_000_000, "a" * 1_000_000, "\x01" * 1_000_000])
def test_a_line_has_an_end(text: str) -> None:
    lines = log_lines(text, {"a": text, "b": [text[:100]]})
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 2_000 + 600


@given(
    st.text(max_size=30),
    st.dictionaries(st.text(max_size=5), st.text(max_size=40) | st.integers(), max_size=60),
)
def test_whatever_a_plugin_logs_each_line_is_one_line(
    message: str, fields: dict[str, str | int]
) -> None:
    fields = msgspec.json.decode(msgspec.json.encode(fields))
    lines = log_lines(message, fields)
    assert 1 <= len(lines) <= 50
    assert not [line for line in lines if STEERS.search(line)]
