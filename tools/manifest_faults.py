"""What makes a manifest fail, for a table of protocol.md: each is tried with the host's reader."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from sliphook.plugin.checks import ManifestError
from sliphook.plugin.manifest import read_manifest

Fields = dict[str, Any]

_HOOK: Final = {"event": "pre_tool_call"}


def _sub(event: str = "pre_tool_call", **fields: Any) -> Fields:
    return {"subscriptions": [{"event": event, **fields}]}


def _match(event: str = "pre_tool_call", **fields: Any) -> Fields:
    return _sub(event, match=fields)


def _schema(schema: Any) -> Fields:
    return {"tools": [{"name": "t", "input_schema": schema}]}


_SHOWN: Final[tuple[Fields, ...]] = (
    {"protocol_version": 2},
    {"name": None},
    {"name": "My Guard"},
    {"name": "agent"},
    {"tools": {}},
    {"uses": ["alerts"]},
    _sub("pre_tool_cal"),
    _sub(on_failur="closed"),
    _sub("turn_end", mode="hook"),
    _sub(mode="ask"),
    _sub("stop", on_failure="closed"),
    _sub("pre_llm_call", include=["message"]),
    _sub(timeout_s=0),
    _match(tool_nam="shell"),
    _match(call_id="c-*"),
    _match("turn_end", platform="cli"),
    _match(tool_name=[]),
    _match(tool_name="shell|rm"),
    _match("turn_end", outcome="broken"),
    {
        "subscriptions": [
            _HOOK,
            {**_HOOK, "match": {"tool_name": "shell"}, "on_failure": "closed"},
        ]
    },
    {"tools": [{"name": "run it"}]},
    {"tools": [{"name": "t"}, {"name": "t"}]},
    {"tools": [{"name": "t", "timeout_s": 601}]},
    _schema({"type": "string"}),
    _schema({"properties": {"n": {"type": "int"}}}),
    _schema({"$ref": "https://example.org/x"}),
    {"commands": [{"name": "/deploys"}]},
    {"commands": [{"name": "stop"}]},
    {"env": [{"name": "LD_PRELOAD"}]},
    _sub(attempts=True),
    {"servers": ["127.0.0.1:8080"]},
    {"uses": ["route"], "servers": ["http://127.0.0.1"]},
    {"config_schema": {"properties": []}},
)
"""Each is shown as JSON, without the least that a manifest needs."""


def why_refused(fields: Fields) -> str:
    """What the host says of the least manifest with these fields.

    Raises:
        ValueError: it takes the manifest.
    """
    manifest = {"protocol_version": 1, "name": "guard", **fields}
    try:
        read_manifest(json.dumps(manifest).encode())
    except ManifestError as error:
        return str(error)
    raise ValueError(f"the host takes {json.dumps(fields)[:200]}")


def rows() -> Iterator[tuple[str, str]]:
    """The table: a part of a manifest, and the host's words."""
    for fields in _SHOWN:
        shown = json.dumps(fields, separators=(",", ":"))
        yield f"`{shown[1:-1]}`", why_refused(fields)
