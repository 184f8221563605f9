"""Pure: Codex. It takes Claude Code's shape by the letter: one unknown field, and the hook failed.

A hook that has failed lets the tool run, so nothing is written here that Codex was not seen to
take.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final, cast

from . import shape
from .answer import HookAnswer, HookReply, blocked, denied, needs_person, reply_of, specific
from .dialect import EXACT, UNREACHED, Config, Dialect, DialectEntry, ServerConfig, about, never
from .reading import Fields
from .shape import common
from .told import (
    Happening,
    Prompted,
    SessionEnded,
    SessionStarted,
    StopAsked,
    SubagentStarted,
    ToolAsked,
    ToolDone,
    TurnInterrupted,
)
from .toolnames import CODEX, ToolNames


def _post_tool(event: str, fields: Fields, tools: ToolNames) -> Happening:
    response = fields.raw("tool_response")
    of_mcp = cast(dict[str, Any], response) if isinstance(response, dict) else {}
    known = of_mcp.get("isError")
    return shape.tool_done(
        event, fields, tools, response, failed=known is True, status_known=isinstance(known, bool)
    )


def _interrupt(event: str, fields: Fields, tools: ToolNames) -> Happening:
    return TurnInterrupted(**common(event, fields))


def _write(told: Happening, answer: HookAnswer) -> HookReply:
    body: dict[str, Any] = {"systemMessage": answer.message}
    said = None
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
            body |= blocked(answer.result)
            said = specific(told.event, additionalContext=answer.context_text)
        case StopAsked():
            body |= blocked(answer.continue_with)
        case _:
            pass
    return reply_of({**body, "hookSpecificOutput": said})


def _before_tool(told: ToolAsked, answer: HookAnswer) -> dict[str, Any] | None:
    reason = denied(answer) or needs_person(answer)
    changed = None if reason is not None else answer.arguments
    decision = "deny" if reason is not None else None if changed is None else "allow"
    return specific(
        told.event,
        permissionDecision=decision,  # a bare `allow` fails the hook
        permissionDecisionReason=reason,
        updatedInput=changed,
        additionalContext=answer.context_text,
    )


_NO_MODEL: Final = "Codex has no hook around its model calls."

_ENTRIES: Final = (
    DialectEntry(
        ours="session_start", how="exact", theirs=("SessionStart",), answers={"context": EXACT}
    ),
    DialectEntry(
        ours="session_reset",
        how="approximate",
        theirs=("SessionStart",),
        limits="Told by the start of the new session alone.",
    ),
    DialectEntry(
        ours="session_end",
        how="exact",
        theirs=("SessionEnd",),
        limits="Codex gives all hooks 3 s.",
    ),
    DialectEntry(
        ours="turn_start",
        how="approximate",
        theirs=("UserPromptSubmit",),
        limits="Fired by us before user_prompt_submit.",
    ),
    DialectEntry(
        ours="user_prompt_submit",
        how="exact",
        theirs=("UserPromptSubmit",),
        answers={
            "deny": EXACT,
            "context": EXACT,
            "replace.text": never("Codex takes no other text for a prompt."),
        },
    ),
    DialectEntry(ours="pre_llm_call", how="impossible", limits=_NO_MODEL),
    DialectEntry(ours="post_llm_call", how="impossible", limits=_NO_MODEL),
    DialectEntry(ours="llm_call_failed", how="impossible", limits=_NO_MODEL),
    DialectEntry(
        ours="pre_tool_call",
        how="approximate",
        theirs=("PreToolUse",),
        limits="Shell commands come as Bash, whatever the model called; no hook can ask a person.",
        answers={
            "allow": about("Nothing is written: Codex's own rules decide."),
            "deny": EXACT,
            "ask": about("A deny that says that a person's approval is needed."),
            "replace.arguments": about("Codex takes them with its own prompt skipped only."),
            "substitute.result": about("A deny with the text as its reason."),
            "context": EXACT,
        },
    ),
    DialectEntry(
        ours="post_tool_call",
        how="approximate",
        theirs=("PostToolUse",),
        limits="A failed command is told like one that worked. An interrupted call ends as "
        "cancelled with its turn; its command may go on in the background.",
        answers={"replace.result": EXACT, "context": EXACT},
    ),
    DialectEntry(ours="stop", how="exact", theirs=("Stop",), answers={"continue_with": EXACT}),
    DialectEntry(
        ours="agent_loop_stopped",
        how="exact",
        theirs=("Interrupt",),
        limits="What was under way is what we know of.",
    ),
    DialectEntry(
        ours="submission_end", how="impossible", limits="No message can be submitted to Codex."
    ),
    DialectEntry(
        ours="turn_end",
        how="approximate",
        theirs=("Stop", "Interrupt", "SessionEnd"),
        limits="Fired by us after the last stop, an interrupt, or the session's end.",
    ),
    DialectEntry(
        ours="notification", how="impossible", limits="Codex has no hook for what it tells people."
    ),
    DialectEntry(
        ours="user_input_required",
        how="approximate",
        theirs=("PermissionRequest", "PreToolUse"),
        limits="Codex's own prompts, which no plugin can answer. By its schemas; not seen.",
    ),
    DialectEntry(
        ours="user_input_received",
        how="approximate",
        theirs=("PostToolUse", "Stop"),
        limits="A yes is told when the tool has run; else nothing tells what the person said, and "
        "`by` is `none`.",
    ),
    DialectEntry(
        ours="subagent_start",
        how="exact",
        theirs=("SubagentStart", "PreToolUse"),
        limits="The goal is read from the call that starts the child.",
        answers={"context": EXACT},
    ),
    DialectEntry(ours="subagent_stop", how="exact", theirs=("SubagentStop",)),
)

DIALECT: Final = Dialect(
    name="codex",
    title="Codex",
    programs=("codex",),
    seen="0.171.0",
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
            "Interrupt": _interrupt,
        }
    ),
    writer=_write,
    tools=CODEX,
    config=Config(
        user=".codex/hooks.json",
        folder_variable="CODEX_HOME",
        project=".codex/hooks.json",
        trust_file="config.toml",
        longest_s={"SessionEnd": 3, "Interrupt": 3},
        trust="Codex runs a hook only after you have accepted it in `/hooks`; until then it is "
        "skipped, by `codex exec` without a word.",
    ),
    server=ServerConfig(
        user=".codex/config.toml",
        folder_variable="CODEX_HOME",
        servers="mcp_servers",
        fields={"startup_timeout_sec": 60},
        variables="env_vars",
    ),
    life=("SessionStart", "SessionEnd"),
    turns=("UserPromptSubmit", "Stop", "Interrupt"),
    asks_person=False,
    guards=MappingProxyType({"PreToolUse": UNREACHED, "UserPromptSubmit": UNREACHED}),
    environment=("CODEX_HOME",),
)
