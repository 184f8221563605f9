"""Pure: tool calls from what models have written, whoever serves them."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from typing import Any, cast

import msgspec

from sliphook.wire.decoding import DECODE_ERRORS

from .base import ToolCall


def read_calls(calls: Iterable[tuple[str, str, str]]) -> Iterator[ToolCall]:
    """Tool calls from their ids, names and arguments as written.

    An id that is missing or doubled is made up.
    """
    taken: set[str] = set()
    for call_id, name, written in calls:
        unique = call_id if call_id and call_id not in taken else f"call_{secrets.token_hex(6)}"
        taken.add(unique)
        yield read_call(unique, name, written)


def read_call(call_id: str, name: str, written: str) -> ToolCall:
    """A tool call from what the model wrote as its arguments; nothing at all is `{}`."""
    if not written.strip():
        return ToolCall(call_id=call_id, name=name, arguments={})
    try:
        arguments: object = msgspec.json.decode(written)
    except DECODE_ERRORS:
        arguments = None
    if isinstance(arguments, dict):
        return ToolCall(call_id=call_id, name=name, arguments=cast("dict[str, Any]", arguments))
    return ToolCall(call_id=call_id, name=name, arguments={}, unreadable=written)
