"""Pure: how GitHub Copilot CLI runs its hooks, in its own spelling and in Claude Code's."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

import msgspec

from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.dialect import EXACT, about
from sliphook.adapters.dialects.told import (
    Happening,
    Notified,
    PersonAsked,
    Prompted,
    SessionEnded,
    SessionStarted,
    StopAsked,
    SubagentStarted,
    SubagentStopped,
    ToolAsked,
    ToolDone,
    TurnFailed,
)

from .claude_rules import decision_in, iso
from .flat_define import define_copilot
from .handler import Handler
from .hosted import (
    BESIDE_THE_PERSON,
    DECIDES,
    Ended,
    Hosted,
    HostedEvent,
    Judged,
    failed,
    not_here,
    object_of,
    reason_of,
    text_in,
    worked,
)
from .toolmap import SAME, TheirTools, Tool

_SOURCES: Final = {"startup": "new", "resume": "resume", "reset": "new", "compacted": "resume"}
_REASONS: Final = {"exit": "complete", "reset": "complete", "error": "error"}
_IN_CLAUDES: Final = {"bash": "Bash", "view": "Read", "create": "Write", "edit": "Edit"}


def spelt_as_claude(event: str) -> bool:
    """The event is spelt as Claude Code's, and so are the fields of its stdin."""
    return event[:1].isupper()


def build(told: Happening) -> dict[str, Any]:
    """What Copilot CLI's hooks read."""
    body: dict[str, Any] = {
        "sessionId": told.session_id,
        "timestamp": None if told.at_s is None else round(told.at_s * 1000),
        "cwd": told.cwd,
        "transcriptPath": told.transcript_path if isinstance(told, StopAsked) else None,
    }
    match told:
        case SessionStarted():
            body["source"] = _SOURCES[told.source]
        case SessionEnded():
            body["reason"] = _REASONS[told.reason]
        case Prompted():
            body["prompt"] = told.text
        case ToolAsked():
            body |= {"toolName": told.tool_name, "toolArgs": told.arguments}
        case ToolDone() if told.event == "postToolUseFailure":
            body |= {
                "toolName": told.tool_name,
                "toolArgs": told.arguments,
                "error": told.content,
            }
        case ToolDone():
            body |= {
                "toolName": told.tool_name,
                "toolArgs": told.arguments,
                "toolResult": told.data
                if told.data is not None
                else {"resultType": "success", "textResultForLlm": told.content},
            }
        case StopAsked():
            body |= {"stopReason": "end_turn", "stop_hook_active": told.again}
        case TurnFailed():
            body["error"] = {"name": told.kind, "message": told.message}
        case SubagentStarted() | SubagentStopped():
            body["agentName"] = told.agent_type
        case Notified():
            body |= {"message": told.message, "notificationType": told.kind}
        case PersonAsked() if told.call is not None:
            body |= {"toolName": told.call.tool_name, "toolInput": told.call.arguments}
        case _:
            pass
    return _as_claude(told, body) if spelt_as_claude(told.event) else body


_SNAKE: Final = {
    "sessionId": "session_id",
    "transcriptPath": "transcript_path",
    "toolName": "tool_name",
    "toolArgs": "tool_input",
    "toolResult": "tool_result",
    "stopReason": "stop_reason",
    "agentName": "agent_name",
    "notificationType": "notification_type",
    "resultType": "result_type",
    "textResultForLlm": "text_result_for_llm",
}


def _as_claude(told: Happening, body: dict[str, Any]) -> dict[str, Any]:
    said = {_SNAKE.get(name, name): value for name, value in body.items()}
    said |= {"hook_event_name": told.event, "timestamp": iso(told.at_s)}
    if "tool_name" in said:
        said["tool_name"] = _IN_CLAUDES.get(said["tool_name"], said["tool_name"])
    result = object_of(said, "tool_result")
    if result is not None:
        said["tool_result"] = {_SNAKE.get(name, name): value for name, value in result.items()}
    return said


def judge(event: HostedEvent, handler: Handler, told: Happening, ended: Ended) -> Judged:
    """0: what the JSON says; else it has failed, which before a tool is a deny."""
    if ended.exit_code != 0:
        if isinstance(told, ToolAsked):
            reason = f"hook errored: it {ended.trouble}"
            return Judged(answer=HookAnswer(denied=reason), failed=ended.trouble)
        return Judged(failed=ended.trouble)
    body = ended.body()
    if body is None:
        return Judged()
    if spelt_as_claude(told.event):
        body = {**(object_of(body, "hookSpecificOutput") or {}), **body}
    extra = text_in(body, "additionalContext")
    context = (extra,) if extra is not None else ()
    reason = reason_of(body.get("reason")) or "blocked by a hook"
    is_blocked = body.get("decision") in ("block", "deny")
    match told:
        case SessionStarted() | SubagentStarted():
            return Judged(answer=HookAnswer(context=context))
        case Prompted():
            denied = reason if is_blocked else None
            return Judged(answer=HookAnswer(denied=denied, context=context))
        case ToolAsked():
            return Judged(answer=_before_tool(body, context))
        case ToolDone():
            return Judged(answer=HookAnswer(result=_result(body), context=context))
        case StopAsked() if is_blocked:
            return Judged(answer=HookAnswer(continue_with=reason))
        case PersonAsked():
            return Judged(answer=HookAnswer(decision=decision_in(body)))
        case _:
            return Judged()


