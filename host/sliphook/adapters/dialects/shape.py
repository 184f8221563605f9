"""Pure: what all agents tell alike, in the spellings of each: the first that is there counts."""

from __future__ import annotations

from typing import Any, Final, cast

from .reading import Fields, text_of
from .told import (
    ChildStatus,
    EndReason,
    Happening,
    Notified,
    PermissionAsked,
    Prompted,
    SessionEnded,
    SessionStarted,
    StartSource,
    StopAsked,
    SubagentStarted,
    SubagentStopped,
    ToolAsked,
    ToolDone,
)
from .toolnames import ToolNames

IDENTIFYING: Final = (
    *("conversation_id", "session_id", "sessionId", "cwd", "transcript_path", "transcriptPath"),
    *("turn_id", "prompt_id", "generation_id", "agent_id", "subagent_id"),
    *(
        "tool_name",
        "toolName",
        "tool_use_id",
        "tool_input",
        "toolArgs",
        "toolInput",
        "is_interrupt",
        "mcp_server",
        "mcp_context",
    ),
    *("source", "reason", "status", "stop_hook_active"),
)
"""The fields that say whose event it is, of which call, and what has ended: they are read even if
the rest is too large."""
RESULT: Final = "tool_response"
"""The field with a tool's result, where the agent takes another only in the same shape."""
RESULT_TEXTS: Final = ("stdout", "stderr")
RESULT_FLAGS: Final = ("interrupted", "isImage", "noOutputExpected")
"""Of a result that is an object: what is kept of its shape if it is too large."""
_SOURCES: Final[dict[str | None, StartSource]] = {
    "resume": "resume",
    "fork": "resume",
    "clear": "reset",
    "compact": "compacted",
}
_REASONS: Final[dict[str | None, EndReason]] = {"clear": "reset", "error": "error"}
_ENDS: Final[dict[str | None, ChildStatus]] = {"error": "failed", "aborted": "cancelled"}


def common(event: str, fields: Fields) -> dict[str, Any]:
    """The fields of every event, by our names."""
    return {
        "event": event,
        "session_id": fields.needed_name("conversation_id", "session_id", "sessionId"),
        "cwd": fields.path("cwd") or _first_root(fields),
        "transcript_path": fields.path("transcript_path", "transcriptPath"),
        "turn_id": fields.name("turn_id", "prompt_id", "generation_id"),
        "agent_id": fields.name("agent_id", "subagent_id"),
        "agent_type": fields.name("agent_type", "subagent_type", "agentName", "agent_name"),
        "permission_mode": fields.name("permission_mode"),
        "model": fields.name("model"),
    }


def _first_root(fields: Fields) -> str | None:
    roots = fields.raw("workspace_roots")
    first = cast("list[object]", roots)[0] if isinstance(roots, list) and roots else None
    return Fields({"workspace_roots": first}).path("workspace_roots")


def of_tool(fields: Fields, tools: ToolNames) -> dict[str, Any]:
    """The fields of one tool call, by our names."""
    name = fields.needed_name("tool_name", "toolName")
    arguments = fields.object_or_json("tool_input", "toolArgs", "toolInput")
    server = fields.fields("mcp_server").name("name")
    server = server or fields.fields("mcp_context").name("server_name")
    return {
        "tool_name": name,
        "tool_kind": tools.kind(name),
        "origin": f"mcp:{server}" if server else tools.origin(name, arguments),
        "arguments": arguments,
        "model_call_id": fields.name("tool_use_id"),
    }


def session_start(event: str, fields: Fields, tools: ToolNames) -> Happening:
    """A session begins; what is not known of its beginning is a startup."""
    source = _SOURCES.get(fields.name("source"), "startup")
    return SessionStarted(**common(event, fields), source=source)


def session_end(event: str, fields: Fields, tools: ToolNames) -> Happening:
    """A session is over."""
    reason = _REASONS.get(fields.name("reason"), "exit")
    return SessionEnded(**common(event, fields), reason=reason)


def prompt(event: str, fields: Fields, tools: ToolNames) -> Happening:
    """A prompt."""
    text = fields.needed_text("prompt")
    queued = text.startswith("<task-notification>")
    return Prompted(**common(event, fields), text=text, queued=queued)


def pre_tool(event: str, fields: Fields, tools: ToolNames) -> Happening:
    """A tool is about to run."""
    return ToolAsked(**common(event, fields), **of_tool(fields, tools))


def permission(event: str, fields: Fields, tools: ToolNames) -> Happening:
    """The agent asks its person whether a tool may run."""
    return PermissionAsked(**common(event, fields), **of_tool(fields, tools))


def tool_done(
    event: str,
    fields: Fields,
    tools: ToolNames,
    data: Any,
    *,
    failed: bool = False,
    status_known: bool = True,
) -> Happening:
    """A call that has run, and its result."""
    return ToolDone(
        **common(event, fields),
        **of_tool(fields, tools),
        status="error" if failed else "ok",
        status_known=status_known,
        content=text_of(data),
        data=data,
        duration_ms=fields.number("duration_ms", "duration"),
    )


def tool_failed(event: str, fields: Fields, tools: ToolNames) -> Happening:
    """A call that has failed, or that the person has stopped."""
    error = fields.raw("error", "error_message")
    return ToolDone(
        **common(event, fields),
        **of_tool(fields, tools),
        status="interrupted" if fields.flag("is_interrupt") else "error",
        content=text_of(error),
        data=None if isinstance(error, str) else error,
        duration_ms=fields.number("duration_ms", "duration"),
    )


def stop(event: str, fields: Fields, tools: ToolNames) -> Happening:
    """The model is done."""
    return StopAsked(
        **common(event, fields),
        again=fields.flag("stop_hook_active"),
        last_assistant_message=fields.text("last_assistant_message", "prompt_response"),
    )


def subagent_start(event: str, fields: Fields, tools: ToolNames) -> Happening:
    """A child agent begins."""
    fields.needed_name("agent_id", "subagent_id")
    return SubagentStarted(**common(event, fields), goal=fields.text("task"))


def subagent_stop(event: str, fields: Fields, tools: ToolNames) -> Happening:
    """A child agent has ended."""
    fields.needed_name("agent_id", "subagent_id")
    return SubagentStopped(
        **common(event, fields),
        status=_ENDS.get(fields.name("status"), "completed"),
        summary=fields.text("last_assistant_message", "summary"),
    )


def notification(event: str, fields: Fields, tools: ToolNames) -> Happening:
    """The person is told something."""
    return Notified(
        **common(event, fields),
        kind=fields.name("notification_type", "notificationType") or "",
        message=fields.needed_text("message"),
    )
