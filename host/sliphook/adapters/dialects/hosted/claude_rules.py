"""Pure: what Claude Code writes to a hook's stdin, and what the end of a hook means to it.

Codex and Gemini CLI have taken over most of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal

from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.reading import WrongField, text_of
from sliphook.adapters.dialects.told import (
    ElicitationAnswered,
    Elicited,
    Happening,
    Notified,
    OfTool,
    PermissionAsked,
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
    TurnFailed,
)

from .handler import Handler
from .hosted import Ended, HostedEvent, Judged, object_of, reason_of, text_in

_SOURCES: Final = {
    "startup": "startup",
    "resume": "resume",
    "reset": "clear",
    "compacted": "compact",
}
_REASONS: Final = {"exit": "other", "reset": "clear", "error": "other"}


def common(told: Happening, turn: str = "prompt_id") -> dict[str, Any]:
    """The fields of every event; `turn` is the name of the turn's id."""
    return {
        "session_id": told.session_id,
        "transcript_path": told.transcript_path,
        "cwd": told.cwd,
        turn: told.turn_id,
        "permission_mode": told.permission_mode,
        "agent_id": told.agent_id,
        "agent_type": told.agent_type,
        "hook_event_name": told.event,
    }


def of_tool(told: OfTool) -> dict[str, Any]:
    """The fields of one tool call."""
    return {
        "tool_name": told.tool_name,
        "tool_input": told.arguments,
        "tool_use_id": told.model_call_id,
    }


def build(told: Happening) -> dict[str, Any]:
    """What Claude Code's hooks read."""
    return {**common(told), **own(told)}


def own(told: Happening) -> Mapping[str, Any]:
    """The fields of this event alone."""
    match told:
        case SessionStarted():
            return {"source": _SOURCES[told.source], "model": told.model}
        case SessionEnded():
            return {"reason": _REASONS[told.reason]}
        case Prompted():
            return {"prompt": told.text}
        case ToolAsked() | PermissionAsked():
            return of_tool(told)
        case ToolDone() if told.event == "PostToolUseFailure":
            return {
                **of_tool(told),
                "error": told.content,
                "is_interrupt": told.status == "interrupted",
                "duration_ms": told.duration_ms,
            }
        case ToolDone():
            return {
                **of_tool(told),
                "tool_response": response(told),
                "duration_ms": told.duration_ms,
            }
        case ToolDenied():
            return {**of_tool(told), "reason": told.reason}
        case StopAsked():
            return {
                "stop_hook_active": told.again,
                "last_assistant_message": told.last_assistant_message,
                "background_tasks": [],
                "session_crons": [],
            }
        case SubagentStopped():
            return {"stop_hook_active": False, "last_assistant_message": told.summary}
        case TurnFailed():
            return {"error": told.kind, "error_details": told.message}
        case Notified():
            return {"message": told.message, "notification_type": told.kind}
        case PersonAsked() if told.event == "PermissionRequest":
            return {} if told.call is None else of_tool(told.call)
        case PersonAsked():
            is_approval = told.kind == "approval"
            kind = "permission_prompt" if is_approval else "elicitation_dialog"
            return {"message": told.message, "notification_type": kind}
        case Elicited():
            return {"mcp_server_name": told.server, "message": told.message, "mode": "form"}
        case ElicitationAnswered():
            return {"mcp_server_name": told.server, "action": told.action}
        case SubagentStarted() | _:
            return {}


def response(told: ToolDone) -> Any:
    """The result in the shape that Claude Code's tool of that kind gives."""
    if told.data is not None:
        return told.data
    if told.tool_kind == "shell":
        return {
            "stdout": told.content,
            "stderr": "",
            "interrupted": False,
            "isImage": False,
            "noOutputExpected": False,
        }
    if told.tool_kind == "mcp":
        return [{"type": "text", "text": told.content}]
    return told.content


def iso(at_s: float | None) -> str | None:
    """A time as `2026-11-28T12:00:00.000Z`."""
    if at_s is None:
        return None
    text = datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


BLOCKED: Final = "blocked by a hook, which gave no reason"


