"""Pure: Gemini CLI."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Any, Final

import msgspec

from . import shape
from .answer import HookAnswer, HookReply, blocked, denied, needs_person, reply_of, specific
from .dialect import EXACT, UNREACHED, Config, Dialect, DialectEntry, ServerConfig, about, never
from .reading import Fields, text_of
from .shape import common
from .told import (
    Happening,
    ModelAnswered,
    ModelAsked,
    Prompted,
    SessionEnded,
    SessionStarted,
    StopAsked,
    ToolAsked,
    ToolDone,
)
from .toolnames import GEMINI, ToolNames
from .transcript import Transcript

MAX_MESSAGES: Final = 10_000
"""Messages of a model call that are read."""

_FAILED: Final = re.compile(r"^Exit Code: -?[1-9]", re.MULTILINE)
_TAIL_CHARS: Final = 500
"""Where a shell's result has the exit code."""
_CANCELLED: Final = re.compile(r"(<untrusted_context>\s*)?Command was cancelled by user before")
"""How a shell's result begins if the person has stopped it; else there is a heading."""


def _is_interrupt(line: Fields) -> bool:
    return line.text("type") == "info" and line.text("content") == "Request cancelled."


def _after_tool(event: str, fields: Fields, tools: ToolNames) -> Happening:
    response = fields.fields("tool_response")
    content = text_of(response.raw("llmContent"))
    of_shell = tools.kind(fields.needed_name("tool_name")) == "shell"
    failed = response.raw("error") is not None or (
        of_shell and _FAILED.search(content[-_TAIL_CHARS:]) is not None
    )
    done = shape.tool_done(event, fields, tools, fields.raw("tool_response"), failed=failed)
    if of_shell and _CANCELLED.match(content) is not None:
        done = msgspec.structs.replace(done, status="interrupted")
    return msgspec.structs.replace(done, content=content)


def _before_model(event: str, fields: Fields, tools: ToolNames) -> Happening:
    request = fields.fields("llm_request")
    messages = tuple(
        (message.name("role") or "", text_of(message.raw("content")))
        for message in request.objects("messages", MAX_MESSAGES)
    )
    said: dict[str, Any] = common(event, fields) | {"model": request.name("model")}
    return ModelAsked(**said, messages=messages)


def _after_model(event: str, fields: Fields, tools: ToolNames) -> Happening:
    response = fields.fields("llm_response")
    usage = response.fields("usageMetadata")
    counts = usage.number("promptTokenCount"), usage.number("candidatesTokenCount")
    said: dict[str, Any] = common(event, fields) | {
        "model": fields.fields("llm_request").name("model")
    }
    return ModelAnswered(
        **said,
        text=response.text("text") or "",
        last=any(c.name("finishReason") is not None for c in response.objects("candidates", 1)),
        usage=None if counts[0] is None or counts[1] is None else (int(counts[0]), int(counts[1])),
    )


def _notification(event: str, fields: Fields, tools: ToolNames) -> Happening:
    told = shape.notification(event, fields, tools)
    return msgspec.structs.replace(told, asks=fields.name("notification_type") == "ToolPermission")


def _write(told: Happening, answer: HookAnswer) -> HookReply:
    body: dict[str, Any] = {"systemMessage": answer.message}
    if answer.end is not None:
        body |= {"continue": False, "stopReason": answer.end}
    said = None
    unwritten: tuple[str, ...] = ()
    match told:
        case SessionEnded():
            return HookReply()
        case SessionStarted():
            said = specific(told.event, additionalContext=answer.context_text)
        case Prompted():
            body |= _refused(denied(answer))
            said = specific(told.event, additionalContext=answer.context_text)
        case ToolAsked():
            reason = denied(answer) or needs_person(answer) or _cannot_take_away(told, answer)
            body |= _refused(reason)
            if reason is None:
                said = specific(told.event, tool_input=answer.arguments)
            if answer.context:
                unwritten = ("Gemini CLI takes texts for the model with a tool's result only.",)
        case ToolDone():
            # of a result that is denied it takes the reason alone
            texts = (answer.result, answer.context_text)
            whole = None if answer.result is None else "\n\n".join(filter(None, texts))
            body |= _refused(whole)
            if whole is None:
                said = specific(told.event, additionalContext=answer.context_text)
        case StopAsked():
            body |= _refused(answer.continue_with)
        case _:
            pass
    return reply_of({**body, "hookSpecificOutput": said}, unwritten)


def _refused(reason: str | None) -> dict[str, Any]:
    return blocked(reason, "deny")


def _cannot_take_away(told: ToolAsked, answer: HookAnswer) -> str | None:
    """Why new arguments cannot be given: Gemini CLI merges them into the old ones."""
    gone = sorted(set(told.arguments) - set(answer.arguments or told.arguments))
    if not gone or answer.arguments is None:
        return None
    return f"sliphook: Gemini CLI cannot take the argument {gone[0]!r} out of a call"


_NOT_SEEN: Final = never("Gemini CLI's documents have it; when tried, it did nothing.")
_IN_TRANSCRIPT: Final = "No hook tells of it. Found in the transcript file, else at the next event."

