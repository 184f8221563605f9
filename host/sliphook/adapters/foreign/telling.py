"""Pure: of one of our payloads, what another agent would have told its hooks."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from sliphook.adapters.dialects.hosted.toolmap import Shown, ToolMap
from sliphook.adapters.dialects.told import (
    Happening,
    ModelAnswered,
    ModelAsked,
    Notified,
    PermissionAsked,
    PersonAnswered,
    PersonAsked,
    Prompted,
    SessionEnded,
    SessionStarted,
    StopAsked,
    SubagentStarted,
    SubagentStopped,
    ToolAsked,
    ToolDenied,
    ToolDone,
    TurnEnded,
    TurnFailed,
    TurnInterrupted,
)
from sliphook_sdk.protocol import payloads as ours
from sliphook_sdk.protocol.questions import UserInputReceived, UserInputRequired
from sliphook_sdk.protocol.shapes import Payload

MAX_CALLS: Final = 1_000
"""Open tool calls and child agents of a session that are remembered."""
ValueT = TypeVar("ValueT")


class Remembered(msgspec.Struct, kw_only=True):
    """What is remembered of one session.

    Attributes:
        model, prompt: the model it began with; what the person wrote last.
        turn_index: the turn, from 1.
        calls: the open tool calls, as their hooks read them.
        goals: what the child agents are to do.
        ran_once: the hooks that run once in a session and have.
    """

    model: str | None = None
    prompt: str | None = None
    turn_index: int | None = None
    calls: dict[str, PermissionAsked] = msgspec.field(default_factory=dict[str, PermissionAsked])
    goals: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    ran_once: set[int] = msgspec.field(default_factory=set[int])


def _keep(kept: dict[str, ValueT], key: str, value: ValueT) -> None:
    kept[key] = value
    if len(kept) > MAX_CALLS:
        del kept[next(iter(kept))]


def remember(memory: Remembered, payload: Payload, tools: ToolMap) -> None:
    """Take note of what later hooks read."""
    match payload:
        case ours.SessionStart():
            memory.model = payload.model
        case ours.TurnStart() if payload.agent_depth == 0:
            memory.turn_index = payload.index
        case ours.UserPromptSubmit():
            memory.prompt = payload.text
        case ours.PreToolCall():
            call = PermissionAsked(**_common(payload, memory), **_of_tool(payload, tools))
            _keep(memory.calls, payload.call_id, call)
        case ours.PostToolCall():
            memory.calls.pop(payload.call_id, None)
        case UserInputRequired(call_id=str() as call_id, tool_name=str() as name):
            asked, arguments = memory.calls.get(call_id), payload.arguments
            if asked is not None and arguments is not None:
                # other plugins may have replaced them since
                theirs = tools.shown(name, payload.tool_kind, payload.origin or "")
                given, doubt = theirs.theirs(arguments), theirs.doubt(arguments)
                now = msgspec.structs.replace(asked, arguments=given, doubt=doubt)
                memory.calls[call_id] = now
        case ours.SubagentStart():
            _keep(memory.goals, payload.child_agent_id, payload.goal)
        case _:
            pass


def shown(payload: ours.PreToolCall | ours.PostToolCall, tools: ToolMap) -> Shown:
    """The tool of a payload as their agent calls it."""
    return tools.shown(payload.tool_name, payload.tool_kind, payload.origin)


def told_of(payload: Payload, memory: Remembered, tools: ToolMap) -> Happening | None:
    """What their agent would tell, without the event's name; None if it would tell nothing."""
    common = _common(payload, memory)
    match payload:
        case ours.SessionStart():
            # a restarted plugin is told of a living session, which is nothing to a hook
            source = payload.source
            return None if source == "reload" else SessionStarted(**common, source=source)
        case ours.SessionEnd():
            reset, failed = payload.reason == "reset", payload.reason == "error"
            used = [payload.usage.input_tokens, payload.usage.output_tokens]
            tokens = sum(count for count in used if count is not None)
            return SessionEnded(
                **common,
                reason="reset" if reset else "error" if failed else "exit",
                turns=payload.turns,
                tokens=tokens,
            )
        case ours.UserPromptSubmit():
            queued = payload.source in ("queued", "plugin")
            index = memory.turn_index
            return Prompted(**common, text=payload.text, queued=queued, turn_index=index)
        case ours.TurnEnd():
            return TurnEnded(**common, outcome=payload.outcome, index=memory.turn_index)
        case ours.AgentLoopStopped():
            return TurnInterrupted(**common)
        case ours.PreToolCall():
            return ToolAsked(**common, **_of_tool(payload, tools))
        case ours.PostToolCall():
            return _tool_done(payload, common, tools)
        case ours.Stop():
            return StopAsked(
                **common,
                again=payload.stop_count > 0,
                last_assistant_message=payload.last_assistant_message,
                prompt=memory.prompt,
                turns=payload.turn_count,
            )
        case _:
            return _other(payload, common, memory)


