"""Pure: the differences between a plugin's recorded answers and those of now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

import msgspec

from sliphook.trace.redact import REDACTED
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook_sdk.protocol import ErrorCode

from .script import RequestEnd

__all__ = [
    "ABSENT",
    "Compared",
    "Difference",
    "ReplayReport",
    "Verdicts",
    "differences",
    "values_differ",
]

ABSENT: Final = "(absent)"
"""Stands for a missing field."""

_UNKNOWN: Final = (ErrorCode.METHOD_NOT_FOUND, ErrorCode.INVALID_PARAMS)
"""The errors of a plugin that has no such method, tool or command."""

_NOT_COMPARED: Final = {"hook": "_meta", "initialize": "version"}
"""A field of the answer that is not compared: the plugin is free to change it."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One difference.

    Attributes:
        what: the request in words: `hook/pre_tool_call`, `tool/call deploy`.
        number: the number of the script's request, from 1; None if it is about none of them.
        field: `status`, a field of the answer (`result.decision`), `missing` or `extra`.
        recorded: the value in the trace.
        now: the value of now.
    """

    what: str
    number: int | None = None
    field: str
    recorded: Any = None
    now: Any = None


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One request, then and now; unknown values are None."""

    number: int
    what: str
    same: bool
    recorded: str | None
    now: str
    recorded_ms: float | None
    now_ms: float | None


class ReplayReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a replay.

    Attributes:
        plugin: the plugin's name in the trace.
        path: the executable.
        same: nothing differs.
        requests: all requests, in order.
        differences: all differences, in order.
    """

    plugin: str
    path: str
    same: bool
    requests: Sequence[Compared]
    differences: Sequence[Difference]


class Verdicts:
    """Collects the requests of a replay and their differences."""

    def __init__(self) -> None:
        self._requests: list[Compared] = []
        self._differences: list[Difference] = []

    def compare(self, what: str, method: str, recorded: RequestEnd | None, now: RequestEnd) -> None:
        """Add a request that has ended, and compare it with the recorded one."""
        number = len(self._requests) + 1
        found = [] if recorded is None else list(differences(method, recorded, now))
        for field, before, after in found:
            self._differences.append(
                Difference(what=what, number=number, field=field, recorded=before, now=after)
            )
        self._requests.append(
            Compared(
                number=number,
                what=what,
                same=not found,
                recorded=None if recorded is None else recorded.status,
                now=now.status,
                recorded_ms=None if recorded is None else recorded.elapsed_ms,
                now_ms=now.elapsed_ms,
            )
        )

    def differs(self, what: str, field: str, recorded: Any = None, now: Any = None) -> None:
        """Add a difference that belongs to no request of the host."""
        self._differences.append(Difference(what=what, field=field, recorded=recorded, now=now))

    def report(self, plugin: str, path: str) -> ReplayReport:
        """The report on everything so far."""
        return ReplayReport(
            plugin=plugin,
            path=path,
            same=not self._differences,
            requests=self._requests,
            differences=self._differences,
        )


def differences(
    method: str, recorded: RequestEnd, now: RequestEnd
) -> Iterator[tuple[str, Any, Any]]:
    """The fields in which two ends of one request differ, each with both values.

    Times are not compared. A request that the host had withdrawn may end in any way, as the plugin
    may now be faster. Only an unknown method, tool or command is a difference then.
    """
    if recorded.status == "cancelled":
        if now.fault is not None and now.fault.code in _UNKNOWN:
            yield "status", _said(recorded), _said(now)
        return
    if recorded.status != now.status:
        yield "status", _said(recorded), _said(now)
        return
    if recorded.fault is not None and now.fault is not None:
        yield from values_differ(
            "error", msgspec.to_builtins(recorded.fault), msgspec.to_builtins(now.fault)
        )
    elif recorded.status == "answered":
        yield from values_differ(
            "result", _plain(method, recorded.result), _plain(method, now.result)
        )


def values_differ(path: str, recorded: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:
    """The paths at which two JSON values differ, each with both values.

    A redacted part of the trace equals any value.
    """
    if isinstance(recorded, dict) and isinstance(now, dict):
        before, after = cast("dict[str, Any]", recorded), cast("dict[str, Any]", now)
        for key in dict.fromkeys([*before, *after]):
            yield from values_differ(
                f"{path}.{key}", before.get(key, ABSENT), after.get(key, ABSENT)
            )
    elif isinstance(recorded, list) and isinstance(now, list):
        ones, others = _items(recorded), _items(now)
        for index in range(max(len(ones), len(others))):
            one, other = (
                values[index] if index < len(values) else ABSENT for values in (ones, others)
            )
            yield from values_differ(f"{path}[{index}]", one, other)
    elif isinstance(recorded, str) and REDACTED in recorded:
        if not isinstance(now, str) or not _fits(now, recorded.split(REDACTED)):
            yield path, recorded, now
    # In Python `True == 1`, in JSON they are two values.
    elif recorded != now or isinstance(recorded, bool) != isinstance(now, bool):
        yield path, recorded, now


def _fits(text: str, pieces: Sequence[str]) -> bool:
    """Whether a text is these pieces with anything between them."""
    first, *inner, last = pieces
    at, end = len(first), len(text) - len(last)
    if at > end or not (text.startswith(first) and text.endswith(last)):
        return False
    for piece in inner:
        at = text.find(piece, at, end)  # the first place leaves most for the others
        if at < 0:
            return False
        at += len(piece)
    return True


def _items(value: Any) -> list[Any]:
    items = cast("list[Any]", value)
    return items if isinstance(value, list) else []


def _said(ending: RequestEnd) -> str:
    """The status, with the code and the message of an error."""
    return (
        ending.status
        if ending.fault is None
        else f"{ending.status} {ending.fault.code}: {ending.fault.message}"
    )


def _plain(method: str, result: msgspec.Raw) -> Any:
    """An answer in one form of several: without nulls, a tool's bare string as its `content`."""
    try:
        value: Any = msgspec.json.decode(result)
    except DECODE_ERRORS:
        return bytes(result).decode("utf-8", "replace")
    if method == "tool/call" and isinstance(value, str):
        value = {"content": value}
    if method.startswith("hook/") and value is None:
        value = {}
    if not isinstance(value, dict):
        return value
    left_out = _NOT_COMPARED.get(method.partition("/")[0])
    fields = {
        key: field
        for key, field in cast("dict[str, Any]", value).items()
        if field is not None and key != left_out
    }
    if method == "tool/call" and fields.get("is_error") is False:
        del fields["is_error"]
    return fields