_ENTRIES: Final = (
    DialectEntry(
        ours="session_start", how="exact", theirs=("SessionStart",), answers={"context": EXACT}
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
        limits="Gemini CLI does not wait for it.",
    ),
    DialectEntry(
        ours="turn_start",
        how="approximate",
        theirs=("BeforeAgent",),
        limits="Fired by us before user_prompt_submit.",
    ),
    DialectEntry(
        ours="user_prompt_submit",
        how="exact",
        theirs=("BeforeAgent",),
        limits="The text has contexts of other hooks in front.",
        answers={
            "deny": EXACT,
            "context": EXACT,
            "replace.text": never("Gemini CLI takes no other text for a prompt."),
        },
    ),
    DialectEntry(
        ours="pre_llm_call",
        how="approximate",
        theirs=("BeforeModel",),
        limits="Told only: text parts of the messages, no tool calls, no results.",
        answers={
            "deny": _NOT_SEEN,
            "replace.model": _NOT_SEEN,
            "replace.route": never("Gemini CLI's model calls go where it sends them."),
            "replace.messages": _NOT_SEEN,
            "replace.tools": never("Gemini CLI does not tell its tools."),
            "substitute.response": _NOT_SEEN,
            "substitute.usage": _NOT_SEEN,
            "substitute.finish_reason": _NOT_SEEN,
            "context": _NOT_SEEN,
        },
    ),
    DialectEntry(
        ours="post_llm_call",
        how="approximate",
        theirs=("AfterModel",),
        limits="Comes in pieces; told once, when the last is there. Text parts alone.",
    ),
    DialectEntry(
        ours="llm_call_failed", how="impossible", limits="Gemini CLI has no hook for errors."
    ),
    DialectEntry(
        ours="pre_tool_call",
        how="approximate",
        theirs=("BeforeTool",),
        limits="No id of the call: equal calls at the same time cannot be told apart.",
        answers={
            "allow": about("Nothing is written: Gemini CLI's own rules decide."),
            "deny": EXACT,
            "ask": about("A deny that says that a person's approval is needed."),
            "replace.arguments": about("Merged into the old ones; taking one away is a deny."),
            "substitute.result": about("A deny with the text as its reason."),
            "context": about("Only if the tool has run: it goes with the result."),
        },
    ),
    DialectEntry(
        ours="post_tool_call",
        how="approximate",
        theirs=("AfterTool",),
        limits="That a command failed is read from its result. An interrupted call ends as "
        "cancelled with its turn.",
        answers={
            "replace.result": about("The model reads it as an error, with the contexts in it."),
            "context": EXACT,
        },
    ),
    DialectEntry(
        ours="stop", how="exact", theirs=("AfterAgent",), answers={"continue_with": EXACT}
    ),
    DialectEntry(ours="agent_loop_stopped", how="approximate", limits=_IN_TRANSCRIPT),
    DialectEntry(
        ours="submission_end",
        how="impossible",
        limits="No message can be submitted to Gemini CLI.",
    ),
    DialectEntry(
        ours="turn_end",
        how="approximate",
        theirs=("AfterAgent", "SessionEnd"),
        limits="Fired by us after the last stop, or the session's end.",
    ),
    DialectEntry(
        ours="notification",
        how="approximate",
        theirs=("Notification",),
        limits="Of approvals alone; the level is info.",
    ),
    DialectEntry(
        ours="user_input_required",
        how="approximate",
        theirs=("Notification", "BeforeTool"),
        limits="Gemini CLI's own prompts, which no plugin can answer. It names no call: the oldest "
        "open one is meant.",
    ),
    DialectEntry(
        ours="user_input_received",
        how="approximate",
        theirs=("AfterTool", "AfterAgent"),
        limits="A yes is told when the tool has run; else nothing tells what the person said, and "
        "`by` is `none`.",
    ),
    DialectEntry(
        ours="subagent_start",
        how="impossible",
        limits="Gemini CLI has no hook for child agents.",
    ),
    DialectEntry(
        ours="subagent_stop", how="impossible", limits="Gemini CLI has no hook for child agents."
    ),
)

DIALECT: Final = Dialect(
    name="gemini",
    title="Gemini CLI",
    programs=("gemini",),
    seen="0.61.0",
    entries=_ENTRIES,
    readers=MappingProxyType(
        {
            "SessionStart": shape.session_start,
            "SessionEnd": shape.session_end,
            "BeforeAgent": shape.prompt,
            "BeforeModel": _before_model,
            "AfterModel": _after_model,
            "BeforeTool": shape.pre_tool,
            "AfterTool": _after_tool,
            "AfterAgent": shape.stop,
            "Notification": _notification,
        }
    ),
    writer=_write,
    tools=GEMINI,
    config=Config(
        user=".gemini/settings.json", project=".gemini/settings.json", timeout_unit_s=0.001
    ),
    server=ServerConfig(user=".gemini/settings.json", project=".gemini/settings.json"),
    life=("SessionStart", "SessionEnd"),
    turns=("BeforeAgent", "AfterAgent"),
    asks_person=False,
    guards=MappingProxyType({"BeforeTool": UNREACHED, "BeforeAgent": UNREACHED}),
    environment=("GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR", "GEMINI_CWD"),
    transcript=Transcript(mark=b"Request cancelled.", interrupt=_is_interrupt),
)
