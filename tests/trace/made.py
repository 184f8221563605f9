"""Records and trace files for the tests of the views, and a trace in memory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from sliphook.trace.line_format import encode_line
from sliphook.trace.record import Kind, TraceRecord


class Kept:
    """A trace that keeps its records."""

    def __init__(self) -> None:
        self.records: list[TraceRecord] = []

    def record(self, record: TraceRecord) -> None:
        self.records.append(record)

    def hide(self, secrets: Iterable[str]) -> None:
        pass

    def of_kind(self, kind: Kind) -> list[TraceRecord]:
        return [record for record in self.records if record.kind == kind]


def record(
    kind: str = "message", at: float = 0.0, plugin: str = "guard", **fields: Any
) -> TraceRecord:
    """A record, `at` seconds after the beginning; a body that is no bytes is encoded as JSON."""
    body = fields.pop("body", None)
    raw = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
    size = {} if raw is None else {"size": len(raw)}
    made = {
        "kind": kind,
        "wall_s": 1_767_225_600.0 + at,
        "mono_s": 100.0 + at,
        "plugin": plugin,
        "body": raw,
        **size,
        **fields,
    }
    return msgspec.convert(made, TraceRecord)


def asked(
    id: int,
    at: float,
    event: str = "pre_tool_call",
    plugin: str = "guard",
    method: str | None = None,
    **params: Any,
) -> TraceRecord:
    """A request of the host's."""
    name = method or f"hook/{event}"
    body = {"jsonrpc": "2.0", "id": id, "method": name, "params": params}
    place = {key: params[key] for key in ("session_id", "turn_id", "seq") if key in params}
    return record(
        at=at, plugin=plugin, direction="to_plugin", method=name, id=id, body=body, **place
    )


def answered(
    id: int,
    at: float,
    took_ms: float,
    result: Any = None,
    plugin: str = "guard",
    method: str = "hook/pre_tool_call",
    **fields: Any,
) -> TraceRecord:
    """The plugin's answer."""
    body = {"jsonrpc": "2.0", "id": id, "result": result}
    fields = {"body": body, **fields}
    return record(
        at=at,
        plugin=plugin,
        direction="from_plugin",
        method=method,
        id=id,
        elapsed_ms=took_ms,
        **fields,
    )


def told(event: str, at: float, plugin: str = "guard", **params: Any) -> TraceRecord:
    """An event."""
    body = {"jsonrpc": "2.0", "method": f"event/{event}", "params": params}
    place = {key: params[key] for key in ("session_id", "turn_id", "seq") if key in params}
    return record(
        at=at, plugin=plugin, direction="to_plugin", method=f"event/{event}", body=body, **place
    )


def settled(
    id: int,
    at: float,
    verdict: str,
    plugin: str = "guard",
    method: str = "hook/pre_tool_call",
    **fields: Any,
) -> TraceRecord:
    """The host's own end of a request."""
    return record("settled", at, plugin, id=id, method=method, verdict=verdict, **fields)


def life(state: str, at: float, plugin: str = "guard", note: str | None = None) -> TraceRecord:
    """A change of the plugin's state."""
    return record("lifecycle", at, plugin, verdict=state, note=note)


def write_trace(path: Path, *records: TraceRecord) -> Path:
    """A trace file of these."""
    path.write_bytes(b"".join(encode_line(one) for one in records))
    return path
