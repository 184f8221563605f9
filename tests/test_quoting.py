"""What a plugin wrote is shown on one line and steers nothing."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.quoting import quote, visible, visible_json


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("", ""),
        (b"", ""),
        ("plain text", "plain text"),
        (b'{"a":"b\\n"}', '{"a":"b\\n"}'),
        ("grüße 日本 🎉", "grüße 日本 🎉"),
        ("grüße".encode(), "grüße"),
        ("two\nlines\r\n", "two\\nlines\\r\\n"),
        ("\t\0\x07\x08\x7f", "\\t\\x00\\x07\\x08\\x7f"),
        ("\x1b[31mred\x1b]0;title\x07", "\\x1b[31mred\\x1b]0;title\\x07"),
        ("\x85\x9b2J", "\\x85\\x9b2J"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("a\u202eb\u2066c\u200fd", "a\\u202eb\\u2066c\\u200fd"),
        (b"\xef\xbb\xbf{", "\\ufeff{"),
        (b"caf\xe9 \xff\xfe", "caf\\xe9 \\xff\\xfe"),
        ("\ud800 \udcff", "\\ud800 \\xff"),
        (b"\xed\xa0\x80", "\\xed\\xa0\\x80"),
        ("soft\xadhyphen, zero\u200bwidth", "soft\\xadhyphen, zero\\u200bwidth"),
        ("\u2060\u2064\u061c\u180e", "\\u2060\\u2064\\u061c\\u180e"),
        ("\U000e0041\U000e0001\U000e0100", "\\U000e0041\\U000e0001\\U000e0100"),
        ("\u034f\u115f\u3164\uffa0\u2800", "\\u034f\\u115f\\u3164\\uffa0\\u2800"),
        ("\ufe00\ufdd0\uffff", "\\ufe00\\ufdd0\\uffff"),
    ],
)
def test_what_is_not_printable_is_escaped(data: bytes | str, shown: str) -> None:
    assert quote(data) == shown


@pytest.mark.parametrize(
    "text",
    [
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # a Persian word
        "\u0915\u094d\u200d\u0937",  # a Hindi cluster
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family
        "\u2764\ufe0f \u2764\ufe0e",
        "\u0600\u0661",  # an Arabic sign with its number
    ],
)
def test_what_scripts_and_emoji_need_stays(text: str) -> None:
    assert quote(text) == text
    assert visible(text) == text
    assert visible_json(text) == text


def test_a_text_may_have_what_this_python_does_not_know() -> None:
    assert visible("\U0001fae8") == "\U0001fae8"


def test_a_text_of_several_lines_keeps_its_lines() -> None:
    text = "one\r\n\ttwo\x1b[2J\u202e\rthree\u2028"
    assert visible(text) == "one\n\ttwo\\x1b[2J\\u202ethree\\u2028"


def test_json_means_the_same_when_it_hides_nothing() -> None:
    text = json.dumps({"a\u202e": "\U000e0041\xad \x7f\n grüße"}, ensure_ascii=False, indent=2)
    assert visible_json(text) == ('{\n  "a\\u202e": "\\udb40\\udc41\\u00ad \\u007f\\n grüße"\n}')
    assert json.loads(visible_json(text)) == json.loads(text)


@pytest.mark.parametrize(
    ("data", "limit", "shown"),
    [
        ("abcde", 5, "abcde"),
        ("abcdef", 5, "abcd…"),
        (b"abcdef", 5, "abcd…"),
        ("ab\x1b", 6, "ab\\x1b"),
        ("abc\x1b", 6, "abc…"),
        ("éééééé".encode(), 5, "éééé…"),
        (b"\xff\xff", 5, "\\xff…"),
        ("abc", 1, "…"),
    ],
)
def test_the_cut_is_never_inside_an_escape(data: bytes | str, limit: int, shown: str) -> None:
    assert quote(data, limit) == shown


def test_the_default_is_120_characters() -> None:
    assert quote("x" * 120) == "x" * 120
    assert quote("x" * 121) == "x" * 119 + "…"


def test_a_character_cut_by_the_window_on_huge_bytes_is_not_seen() -> None:
    assert quote("é".encode() * 4_000_000, 3) == "éé…"


@given(
    st.one_of(st.binary(max_size=80), st.text(max_size=80)), st.integers(min_value=1, max_value=50)
)
def test_the_result_is_short_and_printable(data: bytes | str, limit: int) -> None:
    shown = quote(data, limit)
    assert len(shown) <= limit
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cs", "Zl", "Zp"}
    formats = {char for char in shown if unicodedata.category(char) == "Cf"}
    # joiners, and signs that enclose the digits behind them
    assert formats <= set(
        "\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
    )
