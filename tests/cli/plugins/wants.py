"""A plugin that wants much: grants, a variable, settings with a schema."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

WANTS: dict[str, Any] = {
    "version": "1.2.0",
    "description": "Keeps watch.",
    "subscriptions": [{"event": "pre_tool_call"}],
    "tools": [{"name": "deploy"}],
    "uses": ["notify", "inject"],
    "env": [
        {"name": "DEPLOY_TOKEN", "required": True, "secret": True, "why": "to reach the service"},
        {"name": "DEPLOY_URL"},
    ],
}
SCHEMA = {
    "config_schema": {
        "type": "object",
        "properties": {
            "channel": {"type": "string"},
            "key": {"type": "string", "secret": True},
            "level": {"type": "integer"},
        },
        "additionalProperties": False,
    }
}


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
