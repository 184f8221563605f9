"""Pure: how agent-code runs its hooks, by its source."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.dialect import EXACT
from sliphook.adapters.dialects.reading import Fields
from sliphook.adapters.dialects.told import (
    Happening,
    Notified,
    Prompted,
    SessionEnded,
    SessionStarted,
    StopAsked,
    SubagentStopped,
    ToolAsked,
    ToolDenied,
    ToolDone,
    TurnEnded,
    TurnFailed,
)

from .claude_define import MAX_HOOKS, collect
from .claude_rules import iso
from .handler import Definitions, Handler, RefusedHook
from .hosted import Ended, Hosted, HostedEvent, Judged, not_here, reason_of
from .toolmap import SAME, TheirTools, Tool

TIMEOUT_S: Final = 30.0
_PREVIEW_CHARS: Final = 200
_SUMMARY_CHARS: Final = 200


def define(config: Mapping[str, Any]) -> Definitions:
    """The `[[hooks]]` of a `settings.toml`."""
    return collect(_hooks(config))


def _hooks(config: Mapping[str, Any]) -> Iterator[tuple[str, Handler | RefusedHook]]:
    for hook in Fields(config).all_objects("hooks", MAX_HOOKS):
        event = hook.needed_name("event")
        action = hook.fields("action")
        kind = action.name("type") or ""
        if kind not in ("shell", "http"):
            why = f"its type {kind!r} is not known."
            yield event, RefusedHook(event=event, what=kind, why=why)
            continue
        yield (
            event,
            Handler(
                event=event,
                matcher=hook.name("tool_name"),
                command=action.needed_text("command") if kind == "shell" else "",
                url=action.needed_text("url") if kind == "http" else None,
                method="GET" if action.name("method") == "GET" else "POST",
                timeout_s=TIMEOUT_S,
                on_failure="closed" if event == "pre_tool_use" else "ignore",
            ),
        )


def build(told: Happening) -> dict[str, Any]:
    """What agent-code's hooks read: the event's context alone, without its name."""
    match told:
        case ToolAsked():
            return dict(told.arguments)
        case ToolDone() if told.event == "file_changed":
            path = told.arguments.get("file_path") or ""
            return {"tool": told.tool_name, "path": path, "is_error": told.status != "ok"}
        case ToolDone():
            return {"tool": told.tool_name, "is_error": told.status != "ok"}
        case ToolDenied():
            summary = json.dumps(told.arguments, ensure_ascii=False)[:_SUMMARY_CHARS]
            return {
                "session_id": told.session_id,
                "tool": told.tool_name,
                "tool_use_id": told.model_call_id or "",
                "reason": (told.reason.splitlines() or [""])[0],
                "input_summary": summary,
                "timestamp": iso(told.at_s),
            }
        case SessionStarted():
            return {"session_id": told.session_id, "cwd": told.cwd, "model": told.model or ""}
        case SessionEnded():
            return {
                "session_id": told.session_id,
                "turn_count": told.turns or 0,
                "total_cost_usd": 0.0,
                "total_tokens": told.tokens or 0,
            }
        case Prompted() if told.event == "pre_turn":
            preview = told.text[:_PREVIEW_CHARS]
            return {
                "turn": told.turn_index,
                "user_input_preview": preview,
                "attachments": [],
            }
        case Prompted():
            return {"user_input": told.text, "attachments": [], "turn": told.turn_index}
        case TurnEnded():
            return {"turn": told.index, "total_turns": told.index}
        case StopAsked():
            return {
                "session_id": told.session_id,
                "turn_count": told.turns,
                "last_assistant_message": told.last_assistant_message,
            }
        case Notified():
            return {
                "session_id": told.session_id,
                "message": told.message,
                "notification_type": told.kind,
            }
        case TurnFailed():
            return {
                "session_id": told.session_id,
                "turn": told.turn_index,
                "stage": "llm_call_failed",
                "message": told.message,
            }
        case SubagentStopped():
            return {
                "session_id": told.session_id,
                "id": told.agent_id,
                "kind": "subagent",
                "status": "completed" if told.status == "completed" else "failed",
                "description": told.goal or "",
                "duration_secs": int(told.duration_s or 0),
            }
        case _:
            return {}


def judge(event: HostedEvent, handler: Handler, told: Happening, ended: Ended) -> Judged:
    """Before a tool call any failure is a deny, with the first line of its reason; else nothing."""
    if ended.exit_code == 0:
        return Judged()
    if not isinstance(told, ToolAsked):
        return Judged(failed=ended.trouble)
    reason = reason_of(ended.stderr, ended.stdout, ended.failure) or "blocked by pre-tool-use hook"
    return Judged(answer=HookAnswer(denied=reason.splitlines()[0]), failed=ended.trouble)


_MUTATING: Final = ("FileWrite", "FileEdit", "MultiEdit", "NotebookEdit")


def _ended(told: Happening) -> bool:
    return isinstance(told, ToolDone) and told.status != "interrupted"


def _changed(told: Happening) -> bool:
    return _ended(told) and isinstance(told, ToolDone) and told.tool_name in _MUTATING


_EVENTS: Final = (
    HostedEvent(
        theirs="session_start", ours="session_start", fields=("session_id", "cwd", "model")
    ),
    HostedEvent(
        theirs="session_stop",
        ours="session_end",
        how="approximate",
        limits="`total_cost_usd` is 0. All hooks together have 1 s if the agent ends too.",
        fields=("session_id", "turn_count", "total_cost_usd", "total_tokens"),
    ),
    HostedEvent(
        theirs="user_prompt_submit",
        ours="user_prompt_submit",
        how="approximate",
        limits="`attachments` is empty. `turn` counts messages of the user; there it counts model "
        "calls. No text comes during a turn, so `steered` is never there.",
        fields=("user_input", "attachments", "turn", "steered"),
        missing={"steered": "A message during a turn waits for the next, or interrupts it."},
    ),
    HostedEvent(
        theirs="pre_turn",
        ours="user_prompt_submit",
        how="approximate",
        limits="`turn` as in `user_prompt_submit`.",
        fields=("turn", "user_input_preview", "attachments"),
    ),
    HostedEvent(
        theirs="post_turn",
        ours="turn_end",
        how="approximate",
        limits="`turn` and `total_turns` count messages of the user.",
        fields=("turn", "total_turns"),
        when=lambda told: isinstance(told, TurnEnded) and told.outcome == "completed",
    ),
    HostedEvent(
        theirs="pre_tool_use",
        ours="pre_tool_call",
        how="approximate",
        limits="Stdin is the bare input. Names and arguments as `foreign.tools` says.",
        fields=("the tool's input",),
        matched="tool_name",
        answers={"deny": EXACT},
        blocks=True,
    ),
    HostedEvent(
        theirs="post_tool_use",
        ours="post_tool_call",
        fields=("tool", "is_error"),
        matched="tool_name",
        when=_ended,
    ),
    HostedEvent(
        theirs="file_changed",
        ours="post_tool_call",
        how="approximate",
        limits="After tools that `foreign.tools`, or their kind, makes FileWrite or FileEdit; "
        "`path` as in the arguments.",
        fields=("tool", "path", "is_error"),
        when=_changed,
    ),
    HostedEvent(
        theirs="permission_denied",
        ours="post_tool_call",
        how="approximate",
        limits="At once, and for every deny.",
        fields=(
            "session_id",
            "turn",
            "tool",
            "tool_use_id",
            "reason",
            "input_summary",
            "timestamp",
        ),
        missing={"turn": "Its number is not told with a call."},
        matched="tool_name",
        when=lambda told: isinstance(told, ToolDenied),
    ),
    HostedEvent(
        theirs="stop",
        ours="stop",
        fields=("session_id", "turn_count", "last_assistant_message"),
        how="approximate",
        limits="`turn_count` counts messages of the user; there it counts model calls.",
    ),
    HostedEvent(
        theirs="notification",
        ours="notification",
        how="approximate",
        limits="`title` is absent, where agent-code writes null. `notification_type` is `info`, "
        "`warning` or `error`.",
        fields=("session_id", "message", "title", "notification_type"),
    ),
    HostedEvent(
        theirs="error",
        ours="llm_call_failed",
        how="approximate",
        limits="`turn` counts messages of the user.",
        fields=("session_id", "turn", "stage", "message"),
    ),
    HostedEvent(
        theirs="task_completed",
        ours="subagent_stop",
        how="approximate",
        limits="For child agents; nothing here runs in the background.",
        fields=("session_id", "id", "kind", "status", "description", "duration_secs"),
    ),
    *not_here(
        "pre_compact", "post_compact", why="Nothing is compacted here that a hook is told of."
    ),
    *not_here("cwd_changed", "config_change"),
)

HOSTED: Final = Hosted(
    name="agent-code",
    title="agent-code",
    seen="its source of August 2026",
    format="toml",
    events=_EVENTS,
    common=(),
    define=define,
    build=build,
    judge=judge,
    rule="exact",
    tools=TheirTools(
        by_claude={
            **SAME,
            "Read": Tool("FileRead"),
            "Write": Tool("FileWrite"),
            "Edit": Tool("FileEdit"),
            "Task": Tool("Agent"),
        },
        mcp="mcp__{server}__{tool}",
    ),
    shell=("bash", "-c"),
    raw_newline=True,
    sequential=True,
    uses=(),
    environment=MappingProxyType(
        {
            "AGENT_CODE_HOOK_EVENT": "{event}",
            "AGENT_CODE_HOOK_TOOL": "{tool}",
            "AGENT_CODE_HOOK_CONTEXT": "{stdin}",
        }
    ),
    failure="Before a tool call any failure is a deny: another exit code than 0, a command that "
    "does not start or takes over 30 s, a response other than 2xx. Elsewhere it changes nothing.",
)
