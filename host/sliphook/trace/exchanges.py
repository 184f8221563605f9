"""Pure: which records of a trace belong together: a request and its end, a plugin's two names."""

from __future__ import annotations

from collections import defaultdict
from typing import Final, Literal, NamedTuple, TypeVar

import msgspec

from sliphook.wire.decoding import DECODE_ERRORS

from .record import TraceRecord

__all__ = ["Exchanges", "Facts", "Names", "Role", "confirms_cancel", "facts_of", "lost_of"]

Role = Literal["asked", "answered", "given_up", "told", "called", "returned", "said", "other"]
"""A record's part in the conversation.

The host has `asked`, the plugin `answered` or the host `given_up`; the host has `told`. The
plugin has `called`, the host `returned`; the plugin has `said`. `other` is all that is no such
message.
"""

_NAMED: Final = frozenset({"tool/call", "command/run"})
"""Requests that are labelled with the name of their tool or command."""


class Params(msgspec.Struct, frozen=True):
    """What the views need of the params that the host has sent; free-form values are skipped."""

    name: str | None = None
    tool_name: str | None = None
    call_id: str | None = None
    call_index: int | None = None
    index: int | None = None
    outcome: str | None = None
    reason: str | None = None
    invalidation_reason: str | None = None
    provider: str | None = None
    model: str | None = None
    finish_reason: str | None = None
    # Every type that a method has for it: one value that does not fit would lose all fields.
    status: str | int | None = None
    kind: str | None = None
    message: str | None = None
    platform: str | None = None
    source: str | None = None
    id: int | str | None = None
    still_running: bool | list[str] | None = None
    substituted_by: str | None = None
    routed_by: str | None = None

    @property
    def by(self) -> list[str]:
        """Which plugins have changed who answers the call that is over, in words."""
        said = {"answered by": self.substituted_by, "routed by": self.routed_by}
        return [f"{what} {plugin}" for what, plugin in said.items() if plugin is not None]


class Facts(msgspec.Struct, frozen=True):
    """What the views need of a message's body; all None if the body is no such message."""

    method: str | None = None
    params: Params = Params()


class _Named(msgspec.Struct, frozen=True):
    name: str | None = None


class _Count(msgspec.Struct, frozen=True):
    count: int = 0


class _Introduction(msgspec.Struct, frozen=True):
    result: _Named = _Named()


_LOST: Final = msgspec.json.Decoder(_Count)
_FACTS: Final = msgspec.json.Decoder(Facts)
_INTRODUCTION: Final = msgspec.json.Decoder(_Introduction)
_NOTHING: Final = Facts()

_T = TypeVar("_T")


def facts_of(record: TraceRecord) -> Facts:
    """What the record's body tells. Never raises."""
    return _decode(_FACTS, record.body, _NOTHING)


def confirms_cancel(record: TraceRecord) -> bool:
    """True if the plugin stopped what it was told to: that comes after the end, but is not late."""
    return record.kind == "late" and record.verdict == "cancelled"


def lost_of(record: TraceRecord) -> int:
    """How many records are missing in the place of a `lost` one."""
    return _decode(_LOST, record.body, _Count()).count


def _decode(decoder: msgspec.json.Decoder[_T], body: bytes | None, otherwise: _T) -> _T:
    if body is None:
        return otherwise
    try:
        return decoder.decode(body)
    except DECODE_ERRORS:
        return otherwise


class RecordRole(NamedTuple):
    """A record's role in the conversation between host and plugin.

    Attributes:
        role: See `Role`.
        label: The method, followed by the name of the tool or command if there is one.
        request: On `answered`, `given_up` and `returned`: the request, if the trace has it.
        facts: What a message of the host says.
    """

    role: Role
    label: str
    request: TraceRecord | None = None
    facts: Facts = _NOTHING


class Exchanges:
    """Pairs requests with what ended them, record by record. Keeps only open requests."""

    def __init__(self) -> None:
        # By plugin, as all of one are forgotten at once. Two tables, since each side counts its own
        # ids: both may have a request 1 open.
        self._asked: defaultdict[str, dict[int | str, tuple[TraceRecord, str]]] = defaultdict(dict)
        self._called: defaultdict[str, dict[int | str, TraceRecord]] = defaultdict(dict)

    def take(self, record: TraceRecord) -> RecordRole:
        """The role of the next record."""
        if record.kind == "settled":
            return self._end("given_up", record)
        if record.kind == "spawn":  # a new process has new ids, and cannot answer old requests
            self._asked.pop(record.plugin, None)
            self._called.pop(record.plugin, None)
        if record.kind != "message":
            return RecordRole("other", record.kind)
        if record.direction == "to_plugin":
            return self._sent(record)
        if record.id is None:
            return RecordRole("said", record.method or "")
        # The record of a reply has its request's method; only the duration tells it from a request.
        # A reply that fits no request has neither.
        if record.elapsed_ms is not None or record.method is None:
            return self._end("answered", record)
        self._called[record.plugin][record.id] = record
        return RecordRole("called", record.method)

    def _sent(self, record: TraceRecord) -> RecordRole:
        facts = facts_of(record)
        method = record.method or ""
        if record.id is None:
            return RecordRole("told", method, facts=facts)
        if facts.method is None:  # the body of a reply has no method; the record has the request's
            request = self._called[record.plugin].pop(record.id, None)
            return RecordRole("returned", method, request)
        label = (
            f"{method} {facts.params.name}" if method in _NAMED and facts.params.name else method
        )
        self._asked[record.plugin][record.id] = record, label
        return RecordRole("asked", label, facts=facts)

    def _end(self, role: Literal["answered", "given_up"], record: TraceRecord) -> RecordRole:
        request, label = (None, record.method or "")
        if record.id is not None:
            request, label = self._asked[record.plugin].pop(record.id, (None, label))
        return RecordRole(role, label, request)


class Names:
    """Tells which two names are one plugin: it has its file's name until it says its own."""

    def __init__(self) -> None:
        self._said: dict[str, str] = {}
        self._known: set[str] = set()

    def take(self, record: TraceRecord) -> None:
        """Learn from the next record."""
        if record.kind == "lifecycle" and record.verdict == "ready":
            self._known.add(record.plugin)
        if (
            record.method == "initialize"
            and record.direction == "from_plugin"
            and record.plugin not in self._known
        ):
            name = _decode(_INTRODUCTION, record.body, _Introduction()).result.name
            if name and name != record.plugin:
                self._said.setdefault(record.plugin, name)

    def __getitem__(self, plugin: str) -> str:
        """The last name of the plugin."""
        name = self._said.get(plugin, plugin)
        return name if plugin not in self._known and name in self._known else plugin
