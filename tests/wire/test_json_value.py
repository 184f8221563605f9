"""What JSON can carry exactly, and the words for what it cannot."""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.wire.json_value import NotPlainJson, plain


class Colour(enum.IntEnum):
    RED = 1


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)  # fmt: skip


@given(VALUES)
def test_what_json_has_stays_as_it_is(value: Any) -> None:
    copy = plain(value)
    assert copy == value
    assert json.loads(json.dumps(copy)) == value


def test_it_is_a_copy() -> None:
    value = {"a": [1]}
    copy = plain(value)
    value["a"].append(2)
    assert copy == {"a": [1]}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"amount": math.nan}, "$.amount is nan, which JSON does not have"),
        ([1, {"limit": math.inf}], "$[1].limit is inf, which JSON does not have"),
        ({"a": b"x"}, "$.a is a bytes, which JSON does not have"),
        ({"a": datetime.date(2026, 1, 1)}, "$.a is a date, which JSON does not have"),
        ({"a": decimal.Decimal("1.5")}, "$.a is a Decimal, which JSON does not have"),
        ({"a": {1, 2}}, "$.a is a set, which JSON does not have"),
        ({"a": {1: "x"}}, "$.a has the key 1, an int, not a str"),
        ({"a": {None: "x"}}, "$.a has the key None, a NoneType, not a str"),
        ({"a": object()}, "$.a is an object, which JSON does not have"),
    ],
)
def test_what_json_does_not_have_is_named_with_its_place(value: Any, why: str) -> None:
    with pytest.raises(NotPlainJson) as caught:
        plain(value)
    assert str(caught.value) == why


def test_what_reads_the_same_is_taken() -> None:
    assert plain({"a": (1, (2,))}) == {"a": [1, [2]]}
    assert plain({"a": Colour.RED}) == {"a": 1}
    assert plain("half \ud83d") == "half \ufffd"


def test_a_value_that_contains_itself_is_refused() -> None:
    value: dict[str, Any] = {}
    value["me"] = value
    with pytest.raises(NotPlainJson, match="nested deeper than 128 levels"):
        plain(value)


def test_a_number_that_cannot_be_written_is_refused() -> None:
    value = {"a": [10**5000]}
    with pytest.raises(NotPlainJson, match="cannot be encoded"):
        plain(value)
