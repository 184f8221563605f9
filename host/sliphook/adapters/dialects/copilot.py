"""Pure: GitHub Copilot CLI. Hooks are written in its own spelling; Claude's is read too."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Any, Final

import msgspec

from . import shape
from .answer import HookAnswer, HookReply, blocked, denied, denied_or_asked, reply_of
from .dialect import EXACT, NOT_ASKED, Config, Dialect, DialectEntry, ServerConfig, about, never
from .reading import Fields, text_of
from .told import (
    Happening,
    Prompted,
    SessionStarted,
    StopAsked,
    SubagentStarted,
    ToolAsked,
    ToolDone,
    TurnFailed,
)
from .toolnames import COPILOT, ToolNames
from .transcript import Transcript

_EXIT_CODE: Final = re.compile(r"exit code (-?\d{1,10})>?\s*\Z")
_TAIL_CHARS: Final = 200
"""Where a shell's result has the exit code."""


def _is_interrupt(line: Fields) -> bool:
    return line.text("type") == "abort"


def _post_tool(event: str, fields: Fields, tools: ToolNames) -> Happening:
    data = fields.object("toolResult", "tool_result")
    result = Fields(data)
    content = text_of(result.raw("textResultForLlm", "text_result_for_llm"))
    is_shell = tools.kind(fields.needed_name("toolName", "tool_name")) == "shell"
    ended = _EXIT_CODE.search(content[-_TAIL_CHARS:]) if is_shell else None
    failed = result.name("resultType", "result_type") not in (None, "success")
    failed = failed or (ended is not None and int(ended[1]) != 0)
    done = shape.tool_done(event, fields, tools, data, failed=failed)
    return msgspec.structs.replace(done, content=content)


def _error(event: str, fields: Fields, tools: ToolNames) -> Happening:
    error = fields.fields("error")
    return TurnFailed(
        **shape.common(event, fields),
        kind=error.name("name") or "unknown",
        message=error.text("message") or "",
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
    reason, decision = denied_or_asked(answer)
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
        ours="session_start",
        how="exact",
        theirs=("sessionStart",),
        limits="Comes beside the first prompt, which waits 0.1 s for it; if it comes later, its "
        "source is `resume`.",
        answers={"context": EXACT},
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
        limits="No hook tells of it. Found in the transcript file, else at the next event.",
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
        limits="Only of what a plugin's `ask` has Copilot CLI ask. `permissionRequest` also comes "
        "where nobody is asked, so its own prompts are not told.",
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
    "sessionStart": shape.session_start,
    "sessionEnd": shape.session_end,
    "userPromptSubmitted": shape.prompt,
    "preToolUse": shape.pre_tool,
    "permissionRequest": shape.permission,
    "postToolUse": _post_tool,
    "postToolUseFailure": shape.tool_failed,
    "agentStop": shape.stop,
    "errorOccurred": _error,
    "notification": shape.notification,
}

_AS_CLAUDE: Final = {
    "SessionStart": shape.session_start,
    "SessionEnd": shape.session_end,
    "UserPromptSubmit": shape.prompt,
    "PreToolUse": shape.pre_tool,
    "PermissionRequest": shape.permission,
    "PostToolUse": _post_tool,
    "Stop": shape.stop,
}

DIALECT: Final = Dialect(
    name="copilot",
    title="Copilot CLI",
    programs=("copilot",),
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
    server=ServerConfig(user=".copilot/mcp-config.json", fields={"type": "local", "tools": ["*"]}),
    life=("sessionStart", "sessionEnd"),
    turns=("userPromptSubmitted", "agentStop", "errorOccurred"),
    guards=MappingProxyType(
        {
            "preToolUse": HookReply(exit_code=1),
            "userPromptSubmitted": reply_of(blocked(NOT_ASKED)),
        }
    ),
    environment=("COPILOT_PROJECT_DIR", "COPILOT_CLI"),
    transcript=Transcript(
        mark=b'"abort"',
        interrupt=_is_interrupt,
        path=".copilot/session-state/{session_id}/events.jsonl",
    ),
    starts_beside_prompt=True,
)
