"""What a plugin wrote is shown on one line and steers nothing."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.quoting import quote


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
    ],
)
def test_what_is_not_printable_is_escaped(data: bytes | str, shown: str) -> None:
    assert quote(data) == shown


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
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
