"""Pure: Claude Code."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final, cast

from . import shape
from .answer import HookAnswer, HookReply, blocked, denied, denied_or_asked, reply_of, specific
from .dialect import EXACT, UNREACHED, Config, Dialect, DialectEntry, ServerConfig, about, never
from .reading import Fields, text_of
from .shape import common
from .told import (
    BatchDone,
    CallEnd,
    ElicitationAnswered,
    Elicited,
    Happening,
    ModelAnswered,
    Prompted,
    SessionEnded,
    SessionStarted,
    StopAsked,
    SubagentStarted,
    ToolAsked,
    ToolDone,
    TurnFailed,
)
from .toolnames import CLAUDE, ToolNames
from .transcript import Transcript

MAX_BATCH: Final = 1_000
"""Calls of a batch that are read."""

_INTERRUPTED: Final = "[Request interrupted by user"


def _is_interrupt(line: Fields) -> bool:
    if line.raw("type") != "user":
        return False
    # a list: what the person wrote is a text, and a tool's result is no part of type `text`
    parts = line.fields("message").objects("content", MAX_BATCH)
    return any(
        part.raw("type") == "text" and (part.text("text") or "").startswith(_INTERRUPTED)
        for part in parts
    )


def _post_tool(event: str, fields: Fields, tools: ToolNames) -> Happening:
    return shape.tool_done(event, fields, tools, fields.raw("tool_response"))


def _batch(event: str, fields: Fields, tools: ToolNames) -> Happening:
    calls = [
        CallEnd(
            model_call_id=call.needed_name("tool_use_id"),
            tool_name=call.needed_name("tool_name"),
            content=text_of(call.raw("tool_response")),
        )
        for call in fields.objects("tool_calls", MAX_BATCH)
    ]
    return BatchDone(**common(event, fields), calls=tuple(calls))


def _stop_failure(event: str, fields: Fields, tools: ToolNames) -> Happening:
    return TurnFailed(
        **common(event, fields),
        kind=fields.name("error") or "unknown",
        message=fields.text("error_details", "last_assistant_message") or "",
    )


def _elicitation(event: str, fields: Fields, tools: ToolNames) -> Happening:
    return Elicited(
        **common(event, fields),
        server=fields.needed_name("mcp_server_name"),
        message=fields.text("message") or "",
    )


def _elicitation_result(event: str, fields: Fields, tools: ToolNames) -> Happening:
    return ElicitationAnswered(
        **common(event, fields),
        server=fields.needed_name("mcp_server_name"),
        action=fields.needed_name("action"),
    )


def _display(event: str, fields: Fields, tools: ToolNames) -> Happening:
    return ModelAnswered(
        **common(event, fields), text=fields.text("delta") or "", last=fields.flag("final")
    )


def _permission_denied(event: str, fields: Fields, tools: ToolNames) -> Happening:
    call = CallEnd(
        model_call_id=fields.needed_name("tool_use_id"),
        tool_name=fields.needed_name("tool_name"),
        content=fields.text("reason") or "",
    )
    return BatchDone(**common(event, fields), calls=(call,))


def _write(told: Happening, answer: HookAnswer) -> HookReply:
    body: dict[str, Any] = {"systemMessage": answer.message}
    if answer.end is not None:
        body |= {"continue": False, "stopReason": answer.end}
    unwritten: tuple[str, ...] = ()
    match told:
        case SessionEnded():
            return HookReply()
        case SessionStarted() | SubagentStarted():
            said = specific(told.event, additionalContext=answer.context_text)
        case Prompted():
            body |= blocked(denied(answer))
            said = specific(told.event, additionalContext=answer.context_text)
        case ToolAsked():
            said = _before_tool(told, answer)
        case ToolDone():
            shaped = {} if answer.result is None else _shaped(told, answer.result)
            if answer.result is not None and not shaped:
                unwritten = (_UNSHAPED.format(tool=told.tool_name),)
            said = specific(told.event, **shaped, additionalContext=answer.context_text)
        case StopAsked():
            body |= blocked(answer.continue_with)
            said = None
        case _:
            said = None
    return reply_of({**body, "hookSpecificOutput": said}, unwritten)


def _before_tool(told: ToolAsked, answer: HookAnswer) -> dict[str, Any] | None:
    reason, decision = denied_or_asked(answer)
    return specific(
        told.event,
        permissionDecision=None if reason is None else decision,
        permissionDecisionReason=reason,
        updatedInput=None if answer.denied is not None else answer.arguments,
        additionalContext=answer.context_text,
    )


_UNSHAPED: Final = (
    "Claude Code takes a result only in the shape that the tool gave; that of {tool} is not known,"
    " so the model has read what the tool gave."
)


def _shaped(told: ToolDone, text: str) -> dict[str, Any]:
    """The fields that replace the result; none if there is no way."""
    if told.event != "PostToolUse":
        return {}
    if told.tool_kind == "mcp":  # which of the two is read depends on the version
        parts = [{"type": "text", "text": text}]
        return {"updatedToolOutput": parts, "updatedMCPToolOutput": parts}
    if isinstance(told.data, str):
        return {"updatedToolOutput": text}
    data = told.data
    shape = cast(dict[str, Any], data) if isinstance(data, dict) else {}
    if isinstance(shape.get("stdout"), str):
        return {"updatedToolOutput": {**shape, "stdout": text, "stderr": ""}}
    return {}


_ALLOW: Final = about(
    "Nothing is written: Claude Code's own rules decide as if nobody had said it."
)
_TOOL_ENDS: Final = ("PostToolUse", "PostToolUseFailure", "PostToolBatch")
_NO_MODEL: Final = "Claude Code has no hook around its model calls."

_ENTRIES: Final = (
    DialectEntry(
        ours="session_start",
        how="exact",
        theirs=("SessionStart",),
        answers={"context": EXACT},
    ),
    DialectEntry(
        ours="session_reset",
        how="approximate",
        theirs=("SessionEnd", "SessionStart"),
        limits="Made of the two events around `/clear`.",
    ),
    DialectEntry(
        ours="session_end",
        how="exact",
        theirs=("SessionEnd",),
    ),
    DialectEntry(
        ours="turn_start",
        how="approximate",
        theirs=("UserPromptSubmit",),
        limits="Fired by us before user_prompt_submit; Claude Code has no event of its own.",
    ),
    DialectEntry(
        ours="user_prompt_submit",
        how="exact",
        theirs=("UserPromptSubmit",),
        answers={
            "deny": EXACT,
            "context": EXACT,
            "replace.text": never("Claude Code takes no other text for a prompt."),
        },
    ),
    DialectEntry(ours="pre_llm_call", how="impossible", limits=_NO_MODEL),
    DialectEntry(
        ours="post_llm_call",
        how="approximate",
        theirs=("MessageDisplay",),
        limits="Only the text that is shown; no usage, no tool calls, no finish reason. Not told "
        "if it comes after the end of its turn.",
    ),
    DialectEntry(
        ours="llm_call_failed",
        how="approximate",
        theirs=("StopFailure",),
        limits="Once for the turn that failed, not for each attempt.",
    ),
    DialectEntry(
        ours="pre_tool_call",
        how="exact",
        theirs=("PreToolUse",),
        answers={
            "allow": _ALLOW,
            "deny": EXACT,
            "ask": about("With `-p` nobody can be asked, and it is a deny."),
            "replace.arguments": EXACT,
            "substitute.result": about("A deny with the text as its reason."),
            "context": EXACT,
        },
    ),
    DialectEntry(
        ours="post_tool_call",
        how="approximate",
        theirs=_TOOL_ENDS,
        limits="An interrupted call is told by nobody; it ends with its turn, as cancelled.",
        answers={
            "replace.result": about(
                "For shell and MCP tools, and those that give a text; not of a call that failed."
            ),
            "context": EXACT,
        },
    ),
    DialectEntry(ours="stop", how="exact", theirs=("Stop",), answers={"continue_with": EXACT}),
    DialectEntry(
        ours="agent_loop_stopped",
        how="approximate",
        limits="No hook tells of it. Found in the transcript file, else at the next event.",
    ),
    DialectEntry(
        ours="submission_end",
        how="impossible",
        limits="No message can be submitted to Claude Code.",
    ),
    DialectEntry(
        ours="turn_end",
        how="approximate",
        theirs=("Stop", "StopFailure", "SessionEnd"),
        limits="Fired by us after the last stop, an error, an interrupt, or the session's end.",
    ),
    DialectEntry(
        ours="notification",
        how="approximate",
        theirs=("Notification",),
        limits="Its kinds are no levels; the level is info.",
    ),
    DialectEntry(
        ours="user_input_required",
        how="approximate",
        theirs=("PreToolUse", "PermissionRequest", "Elicitation"),
        limits="No plugin can answer Claude Code's own prompts; what a plugin's `ask` has it ask "
        "neither, but the person.",
    ),
    DialectEntry(
        ours="user_input_received",
        how="approximate",
        theirs=(*_TOOL_ENDS, "PermissionDenied", "ElicitationResult"),
        limits="A yes is told when the tool has run, a no when all calls of the answer are over.",
    ),
    DialectEntry(
        ours="subagent_start",
        how="exact",
        theirs=("SubagentStart", "PreToolUse"),
        answers={"context": EXACT},
    ),
    DialectEntry(ours="subagent_stop", how="exact", theirs=("SubagentStop",)),
)

DIALECT: Final = Dialect(
    name="claude-code",
    title="Claude Code",
    programs=("claude",),
    seen="2.1.332",
    entries=_ENTRIES,
    readers=MappingProxyType(
        {
            "SessionStart": shape.session_start,
            "SessionEnd": shape.session_end,
            "UserPromptSubmit": shape.prompt,
            "PreToolUse": shape.pre_tool,
            "PermissionRequest": shape.permission,
            "PostToolUse": _post_tool,
            "Stop": shape.stop,
            "SubagentStart": shape.subagent_start,
            "SubagentStop": shape.subagent_stop,
            "PostToolUseFailure": shape.tool_failed,
            "PostToolBatch": _batch,
            "PermissionDenied": _permission_denied,
            "StopFailure": _stop_failure,
            "Notification": shape.notification,
            "Elicitation": _elicitation,
            "ElicitationResult": _elicitation_result,
            "MessageDisplay": _display,
        }
    ),
    writer=_write,
    tools=CLAUDE,
    config=Config(
        user=".claude/settings.json",
        folder_variable="CLAUDE_CONFIG_DIR",
        project=".claude/settings.json",
        closed=("onFailure", "block"),
        switched_off=("disableAllHooks", True),
        closed_events=("PreToolUse", "PermissionRequest", "UserPromptSubmit"),
    ),
    server=ServerConfig(
        user=".claude.json",
        folder_variable="CLAUDE_CONFIG_DIR",
        project=".mcp.json",
        fields={"type": "stdio"},
    ),
    life=("SessionStart", "SessionEnd"),
    turns=("UserPromptSubmit", "Stop", "StopFailure"),
    guards=MappingProxyType({"PreToolUse": UNREACHED, "UserPromptSubmit": UNREACHED}),
    environment=("CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID"),
    transcript=Transcript(mark=_INTERRUPTED.encode(), interrupt=_is_interrupt),
)
