"""Pure: Cursor, by its documents alone; nothing here was tried with it."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

from . import shape
from .answer import HookAnswer, HookReply, denied, needs_person, reply_of
from .dialect import NOT_ASKED, Config, Dialect, DialectEntry, ServerConfig, about, never
from .reading import Fields
from .told import (
    Happening,
    ModelAnswered,
    Prompted,
    SessionStarted,
    StopAsked,
    ToolAsked,
    ToolDone,
    TurnFailed,
    TurnInterrupted,
)
from .toolnames import CURSOR, ToolNames


def _post_tool(event: str, fields: Fields, tools: ToolNames) -> Happening:
    return shape.tool_done(event, fields, tools, fields.raw("tool_output"))


def _response(event: str, fields: Fields, tools: ToolNames) -> Happening:
    return ModelAnswered(**shape.common(event, fields), text=fields.needed_text("text"), last=True)


def _stop(event: str, fields: Fields, tools: ToolNames) -> Happening:
    match fields.name("status"):
        case "aborted":
            return TurnInterrupted(**shape.common(event, fields))
        case "error":
            return TurnFailed(**shape.common(event, fields), kind="error", message="")
        case _:
            again = (fields.number("loop_count") or 0) > 0
            return StopAsked(**shape.common(event, fields), again=again)


def _write(told: Happening, answer: HookAnswer) -> HookReply:
    body: dict[str, Any] = {}
    unwritten: list[str] = []
    match told:
        case SessionStarted():
            body = {"additional_context": answer.context_text}
        case Prompted():
            if answer.denied is not None:
                body = {"continue": False, "user_message": denied(answer)}
            if answer.context:
                unwritten.append("Cursor takes no texts for the model with a prompt.")
        case ToolAsked():
            reason = denied(answer) or needs_person(answer)
            if reason is not None:
                body = {"permission": "deny", "user_message": reason, "agent_message": reason}
            else:
                body = {"updated_input": answer.arguments}
            if answer.context:
                unwritten.append("Cursor takes texts for the model with a tool's result only.")
        case ToolDone():
            if told.event == "postToolUse":
                body = {"additional_context": answer.context_text}
            if answer.result is not None:
                unwritten.append("Cursor takes no other result for a tool; the model has read it.")
        case StopAsked():
            body = {"followup_message": answer.continue_with}
        case _:
            pass
    if answer.message is not None or answer.end is not None:
        unwritten.append("Cursor shows no text of a hook that denies nothing, and ends no turn.")
    return reply_of(body, tuple(unwritten))


_DOCUMENTS: Final = "By the documents alone."
_NO_MODEL: Final = "Cursor has no hook around its model calls."
_NO_TEXT: Final = never("Cursor has no way to do that with a prompt.")

_ENTRIES: Final = (
    DialectEntry(
        ours="session_start",
        how="approximate",
        theirs=("sessionStart",),
        limits=_DOCUMENTS,
        answers={"context": about(_DOCUMENTS)},
    ),
    DialectEntry(ours="session_reset", how="impossible", limits="Cursor tells no reset."),
    DialectEntry(ours="session_end", how="approximate", theirs=("sessionEnd",), limits=_DOCUMENTS),
    DialectEntry(
        ours="turn_start",
        how="approximate",
        theirs=("beforeSubmitPrompt",),
        limits="Fired by us before user_prompt_submit.",
    ),
    DialectEntry(
        ours="user_prompt_submit",
        how="approximate",
        theirs=("beforeSubmitPrompt",),
        limits="Deny alone.",
        answers={"deny": about(_DOCUMENTS), "context": _NO_TEXT, "replace.text": _NO_TEXT},
    ),
    DialectEntry(ours="pre_llm_call", how="impossible", limits=_NO_MODEL),
    DialectEntry(
        ours="post_llm_call",
        how="approximate",
        theirs=("afterAgentResponse",),
        limits="The text alone; no usage, no tool calls.",
    ),
    DialectEntry(ours="llm_call_failed", how="impossible", limits=_NO_MODEL),
    DialectEntry(
        ours="pre_tool_call",
        how="approximate",
        theirs=("preToolUse",),
        limits="By the documents of those versions that have preToolUse.",
        answers={
            "allow": about("Nothing is written: Cursor's own rules decide."),
            "deny": about(_DOCUMENTS),
            "ask": about("A deny that says that a person's approval is needed."),
            "replace.arguments": about(_DOCUMENTS),
            "substitute.result": about("A deny with the text as its reason."),
            "context": about("Only if the tool has run: it goes with the result."),
        },
    ),
    DialectEntry(
        ours="post_tool_call",
        how="approximate",
        theirs=("postToolUse", "postToolUseFailure"),
        limits=_DOCUMENTS,
        answers={
            "replace.result": never("Cursor takes no other result for a tool."),
            "context": about("Not of a call that failed."),
        },
    ),
    DialectEntry(
        ours="stop",
        how="approximate",
        theirs=("stop",),
        limits="Cursor goes on at most 5 times.",
        answers={"continue_with": about("As a message of the user.")},
    ),
    DialectEntry(
        ours="agent_loop_stopped",
        how="approximate",
        theirs=("stop",),
        limits="Told when the loop has ended.",
    ),
    DialectEntry(
        ours="submission_end", how="impossible", limits="No message can be submitted to Cursor."
    ),
    DialectEntry(ours="turn_end", how="approximate", theirs=("stop",), limits=_DOCUMENTS),
    DialectEntry(
        ours="notification", how="impossible", limits="Cursor has no hook for what it tells people."
    ),
    DialectEntry(
        ours="user_input_required", how="impossible", limits="Cursor has no hook for approvals."
    ),
    DialectEntry(
        ours="user_input_received", how="impossible", limits="Cursor has no hook for approvals."
    ),
    DialectEntry(
        ours="subagent_start",
        how="approximate",
        theirs=("subagentStart",),
        limits=_DOCUMENTS,
        answers={"context": never("Cursor takes no texts for a child agent.")},
    ),
    DialectEntry(
        ours="subagent_stop", how="approximate", theirs=("subagentStop",), limits=_DOCUMENTS
    ),
)

DIALECT: Final = Dialect(
    name="cursor",
    title="Cursor",
    programs=("cursor", "cursor-agent"),
    seen="not tried; by its documents",
    entries=_ENTRIES,
    readers=MappingProxyType(
        {
            "sessionStart": shape.session_start,
            "sessionEnd": shape.session_end,
            "beforeSubmitPrompt": shape.prompt,
            "preToolUse": shape.pre_tool,
            "postToolUse": _post_tool,
            "postToolUseFailure": shape.tool_failed,
            "afterAgentResponse": _response,
            "stop": _stop,
            "subagentStart": shape.subagent_start,
            "subagentStop": shape.subagent_stop,
        }
    ),
    writer=_write,
    tools=CURSOR,
    config=Config(
        user=".cursor/hooks.json",
        project=".cursor/hooks.json",
        first={"version": 1},
        groups=False,
        kind=False,
        in_shell=False,
        closed=("failClosed", True),
        closed_events=("preToolUse", "beforeSubmitPrompt"),
    ),
    server=ServerConfig(user=".cursor/mcp.json", project=".cursor/mcp.json"),
    life=("sessionStart", "sessionEnd"),
    turns=("beforeSubmitPrompt", "stop"),
    asks_person=False,
    guards=MappingProxyType(
        {
            "preToolUse": reply_of({"permission": "deny", "agent_message": NOT_ASKED}),
            "beforeSubmitPrompt": reply_of({"continue": False, "user_message": NOT_ASKED}),
        }
    ),
)
