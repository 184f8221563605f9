"""Pure: GitHub Copilot CLI. Hooks are written in its own spelling; Claude's is read too."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Any, Final

from .answer import HookAnswer, HookReply, reply_of
from .claude_shape import blocked, denied
from .dialect import EXACT, NOT_ASKED, Config, Dialect, DialectEntry, about, never, started
from .reading import Fields, text_of
from .told import (
    Happening,
    Notified,
    PermissionAsked,
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
from .toolnames import COPILOT, ToolNames

_EXIT_CODE: Final = re.compile(r"exit code (-?\d{1,10})>?\s*\Z")
_TAIL_CHARS: Final = 200
"""Where a shell's result has the exit code."""


def _common(event: str, fields: Fields) -> dict[str, Any]:
    return {
        "event": event,
        "session_id": fields.needed_name("sessionId", "session_id"),
        "cwd": fields.path("cwd"),
        "transcript_path": fields.path("transcriptPath", "transcript_path"),
        "agent_type": fields.name("agentName", "agent_name"),
    }


def _of_tool(fields: Fields, tools: ToolNames) -> dict[str, Any]:
    name = fields.needed_name("toolName", "tool_name")
    return {
        "tool_name": name,
        "tool_kind": tools.kind(name),
        "origin": tools.origin(name),
        "arguments": fields.object_or_json("toolArgs", "toolInput", "tool_input"),
    }


def _session_start(event: str, fields: Fields, tools: ToolNames) -> Happening:
    return SessionStarted(**_common(event, fields), source=started(fields.name("source")))


def _session_end(event: str, fields: Fields, tools: ToolNames) -> Happening:
    failed = fields.name("reason") == "error"
    return SessionEnded(**_common(event, fields), reason="error" if failed else "exit")


def _prompt(event: str, fields: Fields, tools: ToolNames) -> Happening:
    return Prompted(**_common(event, fields), text=fields.needed_text("prompt"))


def _pre_tool(event: str, fields: Fields, tools: ToolNames) -> Happening:
    return ToolAsked(**_common(event, fields), **_of_tool(fields, tools))


def _permission(event: str, fields: Fields, tools: ToolNames) -> Happening:
    return PermissionAsked(**_common(event, fields), **_of_tool(fields, tools))


def _post_tool(event: str, fields: Fields, tools: ToolNames) -> Happening:
    result = fields.fields("toolResult", "tool_result")
    content = text_of(result.raw("textResultForLlm", "text_result_for_llm"))
    of_tool = _of_tool(fields, tools)
    ended = _EXIT_CODE.search(content[-_TAIL_CHARS:]) if of_tool["tool_kind"] == "shell" else None
    failed = result.name("resultType", "result_type") not in (None, "success")
    failed = failed or (ended is not None and int(ended[1]) != 0)
    return ToolDone(
        **_common(event, fields),
        **of_tool,
        status="error" if failed else "ok",
        content=content,
        data=fields.raw("toolResult", "tool_result"),
    )


def _post_tool_failure(event: str, fields: Fields, tools: ToolNames) -> Happening:
    return ToolDone(
        **_common(event, fields),
        **_of_tool(fields, tools),
        status="error",
        content=text_of(fields.raw("error")),
        data=fields.raw("error"),
    )


def _stop(event: str, fields: Fields, tools: ToolNames) -> Happening:
    return StopAsked(**_common(event, fields), again=fields.flag("stop_hook_active"))


def _error(event: str, fields: Fields, tools: ToolNames) -> Happening:
    error = fields.fields("error")
    return TurnFailed(
        **_common(event, fields),
        kind=error.name("name") or "unknown",
        message=error.text("message") or "",
    )


def _subagent_start(event: str, fields: Fields, tools: ToolNames) -> Happening:
    return SubagentStarted(**_common(event, fields))


def _subagent_stop(event: str, fields: Fields, tools: ToolNames) -> Happening:
    return SubagentStopped(**_common(event, fields))


def _notification(event: str, fields: Fields, tools: ToolNames) -> Happening:
    return Notified(
        **_common(event, fields),
        kind=fields.name("notificationType", "notification_type") or "",
        message=fields.needed_text("message"),
    )


def _write(told: Happening, answer: HookAnswer) -> HookReply:
    body: dict[str, Any] = {}
    match told:
        case SessionStarted() | SubagentStarted():
            body = {"additionalContext": answer.context_text}
        case Prompted():
            body = {**blocked(denied(answer)), "additionalContext": answer.context_text}
        case ToolAsked():
            body = _before_tool(answer)
        case ToolDone():
            result = None if answer.result is None else _result(told, answer.result)
            body = {"modifiedResult": result, "additionalContext": answer.context_text}
        case StopAsked():
            body = blocked(answer.continue_with)
        case _:
            pass
    silent = answer.message is not None or answer.end is not None
    return reply_of(body, (_SILENT,) if silent else ())


_SILENT: Final = "Copilot CLI shows no text of a hook, and ends no turn for one."


def _before_tool(answer: HookAnswer) -> dict[str, Any]:
    reason, decision = denied(answer), "deny"
    if reason is None and answer.ask is not None:
        reason, decision = answer.ask or "a plugin asks for a person's approval", "ask"
    return {
        "permissionDecision": None if reason is None else decision,
        "permissionDecisionReason": reason,
        "modifiedArgs": None if answer.denied is not None else answer.arguments,
        "additionalContext": answer.context_text,
    }


def _result(told: ToolDone, text: str) -> dict[str, Any]:
    result_type = "success" if told.status == "ok" else "failure"
    return {"resultType": result_type, "textResultForLlm": text}