def _before_tool(body: dict[str, Any], context: tuple[str, ...]) -> HookAnswer:
    decision = body.get("permissionDecision")
    reason = reason_of(body.get("permissionDecisionReason"), body.get("reason"))
    if decision == "deny":
        return HookAnswer(denied=reason or "denied by a hook", context=context)
    changed = object_of(body, "modifiedArgs")
    return HookAnswer(
        ask=(reason or "a hook asks for a person's approval") if decision == "ask" else None,
        arguments=changed if changed is not None else object_of(body, "updatedInput"),
        context=context,
    )


def _result(body: dict[str, Any]) -> str | None:
    changed = object_of(body, "modifiedResult") or {}
    text = changed.get("textResultForLlm")
    return text if isinstance(text, str) else None


_TOOL: Final = ("toolName", "toolArgs")
_TOOLS: Final = "Names and arguments as `foreign.tools` says."


def _of_a_call(told: Happening) -> bool:
    return isinstance(told, PersonAsked) and told.call is not None


def _both(theirs: str, claude: str, **said: Any) -> tuple[HostedEvent, ...]:
    """One event in both spellings."""
    one = HostedEvent(theirs=theirs, **said)
    fields = tuple(_SNAKE.get(name, name) for name in one.fields)
    matched = _SNAKE.get(one.matched, one.matched)
    return one, msgspec.structs.replace(one, theirs=claude, fields=fields, matched=matched)


_EVENTS: Final = (
    *_both(
        "sessionStart",
        "SessionStart",
        ours="session_start",
        fields=("source",),
        matched="source",
        answers={"context": EXACT},
    ),
    *_both("sessionEnd", "SessionEnd", ours="session_end", fields=("reason",)),
    *_both(
        "userPromptSubmitted",
        "UserPromptSubmit",
        ours="user_prompt_submit",
        fields=("prompt",),
        answers={"deny": EXACT, "context": EXACT},
        blocks=True,
    ),
    *_both(
        "preToolUse",
        "PreToolUse",
        ours="pre_tool_call",
        how="approximate",
        limits=_TOOLS,
        fields=_TOOL,
        matched="toolName",
        blocks=True,
        answers={
            "allow": about("No opinion: the agent's own rules decide."),
            "deny": EXACT,
            "ask": EXACT,
            "replace.arguments": EXACT,
            "context": EXACT,
        },
    ),
    *_both(
        "postToolUse",
        "PostToolUse",
        ours="post_tool_call",
        how="approximate",
        limits=_TOOLS,
        fields=(*_TOOL, "toolResult"),
        matched="toolName",
        when=worked,
        answers={"replace.result": EXACT, "context": EXACT},
    ),
    HostedEvent(
        theirs="postToolUseFailure",
        ours="post_tool_call",
        how="approximate",
        limits=_TOOLS,
        fields=(*_TOOL, "error"),
        matched="toolName",
        when=failed,
        answers={"context": EXACT},
    ),
    *_both(
        "agentStop",
        "Stop",
        ours="stop",
        fields=("stopReason", "stop_hook_active", "transcriptPath"),
        answers={"continue_with": EXACT},
    ),
    HostedEvent(
        theirs="errorOccurred",
        ours="llm_call_failed",
        how="approximate",
        limits="When a model call has failed for good.",
        fields=("error",),
    ),
    HostedEvent(
        theirs="subagentStart",
        ours="subagent_start",
        fields=("agentName",),
        answers={"context": EXACT},
    ),
    HostedEvent(
        theirs="subagentStop",
        ours="subagent_stop",
        how="approximate",
        limits="Told only.",
        fields=("agentName",),
    ),
    HostedEvent(
        theirs="notification",
        ours="notification",
        how="approximate",
        limits="`notificationType` is our level.",
        fields=("message", "notificationType"),
    ),
    *_both(
        "permissionRequest",
        "PermissionRequest",
        ours="user_input_required",
        how="approximate",
        limits=BESIDE_THE_PERSON,
        fields=("toolName", "toolInput"),
        when=_of_a_call,
        answers=DECIDES,
    ),
    *not_here("userPromptTransformed", "preCompact"),
)

HOSTED: Final = Hosted(
    name="copilot",
    title="Copilot CLI",
    seen="1.0.102",
    format="json",
    events=_EVENTS,
    common=("sessionId", "timestamp", "cwd"),
    define=define_copilot,
    build=build,
    judge=judge,
    rule="names or search",
    tools=TheirTools(
        by_claude={
            **SAME,
            "Bash": Tool("bash"),
            "Read": Tool("view", {"file_path": "path"}),
            "Write": Tool("create", {"file_path": "path", "content": "file_text"}),
            "Edit": Tool(
                "edit", {"file_path": "path", "old_string": "old_str", "new_string": "new_str"}
            ),
            "Glob": Tool("glob"),
            "Grep": Tool("grep"),
            "WebFetch": Tool("web_fetch"),
            "Task": Tool("task"),
        },
        mcp="{server}-{tool}",
    ),
    environment=MappingProxyType(
        {
            "COPILOT_PROJECT_DIR": "{project}",
            "COPILOT_HOOK_DIR": "{root}",
            "COPILOT_CLI": "1",
            "CLAUDE_PROJECT_DIR": "{project}",
        }
    ),
    uses=(),
    failure="Before a tool call every failure is a deny; elsewhere it is no opinion.",
)
