"""What a message to a plugin may not hold, whoever wrote it."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.wire import envelope
from sliphook.wire.json_value import NotPlainJson, plain
from sliphook.wire.sendable import bytes_in_json, encode_value, excess_of, too_much_of

TOO_DEEP = "is nested deeper than 128 levels"
TOO_WIDE = "has a number of more than 308 digits"


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "excess"),
    [
        (nested(128), None),
        (nested(129), TOO_DEEP),
        ({"a": nested(127)}, None),
        ({"a": nested(128)}, TOO_DEEP),
        ([1, *[nested(1)] * 1_000], None),
        ("[" * 1_000, None),
        ({"[{" * 1_000: '"\\' * 1_000}, None),
        ([{"k": nested(1), "[": "]", "x": "{}"}] * 200, None),
        (["[", "", '"[', "\\", "]"] * 200, None),
        ([*["[", ""] * 100, nested(129)], TOO_DEEP),
        ([["[", "]]", {"}": nested(125)}]], None),
        ([["[", "]]", {"}": nested(126)}]], TOO_DEEP),
        (["7" * 400, '"' + "7" * 400, "\\", 7] * 3, None),
        (["7" * 400, '"', "\\", 10**400], TOO_WIDE),
        ({'"': "7" * 400, "\\" + "7" * 400: 10**400}, TOO_WIDE),
        (['\\"', nested(129)], TOO_DEEP),
        (10**308 - 1, None),
        (-(10**308) + 1, None),
        (10**308, TOO_WIDE),
        (["7" * 1_000, -(10**400)], TOO_WIDE),
        ("7" * 1_000, None),
        ([1.7976931348623157e308] * 100, None),
        ([2**64] * 100, None),
    ],
)
def test_what_is_too_deep_or_beyond_a_double(value: Any, excess: str | None) -> None:
    assert excess_of(json.dumps(value).encode(), 128) == excess
    if excess is None:
        assert plain(value) == value
        assert json.loads(encode_value(value)) == value
        return
    with pytest.raises(NotPlainJson, match=rf"^\$ {excess}$"):
        plain(value)
    with pytest.raises(TypeError, match=f"cannot be encoded: it {excess}"):
        encode_value(value)


@pytest.mark.parametrize(
    ("values", "excess"),
    [
        ([b"[" * 127 + b"]" * 127, *[b"[]"] * 300_000], None),
        ([b"[" * 128 + b"]" * 128, *[b"[]"] * 300_000], TOO_DEEP),
        ([b"[" * 70 + b"]" * 70] * 1_000, None),
        ([b'[{"a":[{}]}]'] * 50_000, None),
        ([b'[{"a":[{}]}]'] * 50_000 + [b"[" * 129 + b"]" * 129], TOO_DEEP),
        ([b'"["', b"[]"] * 100_000, None),
        # nested less, but that takes too long to see
        ([b"[]"] * 500_001, TOO_DEEP),
        ([b"[" * 70 + b"]" * 70] * 28_000, TOO_DEEP),
        ([b"[" * 70 + b"]" * 70] * 7_000, TOO_DEEP),
        ([b'"["', b"[]"] * 100_001, TOO_DEEP),
    ],
)
def test_too_many_brackets_to_look_through_are_too_deep(
    values: list[bytes], excess: str | None
) -> None:
    assert excess_of(b"[%b]" % b",".join(values), 128) == excess


@given(
    st.recursive(
        st.sampled_from(["", "[", "]}", '"', '\\"[', 1]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["", "{", "]", '\\"']), inner, max_size=2)
        ),
        max_leaves=20,
    ),
    st.integers(0, 8),
)
def test_levels_are_counted_whatever_strings_hold(value: Any, levels: int) -> None:
    def depth(value: object) -> int:
        if isinstance(value, dict):
            value = list(cast("dict[str, object]", value).values())
        if isinstance(value, list):
            return 1 + max(map(depth, cast("list[object]", value)), default=0)
        return 0

    excess = excess_of(envelope.encode(value), levels)
    assert (excess is not None) is (depth(value) > levels)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ([0] * 19_999, None),
        ([0] * 20_000, "has more than 20,000 values"),
        ({str(number): 0 for number in range(9_999)}, None),
        ({str(number): 0 for number in range(10_000)}, "has more than 20,000 values"),
        (['a,b:[{"' * 5] * 19_999, None),
        (["\\"] * 20_000, "has more than 20,000 values"),
        (",[{:" * 100_000, None),
        ("x" * 4_194_302, None),
        ("x" * 4_194_303, "has 4,194,305 bytes, over 4,194,304"),
    ],
)
def test_too_many_values_or_bytes(value: object, why: str | None) -> None:
    assert too_much_of(envelope.encode(value)) == why


@given(
    st.text(
        st.characters(codec="utf-8") | st.sampled_from('"\\/\b\t\n\f\r\x00\x1f\x7f'), max_size=20
    )
)
def test_bytes_of_a_text_are_counted_as_they_are_written(text: str) -> None:
    assert bytes_in_json(text) == len(envelope.encode(text))
