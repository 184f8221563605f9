"""Read a manifest, and what the host says of one that it refuses."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from sliphook.plugin.checks import ManifestError
from sliphook.plugin.manifest import ReadManifest, read_manifest
from sliphook.plugin.route import Route
from sliphook_sdk.protocol import CATALOGUE, Payload
from sliphook_sdk.protocol.describe import example_of

LEAST = {"protocol_version": 1, "name": "guard"}


def read(**fields: Any) -> ReadManifest:
    return read_manifest(json.dumps({**LEAST, **fields}).encode())


def subscribe(event: str = "pre_tool_call", **fields: Any) -> Route:
    routes = read(subscriptions=[{"event": event, **fields}]).routes
    return routes[event][0]


def refused(**fields: Any) -> str:
    with pytest.raises(ManifestError) as caught:
        read(**fields)
    why = str(caught.value)
    assert why.isprintable(), "one line, harmless to a terminal"
    assert len(why) < 600
    return why


def refused_subscription(event: str = "pre_tool_call", **fields: Any) -> str:
    return refused(subscriptions=[{"event": event, **fields}])


def payload(event: str = "pre_tool_call", **fields: Any) -> Payload:
    entry = CATALOGUE[event]
    return msgspec.structs.replace(
        msgspec.convert(example_of(entry.payload), entry.payload), **fields
    )
