"""What is counted in a text before it is decoded, held to what a decoder finds in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook_sdk.protocol.weight import Weight, weigh

SLY = st.text('\\"[]{},:é 😀\n', max_size=6)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | SLY
JSON: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(SLY, inner, max_size=5),
    max_leaves=40,
)


def inside(value: Any) -> list[Any]:
    if hasattr(value, "values"):
        return list(value.values())
    return list(value) if hasattr(value, "append") else []


def counted(value: Any) -> int:
    """Values and names, one by one."""
    names = len(inside(value)) if isinstance(value, dict) else 0
    return 1 + names + sum(map(counted, inside(value)))


def depth(value: Any) -> int:
    return isinstance(value, dict | list) + max(map(depth, inside(value)), default=0)


@given(JSON, st.sampled_from([None, 1]), st.booleans(), st.lists(st.integers(1, 9), min_size=1))
def test_it_counts_what_a_decoder_finds_however_the_text_is_cut(
    value: Any, indent: int | None, ascii: bool, cuts: list[int]
) -> None:
    body = json.dumps(value, indent=indent, ensure_ascii=ascii).encode()
    weight, at = Weight(), 0
    while at < len(body):
        size = cuts[at % len(cuts)]
        weight.add(body[at : at + size])
        at += size
    assert (weight.values, weight.excess) == (counted(value), None)


@given(st.binary(max_size=200) | st.text('\\"[]{},:0 ').map(str.encode))
def test_what_is_no_json_is_weighed_all_the_same(body: bytes) -> None:
    weight = Weight()
    weight.add(body)
    assert weight.excess is None or "nested" in weight.excess


@given(st.integers(120, 136), st.integers(1, 50))
def test_depth_over_any_cut(levels: int, size: int) -> None:
    body = b'["]",' * (levels - 1) + b"[]" + b"]" * (levels - 1)
    assert depth(json.loads(body)) == levels
    weight = Weight()
    for at in range(0, len(body), size):
        weight.add(body[at : at + size])
    assert (weight.excess is not None) == (levels > 128)


@pytest.mark.parametrize(
    ("body", "excess"),
    [
        (b"[" + b"0," * 19_998 + b"0]", None),
        (b"[" + b"0," * 19_999 + b"0]", "it has more than 20,000 values"),
        (b"{" + b'"a":0,' * 9_999 + b'"a":0}', "it has more than 20,000 values"),
        (b'"' + b"[0,{}]:" * 9_000 + b'"', None),
        (b'"' * 90_000, "it has more than 20,000 values"),
        (b"[" + b"7" * 256 + b"," + b"-" * 1_000 + b"]", "a number of more than 256"),
        (b"[" + b"7" * 257 + b"]" + b" " * 1_000, "a number of more than 256"),
        (b" " * 16_300 + b"7" * 257, "a number of more than 256"),
        (b'"' + b"7" * 2_000 + b'"', None),
        (b"[" + b"1E+300," * 300 + b"0]", "100 numbers with an exponent of three digits"),
        (b"[" + b"1e99," * 300 + b"0]", None),
        (b"[" + b"1234567890123456789e1," * 100 + b"0]", None),
        (b"[" + b"1234567890123456789e1," * 101 + b"0]", "longer than a double is written"),
        (b"[" + b"-0.00000000012345678901E+7," * 101 + b"0]", "longer than a double is written"),
        (b"[" + b"-1.%031d," % 1 * 100 + b"0]", None),
        (b"[" + b"-1.%031d," % 1 * 101 + b"0]", "longer than a double is written"),
        (b"[" + b"-1.%030d," % 1 * 300 + b"0]", None),
        (b"[" + b"%0250d," % 1 * 300 + b"0]", None),
        (b"[" + b"-1.2345678901234567e-05,0.0000012345678901234567," * 300 + b"0]", None),
        (b"[" + b"1.2345678901234567e+300," * 100 + b"0]", None),
    ],
)
def test_the_limits_of_all_messages(body: bytes, excess: str | None) -> None:
    found = weigh(body).excess
    assert (excess is None) == (found is None)
    assert excess is None or (found is not None and excess in found)


@given(st.integers(1, 50), st.sampled_from([b"1e300", b"72687284882248027837e99", b"1.%040d" % 1]))
def test_numbers_are_counted_once_however_the_text_is_cut(size: int, number: bytes) -> None:
    for count, passes in ((100, True), (101, False)):
        body, weight = b"[" + b",".join([number] * count) + b"]", Weight()
        for at in range(0, len(body), size):
            weight.add(body[at : at + size])
        assert (weight.excess is None) == passes


def test_after_the_slice_that_passes_a_limit_nothing_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So a hostile text costs no more than a usual one."""
    looked_at: list[int] = []
    add_slice = Weight._add_slice  # pyright: ignore[reportPrivateUsage]

    def noted(self: Weight, text: bytes) -> None:
        looked_at.append(len(text))
        add_slice(self, text)

    monkeypatch.setattr(Weight, "_add_slice", noted)
    weigh(b"[]," * 1_000_000)
    assert sum(looked_at) <= 4 * 16 * 1024
    looked_at.clear()
    weigh(b"x" * 1_000)
    assert not looked_at
