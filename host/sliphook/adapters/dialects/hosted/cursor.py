"""Pure: how Cursor runs its hooks, by its documents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.dialect import EXACT, about, never
from sliphook.adapters.dialects.told import (
    Happening,
    ModelAnswered,
    Prompted,
    SessionEnded,
    SessionStarted,
    StopAsked,
    SubagentStarted,
    SubagentStopped,
    ToolAsked,
    ToolDone,
    TurnFailed,
    TurnInterrupted,
)
from sliphook_sdk.protocol import ToolKind

from .flat_define import define_cursor
from .handler import Handler
from .hosted import (
    Ended,
    Hosted,
    HostedEvent,
    Judged,
    all_run,
    failed,
    kinds_of,
    may_be,
    not_here,
    object_of,
    reason_of,
    text_in,
    worked,
)
from .toolmap import SAME, TheirTools, Tool

_EDITS: Final = frozenset[ToolKind]({"edit", "write"})
_STATUS: Final = {"completed": "completed", "failed": "error", "cancelled": "aborted"}


def _edited(told: Happening) -> bool:
    return isinstance(told, ToolDone) and worked(told) and bool(_EDITS & kinds_of(told))


def build(told: Happening) -> dict[str, Any]:
    """What Cursor's hooks read."""
    roots = None if told.cwd is None else [told.cwd]
    body: dict[str, Any] = {
        "conversation_id": told.session_id,
        "generation_id": told.turn_id,
        "model": told.model,
        "hook_event_name": told.event,
        "cursor_version": "",
        "workspace_roots": roots,
        "transcript_path": told.transcript_path,
    }
    match told:
        case SessionEnded():
            body["reason"] = "error" if told.reason == "error" else "completed"
        case Prompted():
            body |= {"prompt": told.text, "attachments": []}
        case ToolAsked() | ToolDone():
            body |= _of_tool(told)
        case ModelAnswered():
            body["text"] = told.text
        case StopAsked():
            body |= {"status": "completed", "loop_count": int(told.again)}
        case TurnInterrupted():
            body |= {"status": "aborted", "loop_count": 0}
        case TurnFailed():
            body |= {"status": "error", "loop_count": 0}
        case SubagentStarted():
            body |= {"subagent_id": told.agent_id, "subagent_type": told.agent_type}
            body["task"] = told.goal
        case SubagentStopped():
            body |= {"subagent_id": told.agent_id, "subagent_type": told.agent_type}
            body |= {"summary": told.summary, "status": _STATUS[told.status]}
        case _:
            pass
    return body


def _of_tool(told: ToolAsked | ToolDone) -> dict[str, Any]:
    given = told.arguments
    match told.event:
        case "beforeShellExecution":
            return {"command": all_run(given), "cwd": told.cwd}
        case "afterShellExecution":
            return {"command": all_run(given), "output": _content(told)} | _took(told)
        case "beforeMCPExecution":
            return {"tool_name": told.tool_name, "tool_input": json.dumps(given)}
        case "afterMCPExecution":
            called = {"tool_name": told.tool_name, "tool_input": json.dumps(given)}
            return called | {"result_json": _content(told)} | _took(told)
        case "beforeReadFile":
            return {"file_path": _said(given, "path", "file_path"), "content": ""}
        case "afterFileEdit":
            edit: dict[str, Any] = {
                "old_string": given.get("old_string", ""),
                "new_string": given.get("new_string", given.get("content", "")),
            }
            return {"file_path": _said(given, "path", "file_path"), "edits": [edit]}
        case _:
            pass
    said: dict[str, Any] = {
        "tool_name": told.tool_name,
        "tool_input": given,
        "tool_use_id": told.model_call_id,
    }
    if isinstance(told, ToolAsked):
        return said
    if told.event == "postToolUseFailure":
        return (
            said
            | {
                "error_message": told.content,
                "is_interrupt": told.status == "interrupted",
            }
            | _took(told)
        )
    output = told.data if told.data is not None else told.content
    return said | {"tool_output": output} | _took(told)


def _said(given: Mapping[str, Any], *names: str) -> str:
    """The one of these arguments that is a text; all as JSON if none is, or several are."""
    texts = [text for name in names if (text := text_in(given, name)) is not None]
    return texts[0] if len(texts) == 1 else json.dumps(given)


def _content(told: ToolAsked | ToolDone) -> str:
    return told.content if isinstance(told, ToolDone) else ""


def _took(told: ToolAsked | ToolDone) -> dict[str, Any]:
    return {"duration": told.duration_ms if isinstance(told, ToolDone) else None}


def judge(event: HostedEvent, handler: Handler, told: Happening, ended: Ended) -> Judged:
    """0: what the JSON says; 2: a deny; else it has failed, and its JSON still counts."""
    body = ended.body() if ended.exit_code is not None else None
    if ended.exit_code == 2:
        reason = reason_of((body or {}).get("user_message"), ended.stderr, ended.stdout)
        return Judged(answer=_denied(told, reason or "denied by a hook"))
    if body is None:
        if ended.exit_code == 0:
            return Judged()
        if handler.on_failure == "closed":
            why = f"a hook that has to be asked {ended.trouble}"
            return Judged(answer=_denied(told, why), failed=ended.trouble)
        return Judged(failed=ended.trouble)
    user = text_in(body, "user_message", "userMessage")
    said = text_in(body, "agent_message", "agentMessage") or user
    extra = text_in(body, "additional_context")
    context = (extra,) if extra is not None else ()
    trouble = ended.trouble if ended.exit_code else None
    answer = HookAnswer()
    match told:
        case SessionStarted():
            answer = HookAnswer(context=context)
        case Prompted():
            stops = body.get("continue") is False
            answer = HookAnswer(denied=(user or "denied by a hook") if stops else None)
        case ToolAsked():
            answer = _before_tool(body, said)
        case ToolDone():
            answer = HookAnswer(context=context)
        case StopAsked():
            answer = HookAnswer(continue_with=text_in(body, "followup_message"))
        case _:
            pass
    return Judged(answer=answer, failed=trouble)


