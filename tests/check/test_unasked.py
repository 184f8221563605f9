"""The host's side of a plugin's requests, as a check and a replay play it."""

from __future__ import annotations

import msgspec
import pytest

from sliphook.check.unasked import result_of
from sliphook_sdk.protocol import METHOD_BY_NAME, METHODS

REQUESTS = [one.name for one in METHODS if one.by == "plugin" and one.kind == "request"]


@pytest.mark.parametrize("method", REQUESTS)
def test_every_request_gets_a_whole_result(method: str) -> None:
    shape = METHOD_BY_NAME[method].result
    assert shape is not None
    result = result_of(method)
    msgspec.convert(result, shape, strict=True)
    assert list(result) == [one.encode_name for one in msgspec.structs.fields(shape)]


def test_no_one_is_there_and_no_turn_is_open() -> None:
    assert result_of("host/ask") == {"outcome": "nobody", "answer": None}
    assert result_of("host/answer") == {"taken": False}
    assert result_of("host/interrupt") == {"interrupted": False}


def test_an_unknown_request_gets_an_empty_result() -> None:
    assert result_of("mine/own") == {}
