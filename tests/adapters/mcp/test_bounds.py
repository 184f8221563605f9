"""Halves of characters in what a server says."""

from __future__ import annotations

import json
import re
import tracemalloc
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.adapters.mcp.transports import bounds
from sliphook.adapters.mcp.transports.bounds import whole_characters, whole_pieces

PIECES = [r"\ud83d", r"\uDE00", r"\uDBFF", r"\udc00", r"\\", r"\n", r"\"", "ud83d", "a", r"\u0041"]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (r"\ud83d", r"\ufffd"),
        (r"\ude00", r"\ufffd"),
        (r"\uD83D\uDE00", r"\uD83D\uDE00"),
        (r"\ud83d\ud83d\ude00\ude00", r"\ufffd\ud83d\ude00\ufffd"),
        (r"\\ud83d\ud83d", r"\\ud83d\ufffd"),
        (r"\\\ud83d\\\ude00", r"\\\ufffd\\\ufffd"),
        (r"\ud83d\\ude00", r"\ufffd\\ude00"),
        (r"\\ud83d\ude00", r"\\ud83d\ufffd"),
        ("\0\0" r"\ud83d", "\0\0" r"\ud83d"),  # no JSON
    ],
)
def test_half_a_character_alone_is_replaced(text: str, whole: str) -> None:
    assert whole_characters(text.encode()) == whole.encode()


def test_what_is_no_utf8_is_replaced() -> None:
    assert whole_characters('"caf\u00e9"'.encode("latin-1")) == '"caf\ufffd"'.encode()
    assert whole_characters('"caf\u00e9"'.encode()) == '"caf\u00e9"'.encode()


def test_a_byte_order_mark_is_dropped() -> None:
    assert whole_characters(b'\xef\xbb\xbf{"a": 1}') == b'{"a": 1}'


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_nothing_else_is_changed(text: str) -> None:
    body = f'"{text}"'.encode()
    whole = whole_characters(body)
    assert json.loads(whole) == re.sub("[\ud800-\udfff]", "\ufffd", json.loads(body))
    assert whole_characters(whole) == whole


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.integers(1, 40))
def test_steps_tear_no_escape(text: str, step: int) -> None:
    body = f'"{text}"'.encode()
    whole = whole_characters(body)
    with mock.patch.object(bounds, "WHOLE_STEP_BYTES", step):
        pieces = list(whole_pieces(body))
    assert b"".join(pieces) == whole
    assert all(len(piece) <= step + 1 for piece in pieces) or b"\\" not in body


@given(st.binary(max_size=40), st.integers(1, 9))
def test_steps_tear_no_character(body: bytes, step: int) -> None:
    with mock.patch.object(bounds, "WHOLE_STEP_BYTES", step):
        whole = whole_characters(body)
    assert whole == whole_characters(body)


def test_it_takes_no_memory_for_each_escape() -> None:
    body = rb"\n" * 500_000 + rb"\\" * 500_000 + rb"\ud83d"
    tracemalloc.start()
    try:
        whole_characters(body)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5 * len(body)
