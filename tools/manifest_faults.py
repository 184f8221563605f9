"""What makes a manifest fail, for a table of protocol.md: each is tried with the host's reader."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from sliphook.plugin.checks import ManifestError
from sliphook.plugin.manifest import read_manifest
from sliphook_sdk.protocol.limits import (
    MAX_PATTERNS,
    MAX_SCHEMA_BYTES,
    MAX_SCHEMA_PARTS,
    MAX_SERVERS,
    MAX_SUBSCRIPTIONS,
    MAX_SUBSCRIPTIONS_TO_TURN_END,
    MAX_TOOLS,
    MAX_VARIABLES,
)

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
    _sub("stop", replaces=True),
    _sub(mode="event", replaces=True),
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
    _schema({"$schema": "https://example.org/mine"}),
    {"commands": [{"name": "/deploys"}]},
    {"commands": [{"name": "stop"}]},
    {"env": [{"name": "A-B"}]},
    {"env": [{"name": "LD_PRELOAD"}]},
    _sub(attempts=True),
    _sub("pre_llm_call", mode="event", attempts=True),
    {"servers": ["127.0.0.1:8080"]},
    {"uses": ["route"], "servers": ["http://127.0.0.1"]},
    {"config_schema": {"properties": []}},
)
"""Each is shown as JSON, without the least that a manifest needs."""

_TOLD: Final[tuple[tuple[str, Fields], ...]] = (
    (
        f"{MAX_SUBSCRIPTIONS + 1} subscriptions",
        {"subscriptions": [_HOOK] * (MAX_SUBSCRIPTIONS + 1)},
    ),
    (
        f"{MAX_SUBSCRIPTIONS_TO_TURN_END + 1} subscriptions to `turn_end`",
        {"subscriptions": [{"event": "turn_end"}] * (MAX_SUBSCRIPTIONS_TO_TURN_END + 1)},
    ),
    (f"{MAX_PATTERNS + 1:,} patterns", _match(tool_name=["*"] * (MAX_PATTERNS + 1))),
    (
        f"{MAX_TOOLS + 1} tools",
        {"tools": [{"name": f"t{number}"} for number in range(MAX_TOOLS + 1)]},
    ),
    (
        f"{MAX_VARIABLES + 1} variables",
        {"env": [{"name": f"A{number}"} for number in range(MAX_VARIABLES + 1)]},
    ),
    (
        f"{MAX_SERVERS + 1} servers",
        {"uses": ["route"], "servers": [f"s{number}.lan" for number in range(MAX_SERVERS + 1)]},
    ),
    (
        "a schema over 64 KiB",
        _schema({"description": "x" * MAX_SCHEMA_BYTES}),
    ),
    (
        f"schemas with more than {MAX_SCHEMA_PARTS:,} schemas in them",
        {
            "tools": [
                {
                    "name": f"t{tool}",
                    "input_schema": {"properties": {f"p{one}": {} for one in range(250)}},
                }
                for tool in range(4)
            ]
        },
    ),
)
"""Too much to be shown, so it is told in words."""


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
    for told, fields in _TOLD:
        yield told, why_refused(fields)