_NO_MODEL: Final = "Copilot CLI has no hook around its model calls."

_ENTRIES: Final = (
    DialectEntry(
        ours="session_start", how="exact", theirs=("sessionStart",), answers={"context": EXACT}
    ),
    DialectEntry(ours="session_reset", how="impossible", limits="Copilot CLI tells no reset."),
    DialectEntry(ours="session_end", how="exact", theirs=("sessionEnd",)),
    DialectEntry(
        ours="turn_start",
        how="approximate",
        theirs=("userPromptSubmitted",),
        limits="Fired by us before user_prompt_submit.",
    ),
    DialectEntry(
        ours="user_prompt_submit",
        how="exact",
        theirs=("userPromptSubmitted",),
        answers={
            "deny": EXACT,
            "context": EXACT,
            "replace.text": never("Copilot CLI was not seen to take another text for a prompt."),
        },
    ),
    DialectEntry(ours="pre_llm_call", how="impossible", limits=_NO_MODEL),
    DialectEntry(ours="post_llm_call", how="impossible", limits=_NO_MODEL),
    DialectEntry(
        ours="llm_call_failed",
        how="approximate",
        theirs=("errorOccurred",),
        limits="Once for an error of any kind. By the documents; not seen.",
    ),
    DialectEntry(
        ours="pre_tool_call",
        how="exact",
        theirs=("preToolUse",),
        limits="No id of the call: equal calls at the same time cannot be told apart.",
        answers={
            "allow": about("Nothing is written: Copilot CLI's own rules decide."),
            "deny": EXACT,
            "ask": EXACT,
            "replace.arguments": EXACT,
            "substitute.result": about("A deny with the text as its reason."),
            "context": EXACT,
        },
    ),
    DialectEntry(
        ours="post_tool_call",
        how="approximate",
        theirs=("postToolUse", "postToolUseFailure"),
        limits="That a command failed is read from its result. An interrupted call ends as "
        "cancelled with its turn.",
        answers={"replace.result": EXACT, "context": EXACT},
    ),
    DialectEntry(ours="stop", how="exact", theirs=("agentStop",), answers={"continue_with": EXACT}),
    DialectEntry(
        ours="agent_loop_stopped",
        how="approximate",
        limits="No hook tells of it; found at the next event of the session.",
    ),
    DialectEntry(
        ours="submission_end",
        how="impossible",
        limits="No message can be submitted to Copilot CLI.",
    ),
    DialectEntry(
        ours="turn_end",
        how="approximate",
        theirs=("agentStop", "errorOccurred", "sessionEnd"),
        limits="Fired by us after the last stop, an error, or the session's end.",
    ),
    DialectEntry(
        ours="notification",
        how="approximate",
        theirs=("notification",),
        limits="Its kinds are no levels; the level is info. By the documents; not seen.",
    ),
    DialectEntry(
        ours="user_input_required",
        how="approximate",
        theirs=("preToolUse",),
        limits="Only of what a plugin's `ask` has Copilot CLI ask. Its own prompts are not told.",
    ),
    DialectEntry(
        ours="user_input_received",
        how="approximate",
        theirs=("postToolUse", "postToolUseFailure"),
        limits="To a plugin's `ask` alone. A yes is told when the tool has run, a no when "
        "the next event comes.",
    ),
    DialectEntry(
        ours="subagent_start",
        how="impossible",
        limits="A child agent comes as a session of its own. `subagentStart` is in the "
        "documents; when tried, it did not come.",
    ),
    DialectEntry(
        ours="subagent_stop",
        how="impossible",
        limits="A child agent comes as a session of its own. `subagentStop` is in the "
        "documents; when tried, it did not come.",
    ),
)

_READERS: Final = {
    "sessionStart": _session_start,
    "sessionEnd": _session_end,
    "userPromptSubmitted": _prompt,
    "preToolUse": _pre_tool,
    "permissionRequest": _permission,
    "postToolUse": _post_tool,
    "postToolUseFailure": _post_tool_failure,
    "agentStop": _stop,
    "errorOccurred": _error,
    "subagentStart": _subagent_start,
    "subagentStop": _subagent_stop,
    "notification": _notification,
}

_AS_CLAUDE: Final = {
    "SessionStart": _session_start,
    "SessionEnd": _session_end,
    "UserPromptSubmit": _prompt,
    "PreToolUse": _pre_tool,
    "PermissionRequest": _permission,
    "PostToolUse": _post_tool,
    "Stop": _stop,
}

DIALECT: Final = Dialect(
    name="copilot",
    title="Copilot CLI",
    seen="1.0.102",
    entries=_ENTRIES,
    readers=MappingProxyType({**_READERS, **_AS_CLAUDE}),
    writer=_write,
    tools=COPILOT,
    config=Config(
        user=".copilot/hooks/sliphook.json",
        project=".github/hooks/sliphook.json",
        shared=False,
        first={"version": 1},
        groups=False,
        command="bash",
        timeout="timeoutSec",
        trust="Copilot CLI runs the hooks of a project only in a folder that you trust.",
    ),
    life=("sessionStart", "sessionEnd"),
    turns=("userPromptSubmitted", "agentStop", "errorOccurred"),
    guards=MappingProxyType(
        {
            "preToolUse": HookReply(exit_code=1),
            "userPromptSubmitted": reply_of(blocked(NOT_ASKED)),
        }
    ),
    environment=("COPILOT_PROJECT_DIR", "COPILOT_CLI"),
)
