"""The payload of every hook and event, field by field, in the order of the wire (see `common`)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Optional, Union

import msgspec

from .describe import doc
from .model_payloads import LlmCallFailed, PostLlmCall, PreLlmCall
from .shapes import (
    AlertLevel,
    Inflight,
    LateEnd,
    OfKind,
    Payload,
    StillRunning,
    SubmittedBy,
    TimeoutLeft,
    ToolOrigin,
    ToolResult,
    Usage,
)

__all__ = [
    "AgentLoopStopped",
    "LlmCallFailed",
    "Notification",
    "Payload",
    "PostLlmCall",
    "PostToolCall",
    "PreLlmCall",
    "PreToolCall",
    "SessionEnd",
    "SessionReset",
    "SessionStart",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "SubmissionEnd",
    "TurnEnd",
    "TurnStart",
    "UserPromptSubmit",
]

_USAGE = {"input_tokens": 120, "output_tokens": 40, "cached_tokens": None}


class SessionStart(Payload, frozen=True, kw_only=True):
    """A session begins."""

    source: Annotated[
        Literal["startup", "resume", "reset", "reload"],
        doc("why: `reload` tells a restarted plugin of a living session", "startup"),
    ]
    model: Annotated[Optional[str], doc("the model that the session begins with", "scripted")]
    timeout_s: TimeoutLeft = msgspec.UNSET


class SessionReset(Payload, frozen=True, kw_only=True):
    """The user began anew; `session_id` is the new session's."""

    old_session_id: Annotated[str, doc("the session that ended", "s-0", match=False)]
    cause: Annotated[str, doc("what the user did", "new_command")]


class SessionEnd(Payload, frozen=True, kw_only=True):
    """A session is over."""

    reason: Annotated[Literal["exit", "reset", "signal", "error", "shutdown"], doc("why", "exit")]
    turns: Annotated[int, doc("turns that were opened", 3)]
    model_calls: Annotated[int, doc("model calls that were made", 5)]
    tool_calls: Annotated[int, doc("tool calls that were made", 4)]
    usage: Annotated[Usage, doc("tokens of the whole session", _USAGE)]


class TurnStart(Payload, frozen=True, kw_only=True):
    """A turn exists from now on."""

    index: Annotated[int, doc("from 1, counted in the session", 1)]
    parent_turn_id: Annotated[
        Optional[str], doc("in a child agent: the turn that started it", match=False)
    ]
    submitted_by: SubmittedBy = None


class UserPromptSubmit(Payload, frozen=True, kw_only=True):
    """A user's text is about to reach the model."""

    source: Annotated[
        Literal["user", "command", "queued", "plugin"], doc("how the text came", "user")
    ]
    submitted_by: SubmittedBy = None
    timeout_s: TimeoutLeft = msgspec.UNSET
    text: Annotated[str, doc("what the user wrote", "tidy up the project", match=False)]


class PreToolCall(Payload, frozen=True, kw_only=True):
    """A tool is about to run; its arguments are parsed."""

    call_id: Annotated[str, doc("ours, unique", "c-1", match=False)]
    model_call_id: Annotated[
        Optional[str], doc("the model's own id of the call", "call_1", match=False)
    ]
    tool_name: Annotated[str, doc("the tool; an agent may call its own anything", "shell")]
    tool_kind: OfKind = None
    origin: ToolOrigin
    timeout_s: TimeoutLeft = msgspec.UNSET
    arguments: Annotated[
        dict[str, Any], doc("the arguments, by the names of that tool", {"command": "ls"})
    ]


class PostToolCall(Payload, frozen=True, kw_only=True):
    """A tool call is over, however it ended."""

    call_id: Annotated[str, doc("ours, unique", "c-1", match=False)]
    model_call_id: Annotated[
        Optional[str], doc("the model's own id of the call", "call_1", match=False)
    ]
    tool_name: Annotated[str, doc("the tool; an agent may call its own anything", "shell")]
    tool_kind: OfKind = None
    origin: ToolOrigin
    started: Annotated[bool, doc("the tool did begin to run", True)]
    status: Annotated[
        Literal["ok", "error", "denied", "cancelled", "timed_out"],
        doc("how it ended; whether a command that failed is an `error` is up to the agent", "ok"),
    ]
    still_running: Annotated[
        Optional[bool],
        doc(
            "its plugin was told to stop it and it had not ended yet, so it may still act; a "
            "`notification` with `late_end` follows. The agent's own tools are never so",
            False,
        ),
    ] = False
    duration_ms: Annotated[Optional[float], doc("how long the tool ran", 12.5)]
    substituted_by: Annotated[Optional[str], doc("the plugin that answered instead of the tool")]
    timeout_s: TimeoutLeft = msgspec.UNSET
    arguments: Annotated[
        dict[str, Any], doc("the arguments, by the names of that tool", {"command": "ls"})
    ]
    result: Annotated[
        Optional[ToolResult],
        doc(
            "what came back; null if the call was cancelled",
            {"content": "done", "is_error": False, "data": None},
        ),
    ]


