"""Pure: how Gemini CLI runs its hooks."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.dialect import EXACT, about, never
from sliphook.adapters.dialects.reading import Fields
from sliphook.adapters.dialects.told import (
    Happening,
    ModelAnswered,
    ModelAsked,
    Notified,
    PersonAsked,
    Prompted,
    SessionStarted,
    StopAsked,
    ToolAsked,
    ToolDone,
)

from . import claude_rules
from .claude_define import collect, groups, seconds, strings
from .claude_rules import of_all
from .handler import Definitions, Handler, RefusedHook
from .hosted import (
    Ended,
    Hosted,
    HostedEvent,
    Judged,
    not_here,
    object_of,
    reason_of,
    text_in,
)
from .toolmap import TheirTools, Tool

_REASONS: Final = {"exit": "exit", "reset": "clear", "error": "other"}


def define(config: Mapping[str, Any]) -> Definitions:
    """The hooks of Gemini CLI's `settings.json`, or of an extension's `hooks.json`."""
    return collect((event, _hook(event, group, hook)) for event, group, hook in groups(config))


def _hook(event: str, group: Fields, hook: Fields) -> Handler | RefusedHook:
    kind = hook.name("type") or "command"
    if kind != "command":
        return RefusedHook(event=event, what=kind, why=f"its type {kind!r} is not known.")
    return Handler(
        event=event,
        matcher=group.text("matcher"),
        command=hook.needed_text("command"),
        name=hook.name("name") or "",
        timeout_s=seconds(hook, "timeout", 0.001, 60.0),
        env=strings(hook, "env"),
        sequential=group.flag("sequential"),
    )


def build(told: Happening) -> dict[str, Any]:
    """What Gemini CLI's hooks read."""
    body = {
        "session_id": told.session_id,
        "transcript_path": told.transcript_path,
        "cwd": told.cwd,
        "hook_event_name": told.event,
        "timestamp": claude_rules.iso(told.at_s),
    }
    match told:
        case StopAsked():
            own: Mapping[str, Any] = {
                "prompt": told.prompt,
                "prompt_response": told.last_assistant_message,
                "stop_hook_active": told.again,
            }
        case ToolDone():
            response = {"llmContent": told.content, "returnDisplay": told.content}
            if told.status == "error":
                response["error"] = told.content
            own = {
                "tool_name": told.tool_name,
                "tool_input": told.arguments,
                "tool_response": told.data if told.data is not None else response,
            }
        case ModelAsked():
            messages = [{"role": role, "content": text} for role, text in told.messages]
            own = {"llm_request": {"model": told.model, "messages": messages, "config": {}}}
        case ModelAnswered():
            response_body: dict[str, Any] = {"text": told.text}
            if told.last:
                response_body["candidates"] = [{"finishReason": "STOP"}]
            if told.usage is not None:
                asked, said = told.usage
                response_body["usageMetadata"] = {
                    "promptTokenCount": asked,
                    "candidatesTokenCount": said,
                }
            own = {"llm_request": {"model": told.model}, "llm_response": response_body}
        case PersonAsked():
            own = {"notification_type": "ToolPermission", "message": told.message, "details": {}}
        case ToolAsked():
            own = {"tool_name": told.tool_name, "tool_input": told.arguments}
        case Notified():
            own = {"notification_type": told.kind, "message": told.message}
        case _:
            own = claude_rules.own(told)
            if "reason" in own:
                own = {"reason": _REASONS.get(getattr(told, "reason", ""), "other")}
    return {**body, **own}


def judge(event: HostedEvent, handler: Handler, told: Happening, ended: Ended) -> Judged:
    """0: what the JSON says; 2: a block; all else has failed and is no opinion."""
    if ended.exit_code == 2:
        reason = reason_of(ended.stderr, ended.stdout) or "blocked by a hook"
        return Judged(answer=_refused(told, reason))
    if ended.exit_code != 0:
        return Judged(failed=ended.trouble)
    body = ended.body()
    if body is None:
        text = ended.stdout.strip()
        return Judged(answer=HookAnswer(message=text or None))
    said = object_of(body, "hookSpecificOutput") or {}
    general = of_all(body)
    if body.get("decision") in ("deny", "block"):
        refused = _refused(told, reason_of(body.get("reason")) or "blocked by a hook")
        answer = HookAnswer(
            denied=refused.denied,
            result=refused.result,
            continue_with=refused.continue_with,
            message=general.message or refused.message,
            end=general.end,
        )
        return Judged(answer=answer)
    extra = text_in(said, "additionalContext")
    takes = isinstance(told, (SessionStarted, Prompted, ToolDone))
    changed = object_of(said, "tool_input")
    if isinstance(told, ToolAsked) and changed is not None:
        changed = {**told.arguments, **changed}
    else:
        changed = None
    asked = None
    if isinstance(told, ToolAsked) and body.get("decision") == "ask":
        asked = reason_of(body.get("reason")) or "a hook asks for a person's approval"
    return Judged(
        answer=HookAnswer(
            ask=asked,
            arguments=changed,
            context=(extra,) if extra is not None and takes else (),
            message=general.message,
            end=general.end,
        )
    )


