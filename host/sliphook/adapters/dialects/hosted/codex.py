"""Pure: how Codex runs its hooks: as Claude Code does, but one word too many and a hook failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.dialect import EXACT, about
from sliphook.adapters.dialects.told import (
    Happening,
    PersonAsked,
    SessionEnded,
    SessionStarted,
    SubagentStopped,
    ToolAsked,
    ToolDone,
)

from . import claude_rules
from .claude_define import define
from .handler import Handler
from .hosted import (
    BESIDE_THE_PERSON,
    DECIDES,
    Ended,
    Hosted,
    HostedEvent,
    Judged,
    not_here,
    object_of,
    reason_of,
)
from .toolmap import SAME, TheirTools, Tool

_TOOL: Final = ("tool_name", "tool_input", "tool_use_id")

_SPECIFIC: Final[Mapping[str, frozenset[str]]] = {
    "PreToolUse": frozenset(
        {
            "permissionDecision",
            "permissionDecisionReason",
            "updatedInput",
            "additionalContext",
        }
    ),
    "PostToolUse": frozenset({"additionalContext", "updatedMCPToolOutput"}),
    "PermissionRequest": frozenset({"decision"}),
    "UserPromptSubmit": frozenset({"additionalContext"}),
    "SessionStart": frozenset({"additionalContext"}),
    "SubagentStart": frozenset({"additionalContext"}),
}
_TOP: Final = frozenset({"systemMessage", "hookSpecificOutput", "decision", "reason"})
_ENDS: Final = frozenset({"continue", "stopReason", "suppressOutput"})
"""Fields that every event takes but PreToolUse and Interrupt."""


def build(told: Happening) -> dict[str, Any]:
    """What Codex's hooks read."""
    body = claude_rules.common(told, "turn_id")
    body["model"] = told.model
    if isinstance(told, (SessionStarted, SessionEnded)):
        del body["turn_id"]
    own = dict(claude_rules.own(told))
    if isinstance(told, ToolDone) and told.data is None:
        own["tool_response"] = told.content
    if isinstance(told, SubagentStopped):
        own["last_assistant_message"] = told.summary
    own.pop("duration_ms", None)
    return {**body, **own}


def judge(event: HostedEvent, handler: Handler, told: Happening, ended: Ended) -> Judged:
    """As Claude Code, if nothing is in it that Codex does not take."""
    if ended.exit_code == 2 and not ended.stderr.strip():
        return Judged(failed="exited with 2 and gave no reason")
    if ended.exit_code not in (0, 2):
        return Judged(failed=ended.trouble)
    body = ended.body() if ended.exit_code == 0 else None
    if body is None:
        return claude_rules.judge(event, handler, told, ended)
    why = _why_not(told, body)
    if why is not None:
        return Judged(failed=f"wrote what Codex does not take: {why}")
    answer = claude_rules.answered(told, body)
    if isinstance(told, ToolDone) and body.get("decision") == "block":
        reason = reason_of(body.get("reason"))
        context = answer.context[1:]  # the first is the reason, which takes the result's place
        return Judged(
            answer=HookAnswer(
                result=reason, context=context, message=answer.message, end=answer.end
            )
        )
    return Judged(answer=answer)


def _why_not(told: Happening, body: Mapping[str, Any]) -> str | None:
    takes = _TOP if told.event in ("PreToolUse", "Interrupt") else _TOP | _ENDS
    unknown = sorted(set(body) - takes)
    said = object_of(body, "hookSpecificOutput") or {}
    unknown += sorted(set(said) - {"hookEventName"} - _SPECIFIC.get(told.event, frozenset()))
    if unknown:
        return f"the field {unknown[0][:64]!r}"
    if body.get("decision") is not None and (
        body["decision"] != "block" or not reason_of(body.get("reason"))
    ):
        return "a decision that is no block with a reason"
    if isinstance(told, ToolAsked):
        return _why_no_permission(said)
    return None


def _why_no_permission(said: Mapping[str, Any]) -> str | None:
    match said.get("permissionDecision"):
        case None:
            return "new input without allow" if said.get("updatedInput") is not None else None
        case "deny":
            reason = reason_of(said.get("permissionDecisionReason"))
            return None if reason else "a deny without a reason"
        case "allow":
            return None if said.get("updatedInput") is not None else "allow without new input"
        case _:
            return "a permission decision that is neither allow nor deny"


_EVENTS: Final = (
    HostedEvent(
        theirs="SessionStart",
        ours="session_start",
        fields=("source", "model"),
        matched="source",
        answers={"context": EXACT},
    ),
    HostedEvent(theirs="SessionEnd", ours="session_end", fields=("reason",), timeout_s=3.0),
    HostedEvent(
        theirs="UserPromptSubmit",
        ours="user_prompt_submit",
        fields=("turn_id", "prompt"),
        answers={"deny": EXACT, "context": EXACT},
        blocks=True,
    ),
    HostedEvent(
        theirs="PreToolUse",
        ours="pre_tool_call",
        how="approximate",
        limits="Names and arguments as `foreign.tools` says.",
        fields=("turn_id", *_TOOL),
        matched="tool_name",
        blocks=True,
        answers={"deny": EXACT, "replace.arguments": EXACT, "context": EXACT},
    ),
    HostedEvent(
        theirs="PostToolUse",
        ours="post_tool_call",
        how="approximate",
        limits="A call that failed is told like one that worked, as Codex does.",
        fields=("turn_id", *_TOOL, "tool_response"),
        matched="tool_name",
        when=lambda told: isinstance(told, ToolDone) and told.status != "interrupted",
        answers={"replace.result": EXACT, "context": EXACT},
    ),
    HostedEvent(
        theirs="Stop",
        ours="stop",
        fields=("turn_id", "stop_hook_active", "last_assistant_message"),
        answers={"continue_with": about("At most 8 times in a turn.")},
    ),
    HostedEvent(theirs="Interrupt", ours="agent_loop_stopped", fields=("turn_id",), timeout_s=3.0),
    HostedEvent(
        theirs="SubagentStart",
        ours="subagent_start",
        fields=("agent_id", "agent_type"),
        matched="agent_type",
        answers={"context": EXACT},
    ),
    HostedEvent(
        theirs="SubagentStop",
        ours="subagent_stop",
        how="approximate",
        limits="Told only: a child agent cannot be sent on.",
        fields=("agent_id", "agent_type", "last_assistant_message"),
        matched="agent_type",
    ),
    HostedEvent(
        theirs="PermissionRequest",
        ours="user_input_required",
        how="approximate",
        limits=BESIDE_THE_PERSON,
        fields=("turn_id", "tool_name", "tool_input"),
        matched="tool_name",
        when=lambda told: isinstance(told, PersonAsked) and told.kind == "approval",
        answers=DECIDES,
    ),
    *not_here("PreCompact", "PostCompact"),
)

HOSTED: Final = Hosted(
    name="codex",
    title="Codex",
    seen="0.171.0",
    format="json",
    events=_EVENTS,
    common=("session_id", "transcript_path", "cwd", "hook_event_name", "model", "permission_mode"),
    define=define,
    build=build,
    judge=judge,
    rule="names or search",
    tools=TheirTools(
        by_claude={**SAME, "Edit": Tool("apply_patch"), "Write": Tool("apply_patch")},
        mcp="mcp__{server}__{tool}",
    ),
    failure="Exit code 2 with a text on stderr blocks. Any other failure, and an answer with a "
    "field that Codex does not know, is no opinion.",
)