def _other(payload: Payload, common: dict[str, Any], memory: Remembered) -> Happening | None:
    match payload:
        case ours.PreLlmCall():
            messages = tuple((one.role, one.content or "") for one in payload.messages or ())
            said: dict[str, Any] = common | {"model": payload.model or memory.model}
            return ModelAsked(
                **said, messages=messages, index=payload.call_index, prompt=memory.prompt
            )
        case ours.PostLlmCall():
            said = common | {"model": payload.model or memory.model}
            counts = payload.usage.input_tokens, payload.usage.output_tokens
            usage = None if counts[0] is None or counts[1] is None else (counts[0], counts[1])
            text = (payload.response.content if payload.response is not None else None) or ""
            return ModelAnswered(**said, text=text, last=True, usage=usage, prompt=memory.prompt)
        case ours.LlmCallFailed():
            if payload.will_retry:
                return None
            index = memory.turn_index
            return TurnFailed(
                **common, kind=payload.kind, message=payload.message, turn_index=index
            )
        case ours.Notification():
            return Notified(**common, kind=payload.level, message=payload.message)
        case ours.SubagentStart():
            said = common | _child(payload.child_agent_id)
            return SubagentStarted(**said, goal=payload.goal)
        case ours.SubagentStop():
            status = payload.status
            took_s = None if payload.duration_ms is None else payload.duration_ms / 1000
            return SubagentStopped(
                **(common | _child(payload.child_agent_id)),
                status="failed" if status == "denied" else status,
                summary=payload.summary,
                goal=memory.goals.pop(payload.child_agent_id, None),
                duration_s=took_s,
            )
        case UserInputRequired():
            call = memory.calls.get(payload.call_id or "")
            return PersonAsked(**common, kind=payload.kind, message=payload.prompt, call=call)
        case UserInputReceived():
            call = memory.calls.get(payload.call_id or "")
            choice, by = payload.choice, payload.by
            return PersonAnswered(**common, kind=payload.kind, choice=choice, by=by, call=call)
        case _:
            return None


def _tool_done(
    payload: ours.PostToolCall, common: dict[str, Any], tools: ToolMap
) -> Happening | None:
    of_tool = _of_tool(payload, tools)
    content = payload.result.content if payload.result is not None else ""
    if payload.status == "denied":
        return ToolDenied(**common, **of_tool, reason=content)
    failed = payload.status in ("error", "timed_out")
    return ToolDone(
        **common,
        **of_tool,
        status="error" if failed else "interrupted" if payload.status == "cancelled" else "ok",
        content=content,
        data=None,
        duration_ms=payload.duration_ms,
    )


def _of_tool(payload: ours.PreToolCall | ours.PostToolCall, tools: ToolMap) -> dict[str, Any]:
    theirs = shown(payload, tools)
    return {
        "tool_name": theirs.name,
        "tool_kind": payload.tool_kind,
        "origin": payload.origin,
        "arguments": theirs.theirs(payload.arguments),
        "model_call_id": payload.model_call_id or payload.call_id,
        "doubt": theirs.doubt(payload.arguments),
        "server_tool": tools.server_tool(payload.tool_name, payload.tool_kind, payload.origin),
    }


def _common(payload: Payload, memory: Remembered) -> dict[str, Any]:
    return {
        "event": "",
        "session_id": payload.session_id,
        "cwd": payload.cwd,
        "turn_id": payload.turn_id,
        "agent_id": payload.agent_id if payload.agent_depth else None,
        "permission_mode": "default",
        "model": memory.model,
    }


def _child(child_agent_id: str) -> dict[str, Any]:
    return {"agent_id": child_agent_id, "agent_type": None}
