"""Short ways to say what happened and what a hook did."""

from __future__ import annotations

import json
from typing import Any

from sliphook.adapters.dialects.hosted.handler import Handler
from sliphook.adapters.dialects.hosted.hosted import Ended, Judged
from sliphook.adapters.dialects.hosted.known import SYSTEMS
from sliphook.adapters.dialects.told import (
    Happening,
    Prompted,
    SessionStarted,
    StopAsked,
    ToolAsked,
    ToolDone,
)

COMMON: dict[str, Any] = {"session_id": "s-1", "cwd": "/p"}
SHELL: dict[str, Any] = {
    "tool_name": "Bash",
    "tool_kind": "shell",
    "origin": "agent",
    "arguments": {"command": "ls"},
    "model_call_id": "call_1",
}


def asked(event: str, **said: Any) -> ToolAsked:
    return ToolAsked(event=event, **COMMON, **(SHELL | said))


def done(event: str, **said: Any) -> ToolDone:
    ended: dict[str, Any] = {"status": "ok", "content": "a.txt", "data": None}
    return ToolDone(event=event, **COMMON, **SHELL, **(ended | said))


def prompted(event: str, text: str = "hi") -> Prompted:
    return Prompted(event=event, **COMMON, text=text)


def stopping(event: str, **said: Any) -> StopAsked:
    return StopAsked(event=event, **COMMON, **said)


def started(event: str) -> SessionStarted:
    return SessionStarted(event=event, **COMMON, source="startup")


def verdict(
    system: str,
    told: Happening,
    stdout: object = "",
    *,
    code: int | None = 0,
    stderr: str = "",
    is_cut: bool = False,
    **handler: Any,
) -> Judged:
    """What the end of one hook means."""
    hosted = SYSTEMS[system]
    text = stdout if isinstance(stdout, str) else json.dumps(stdout)
    failure = "took longer than 5 s" if code is None else None
    ended = Ended(exit_code=code, stdout=text, stderr=stderr, failure=failure, is_cut=is_cut)
    one = Handler(event=told.event, command="check.sh", **handler)
    return hosted.verdict(hosted.named(told.event)[0], one, told, ended)