class Stop(Payload, frozen=True, kw_only=True):
    """The model is done and control is about to return to the user."""

    turn_count: Annotated[int, doc("turns of the session, this one included", 1)]
    stop_count: Annotated[int, doc("from 0: how often this turn has stopped before", 0)]
    timeout_s: TimeoutLeft = msgspec.UNSET
    last_assistant_message: Annotated[
        Optional[str],
        doc("the last text of the model; null if there is none", "All done.", match=False),
    ]


class AgentLoopStopped(Payload, frozen=True, kw_only=True):
    """A turn was interrupted, at this moment."""

    reason: Annotated[
        Literal["user_stop", "reset", "new_message", "signal", "plugin", "shutdown", "timeout"],
        doc("why", "user_stop"),
    ]
    invalidation_reason: Annotated[
        str,
        doc(
            "what exactly, free; Sliphook's own are listed under Cancel and interrupt",
            "stop_command",
            match=False,
        ),
    ]
    inflight: Annotated[
        Inflight, doc("what was under way", {"llm": False, "tools": ["c-1"], "requests": [7]})
    ]


class SubmissionEnd(Payload, frozen=True, kw_only=True):
    """The turn of a plugin's message is about to end, or the message was dropped."""

    message_id: Annotated[str, doc("as `host/submit` was answered", "m-1", match=False)]
    by: Annotated[str, doc("the plugin whose message it was", "remind")]
    outcome: Annotated[
        Literal[
            "completed",
            "interrupted",
            "failed",
            "denied",
            "max_iterations",
            "loop_detected",
            "budget_exceeded",
            "dropped",
            "refused",
        ],
        doc(
            "that of its turn; `dropped`: by `/stop`, `/new` or the end of the session, before its "
            "turn; `refused`: by the agent",
            "completed",
        ),
    ]
    reply: Annotated[
        Optional[str],
        doc("the last text of the model; null if there is none", "All done.", match=False),
    ]


class TurnEnd(Payload, frozen=True, kw_only=True):
    """A turn is over; exactly one for each `turn_start`."""

    outcome: Annotated[
        Literal[
            "completed",
            "interrupted",
            "failed",
            "denied",
            "max_iterations",
            "loop_detected",
            "budget_exceeded",
        ],
        doc("how", "completed"),
    ]
    interrupt_count: Annotated[int, doc("how often the turn was interrupted", 0)]
    model_calls: Annotated[int, doc("model calls of the turn, its child agents' too", 2)]
    usage: Annotated[Usage, doc("tokens of the turn, its child agents' too", _USAGE)]
    duration_ms: Annotated[Optional[float], doc("how long the turn was open", 2150.0)]
    still_running: StillRunning = msgspec.field(default_factory=list[str])
    last_assistant_message: Annotated[
        Optional[str],
        doc(
            "the last text of the model, 32,768 characters of it at most; null if there is none",
            "All done.",
            match=False,
        ),
    ]


class Notification(Payload, frozen=True, kw_only=True):
    """The user is told something by the agent, the host or another plugin."""

    level: Annotated[AlertLevel, doc("how serious", "warning")]
    message: Annotated[str, doc("what the user reads", "the model is slow today", match=False)]
    source: Annotated[str, doc("who says so: `agent`, `host`, or a plugin's name", "agent")]
    late_end: Annotated[
        Union[LateEnd, msgspec.UnsetType, None],
        doc(
            "the tool call that has ended, if the notification is about that; else absent",
            {"call_id": "c-1", "tool_name": "deploy", "how": "ok", "after_ms": 3200.0},
        ),
    ] = msgspec.UNSET


class SubagentStart(Payload, frozen=True, kw_only=True):
    """A child agent begins; the common fields are its parent's."""

    child_agent_id: Annotated[str, doc("the child's `agent_id`", "a-2", match=False)]
    timeout_s: TimeoutLeft = msgspec.UNSET
    goal: Annotated[str, doc("what the child is asked to do", "find the failing test", match=False)]


class SubagentStop(Payload, frozen=True, kw_only=True):
    """A child agent ended; the common fields are its parent's."""

    child_agent_id: Annotated[str, doc("the child's `agent_id`", "a-2", match=False)]
    status: Annotated[
        Literal["completed", "failed", "denied", "cancelled"], doc("how it ended", "completed")
    ]
    summary: Annotated[
        Optional[str], doc("what the child reports", "it was test_login", match=False)
    ]
    duration_ms: Annotated[Optional[float], doc("how long it ran", 950.0)]
    still_running: StillRunning = msgspec.field(default_factory=list[str])