def judge(event: HostedEvent, handler: Handler, told: Happening, ended: Ended) -> Judged:
    """0 and JSON: what it says; 2: a block; all else has failed, but its JSON still counts."""
    body = ended.body() if ended.exit_code is not None else None
    if ended.exit_code == 2:
        said = body or {}
        reason = reason_of(ended.stderr, said.get("reason"), ended.stdout) or BLOCKED
        return Judged(answer=_with(blocked(told, reason), of_all(said)))
    if body is not None:
        return Judged(
            answer=answered(told, body), failed=ended.trouble if ended.exit_code else None
        )
    if ended.exit_code == 0:
        return Judged(answer=plain(told, ended.stdout))
    if handler.on_failure == "closed" and not isinstance(told, StopAsked):
        return Judged(
            answer=blocked(told, f"a hook that has to be asked {ended.trouble}"),
            failed=ended.trouble,
        )
    return Judged(failed=ended.trouble)


def plain(told: Happening, text: str) -> HookAnswer:
    """Text that is no JSON: the model reads it at the start and with a prompt."""
    said = text.strip()
    if said and isinstance(told, (SessionStarted, Prompted)):
        return HookAnswer(context=(said,))
    return HookAnswer()


def blocked(told: Happening, reason: str) -> HookAnswer:
    """What a block does to this event."""
    match told:
        case ToolAsked() | Prompted():
            return HookAnswer(denied=reason)
        case StopAsked():
            return HookAnswer(continue_with=reason)
        case ToolDone():
            return HookAnswer(context=(reason,))
        case PersonAsked() if told.event != "Notification":
            return HookAnswer(decision="deny")
        case _:
            return HookAnswer(message=reason)


def of_all(body: dict[str, Any]) -> HookAnswer:
    """The parts that every event takes."""
    end = None
    if body.get("continue") is False:
        end = text_in(body, "stopReason") or "a hook has ended the turn"
    return HookAnswer(message=text_in(body, "systemMessage"), end=end)


def answered(told: Happening, body: dict[str, Any]) -> HookAnswer:
    """What the JSON says; a field or a word that is not known says nothing."""
    said = object_of(body, "hookSpecificOutput") or {}
    if said.get("hookEventName") not in (None, told.event):
        said = {}
    answer = of_all(body)
    extra = text_in(said, "additionalContext")
    context = (extra,) if extra is not None else ()
    is_blocked = body.get("decision") == "block"
    reason = reason_of(body.get("reason")) or BLOCKED
    match told:
        case ToolAsked():
            answer = _with(answer, _before_tool(body, said))
        case Prompted() if is_blocked:
            answer = _with(answer, HookAnswer(denied=reason))
        case ToolDone():
            texts = (*((reason,) if is_blocked else ()), *context)
            return _with(answer, HookAnswer(result=_result(said), context=texts))
        case StopAsked():
            text = reason if is_blocked else extra
            return _with(answer, HookAnswer(continue_with=text))
        case Prompted() | SessionStarted() | SubagentStarted():
            pass
        case PersonAsked():
            return _with(answer, HookAnswer(decision=decision_in(object_of(said, "decision"))))
        case _:
            return answer
    return _with(answer, HookAnswer(context=context))


def decision_in(said: Mapping[str, Any] | None) -> Literal["allow", "deny"] | None:
    """What the answer to a permission request says."""
    match (said or {}).get("behavior"):
        case "allow":
            return "allow"
        case "deny":
            return "deny"
        case _:
            return None


def _before_tool(body: dict[str, Any], said: dict[str, Any]) -> HookAnswer:
    decision = said.get("permissionDecision")
    reason = reason_of(said.get("permissionDecisionReason"), body.get("reason"))
    if decision == "deny" or (decision is None and body.get("decision") == "block"):
        return HookAnswer(denied=reason or BLOCKED)
    asked = reason or "a hook asks for a person's approval"
    return HookAnswer(
        ask=asked if decision in ("ask", "defer") else None,
        arguments=object_of(said, "updatedInput"),
    )


def _result(said: dict[str, Any]) -> str | None:
    for name in ("updatedToolOutput", "updatedMCPToolOutput"):
        if said.get(name) is not None:
            try:
                return text_of(said[name])
            except WrongField:
                return None
    return None


def _with(first: HookAnswer, second: HookAnswer) -> HookAnswer:
    """Both in one; where both say something the first counts."""
    return HookAnswer(
        denied=first.denied if first.denied is not None else second.denied,
        ask=first.ask if first.ask is not None else second.ask,
        arguments=first.arguments if first.arguments is not None else second.arguments,
        context=(*first.context, *second.context),
        result=first.result if first.result is not None else second.result,
        continue_with=first.continue_with or second.continue_with,
        message=first.message or second.message,
        end=first.end or second.end,
        decision=first.decision or second.decision,
    )