def _before_tool(body: dict[str, Any], reason: str | None) -> HookAnswer:
    permission = body.get("permission")
    if permission == "deny" or body.get("continue") is False:
        return HookAnswer(denied=reason or "denied by a hook")
    if permission == "ask":
        return HookAnswer(ask=reason or "a hook asks for a person's approval")
    return HookAnswer(arguments=object_of(body, "updated_input"))


def _denied(told: Happening, reason: str) -> HookAnswer:
    if isinstance(told, (ToolAsked, Prompted)):
        return HookAnswer(denied=reason)
    return HookAnswer(message=reason)


_PERMISSION: Final = {"deny": EXACT, "ask": EXACT}
_DOCUMENTS: Final = "By the documents."
_TOOLS: Final = "Names and arguments as `foreign.tools` says."


def _event(theirs: str, ours: str, limits: str = _DOCUMENTS, **said: Any) -> HostedEvent:
    return HostedEvent(theirs=theirs, ours=ours, how="approximate", limits=limits, **said)


_EVENTS: Final = (
    _event("sessionStart", "session_start", answers={"context": EXACT}),
    _event("sessionEnd", "session_end", fields=("reason",)),
    _event(
        "beforeSubmitPrompt",
        "user_prompt_submit",
        fields=("prompt", "attachments"),
        answers={"deny": EXACT},
        blocks=True,
    ),
    _event(
        "preToolUse",
        "pre_tool_call",
        _TOOLS,
        fields=("tool_name", "tool_input", "tool_use_id"),
        matched="tool_name",
        blocks=True,
        answers={**_PERMISSION, "replace.arguments": EXACT},
    ),
    _event(
        "beforeShellExecution",
        "pre_tool_call",
        "Before tools that are a shell or of which nothing is known; `command` has a line for each "
        "other argument that may be run; it is all of them as JSON if none is called so, and every "
        "matcher fits then.",
        fields=("command", "cwd"),
        matched="command",
        when=may_be("shell"),
        blocks=True,
        answers=_PERMISSION,
    ),
    _event(
        "beforeMCPExecution",
        "pre_tool_call",
        "Before tools of MCP servers and those of which nothing is known; without `url` and "
        "`command`.",
        fields=("tool_name", "tool_input"),
        when=may_be("mcp"),
        blocks=True,
        answers=_PERMISSION,
    ),
    _event(
        "beforeReadFile",
        "pre_tool_call",
        "Before tools that read files or of which nothing is known; `file_path` is all arguments "
        "as JSON if none is called so or two are, `content` is empty.",
        fields=("file_path", "content"),
        when=may_be("read"),
        blocks=True,
        answers=_PERMISSION,
    ),
    _event(
        "postToolUse",
        "post_tool_call",
        _TOOLS,
        fields=("tool_name", "tool_input", "tool_use_id", "tool_output", "duration"),
        matched="tool_name",
        when=worked,
        answers={"context": EXACT},
    ),
    _event(
        "postToolUseFailure",
        "post_tool_call",
        _TOOLS,
        fields=("tool_name", "tool_input", "tool_use_id", "error_message", "is_interrupt"),
        matched="tool_name",
        when=failed,
    ),
    _event(
        "afterShellExecution",
        "post_tool_call",
        fields=("command", "output", "duration"),
        matched="command",
        when=may_be("shell"),
    ),
    _event(
        "afterMCPExecution",
        "post_tool_call",
        fields=("tool_name", "tool_input", "result_json", "duration"),
        when=may_be("mcp"),
    ),
    _event(
        "afterFileEdit",
        "post_tool_call",
        "After tools that are known to edit or write files.",
        fields=("file_path", "edits"),
        when=_edited,
    ),
    _event("afterAgentResponse", "post_llm_call", fields=("text",)),
    _event(
        "stop",
        "stop",
        fields=("status", "loop_count"),
        answers={"continue_with": about("At most 8 times in a turn; Cursor stops at 5.")},
    ),
    _event("stop", "agent_loop_stopped", fields=("status", "loop_count")),
    _event("stop", "llm_call_failed", fields=("status", "loop_count")),
    _event(
        "subagentStart",
        "subagent_start",
        fields=("subagent_id", "subagent_type", "task"),
        answers={"deny": never("A child agent cannot be denied here.")},
    ),
    _event(
        "subagentStop",
        "subagent_stop",
        fields=("subagent_id", "subagent_type", "summary", "status"),
    ),
    *not_here("preCompact", "afterAgentThought", "beforeTabFileRead", "afterTabFileEdit"),
)

HOSTED: Final = Hosted(
    name="cursor",
    title="Cursor",
    seen="not tried; by its documents",
    format="json",
    events=_EVENTS,
    common=(
        "conversation_id",
        "generation_id",
        "model",
        "hook_event_name",
        "cursor_version",
        "workspace_roots",
    ),
    define=define_cursor,
    build=build,
    judge=judge,
    rule="search",
    tools=TheirTools(
        by_claude={**SAME, "Bash": Tool("Shell"), "Read": Tool("Read", {"file_path": "path"})},
        mcp="MCP:{tool}",
    ),
    environment=MappingProxyType(
        {"CURSOR_PROJECT_DIR": "{project}", "CLAUDE_PROJECT_DIR": "{project}"}
    ),
    uses=("notify",),
    failure="Exit code 2 denies. Any other failure is no opinion, but with `failClosed` a deny.",
)