def _refused(told: Happening, reason: str) -> HookAnswer:
    match told:
        case ToolAsked() | Prompted():
            return HookAnswer(denied=reason)
        case ToolDone():
            return HookAnswer(result=reason)
        case StopAsked():
            return HookAnswer(continue_with=reason)
        case _:
            return HookAnswer(message=reason)


_TOOL: Final = ("tool_name", "tool_input")

_EVENTS: Final = (
    HostedEvent(
        theirs="SessionStart",
        ours="session_start",
        fields=("source",),
        matched="source",
        answers={"context": EXACT},
    ),
    HostedEvent(theirs="SessionEnd", ours="session_end", fields=("reason",), matched="reason"),
    HostedEvent(
        theirs="BeforeAgent",
        ours="user_prompt_submit",
        fields=("prompt",),
        answers={"deny": EXACT, "context": EXACT},
        blocks=True,
    ),
    HostedEvent(
        theirs="BeforeModel",
        ours="pre_llm_call",
        how="approximate",
        limits="Told only: texts of the messages, no tools.",
        fields=("llm_request",),
        answers={
            "deny": never("In Gemini CLI it did nothing when tried."),
            "replace.messages": never("The messages here are others."),
        },
    ),
    HostedEvent(
        theirs="AfterModel",
        ours="post_llm_call",
        how="approximate",
        limits="Once for each answer of the model, not for each piece.",
        fields=("llm_request", "llm_response"),
    ),
    HostedEvent(
        theirs="BeforeTool",
        ours="pre_tool_call",
        how="approximate",
        limits="Names and arguments as `foreign.tools` says.",
        fields=_TOOL,
        matched="tool_name",
        blocks=True,
        answers={"deny": EXACT, "ask": EXACT, "replace.arguments": EXACT},
    ),
    HostedEvent(
        theirs="AfterTool",
        ours="post_tool_call",
        how="approximate",
        limits="The result as text.",
        fields=(*_TOOL, "tool_response"),
        matched="tool_name",
        when=lambda told: isinstance(told, ToolDone) and told.status != "interrupted",
        answers={"replace.result": EXACT, "context": EXACT},
    ),
    HostedEvent(
        theirs="AfterAgent",
        ours="stop",
        fields=("prompt", "prompt_response", "stop_hook_active"),
        answers={"continue_with": about("At most 8 times in a turn.")},
    ),
    HostedEvent(
        theirs="Notification",
        ours="user_input_required",
        how="approximate",
        limits="`details` is empty.",
        fields=("notification_type", "message", "details"),
        when=lambda told: isinstance(told, PersonAsked) and told.kind == "approval",
    ),
    *not_here("BeforeToolSelection", "PreCompress"),
)

HOSTED: Final = Hosted(
    name="gemini",
    title="Gemini CLI",
    seen="0.61.0",
    format="json",
    events=_EVENTS,
    common=("session_id", "transcript_path", "cwd", "hook_event_name", "timestamp"),
    define=define,
    build=build,
    judge=judge,
    rule="search",
    tools=TheirTools(
        by_claude={
            "Bash": Tool("run_shell_command"),
            "Read": Tool("read_file"),
            "Write": Tool("write_file"),
            "Edit": Tool("replace"),
            "Glob": Tool("glob"),
            "Grep": Tool("grep_search"),
            "LS": Tool("list_directory", {"path": "dir_path"}),
            "WebFetch": Tool("web_fetch"),
            "WebSearch": Tool("google_web_search"),
            "TodoWrite": Tool("write_todos"),
        },
        mcp="mcp_{server}_{tool}",
    ),
    environment=MappingProxyType(
        {
            "GEMINI_SESSION_ID": "{session}",
            "GEMINI_PROJECT_DIR": "{project}",
            "GEMINI_CWD": "{project}",
            "CLAUDE_PROJECT_DIR": "{project}",
        }
    ),
    failure="Exit code 2 blocks. Any other failure is no opinion.",
    ignored=MappingProxyType(
        {
            "toolConfig, tailToolCallRequest": "There is nothing of it here.",
        }
    ),
)
