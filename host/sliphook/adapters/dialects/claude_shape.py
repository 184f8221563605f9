"""Pure: the events that Codex has taken over from Claude Code, with the names of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from .answer import HookAnswer
from .dialect import Reader, started
from .reading import Fields, text_of
from .told import (
    Happening,
    PermissionAsked,
    Prompted,
    SessionEnded,
    SessionStarted,
    StopAsked,
    SubagentStarted,
    SubagentStopped,
    ToolAsked,
    ToolDone,
)
from .toolnames import ToolNames


def common(event: str, fields: Fields) -> dict[str, Any]:
    """The fields of every event, by our names."""
    return {
        "event": event,
        "session_id": fields.needed_name("session_id"),
        "cwd": fields.path("cwd"),
        "transcript_path": fields.path("transcript_path"),
        "turn_id": fields.name("turn_id", "prompt_id"),
        "agent_id": fields.name("agent_id"),
        "agent_type": fields.name("agent_type"),
        "permission_mode": fields.name("permission_mode"),
        "model": fields.name("model"),
    }


def of_tool(fields: Fields, tools: ToolNames) -> dict[str, Any]:
    """The fields of one tool call, by our names."""
    name = fields.needed_name("tool_name")
    server = fields.fields("mcp_server").name("name")
    return {
        "tool_name": name,
        "tool_kind": tools.kind(name),
        "origin": f"mcp:{server}" if server else tools.origin(name),
        "arguments": fields.object("tool_input"),
        "model_call_id": fields.name("tool_use_id"),
    }


def session_start(event: str, fields: Fields, tools: ToolNames) -> Happening:
    """`SessionStart`."""
    return SessionStarted(**common(event, fields), source=started(fields.name("source")))


def session_end(event: str, fields: Fields, tools: ToolNames) -> Happening:
    """`SessionEnd`."""
    reason: Literal["exit", "reset"] = "reset" if fields.name("reason") == "clear" else "exit"
    return SessionEnded(**common(event, fields), reason=reason)


def prompt(event: str, fields: Fields, tools: ToolNames) -> Happening:
    """`UserPromptSubmit`."""
    text = fields.needed_text("prompt")
    queued = text.startswith("<task-notification>")
    return Prompted(**common(event, fields), text=text, queued=queued)


def pre_tool(event: str, fields: Fields, tools: ToolNames) -> Happening:
    """`PreToolUse`."""
    return ToolAsked(**common(event, fields), **of_tool(fields, tools))


def permission(event: str, fields: Fields, tools: ToolNames) -> Happening:
    """`PermissionRequest`."""
    return PermissionAsked(**common(event, fields), **of_tool(fields, tools))


def tool_done(
    event: str,
    fields: Fields,
    tools: ToolNames,
    *,
    status: Literal["ok", "error"],
    status_known: bool,
) -> Happening:
    """A call with its `tool_response`."""
    data = fields.raw("tool_response")
    return ToolDone(
        **common(event, fields),
        **of_tool(fields, tools),
        status=status,
        status_known=status_known,
        content=text_of(data),
        data=data,
        duration_ms=fields.number("duration_ms"),
    )


def post_tool(event: str, fields: Fields, tools: ToolNames) -> Happening:
    """`PostToolUse`."""
    return tool_done(event, fields, tools, status="ok", status_known=True)


def stop(event: str, fields: Fields, tools: ToolNames) -> Happening:
    """`Stop`."""
    return StopAsked(
        **common(event, fields),
        again=fields.flag("stop_hook_active"),
        last_assistant_message=fields.text("last_assistant_message"),
    )


def subagent_start(event: str, fields: Fields, tools: ToolNames) -> Happening:
    """`SubagentStart`."""
    fields.needed_name("agent_id")
    return SubagentStarted(**common(event, fields))


def subagent_stop(event: str, fields: Fields, tools: ToolNames) -> Happening:
    """`SubagentStop`."""
    fields.needed_name("agent_id")
    return SubagentStopped(**common(event, fields), summary=fields.text("last_assistant_message"))


READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "SessionStart": session_start,
        "SessionEnd": session_end,
        "UserPromptSubmit": prompt,
        "PreToolUse": pre_tool,
        "PermissionRequest": permission,
        "PostToolUse": post_tool,
        "Stop": stop,
        "SubagentStart": subagent_start,
        "SubagentStop": subagent_stop,
    }
)


def specific(event: str, **said: Any) -> dict[str, Any] | None:
    """`hookSpecificOutput` without what is None; None if nothing is left."""
    left = {name: value for name, value in said.items() if value is not None}
    return {"hookEventName": event, **left} if left else None


def blocked(reason: str | None, decision: str = "block") -> dict[str, Any]:
    """`decision` and `reason` of a block; nothing without a reason."""
    return {} if reason is None else {"decision": decision, "reason": reason or "(nothing)"}


def denied(answer: HookAnswer) -> str | None:
    """Why it is denied; never empty."""
    return None if answer.denied is None else answer.denied or "denied by a plugin"


def needs_person(answer: HookAnswer) -> str | None:
    """The reason of a deny in an agent whose hooks cannot ask; None if nothing was asked."""
    return None if answer.ask is None else f"needs a person's approval: {answer.ask or 'no reason'}"
