"""Pure: how docker-agent runs its hooks, by its source; where its documents say more, it counts."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

from sliphook.adapters.dialects.dialect import EXACT, about, never
from sliphook.adapters.dialects.told import Happening, PersonAsked, ToolDone, TurnFailed

from .docker_agent_rules import build, define, judge
from .hosted import BESIDE_THE_PERSON, DECIDES, Hosted, HostedEvent
from .toolmap import TheirTools, Tool

_TOOL: Final = ("tool_name", "tool_use_id", "tool_input")
_TOOLS: Final = "Names and arguments as `foreign.tools` says."
_NO_CATEGORY: Final = {
    "tool_category": "Toolsets are docker-agent's own.",
    "tool_read_only": "No tool here says so; left out, as for a tool that writes.",
    "safety_policy": "There are no safety modes here.",
}
_CONTEXT: Final = {"context": EXACT}
_NO_COMPACTION: Final = "Nothing is compacted here that a hook is told of."


def _never(theirs: str, why: str, *fields: str) -> HostedEvent:
    return HostedEvent(theirs=theirs, how="impossible", limits=why, fields=fields)


def _over(told: Happening) -> bool:
    return isinstance(told, ToolDone) and told.status != "interrupted"


def _approval(told: Happening) -> bool:
    return isinstance(told, PersonAsked) and told.kind == "approval"


def _limit(told: Happening) -> bool:
    return isinstance(told, PersonAsked) and told.kind == "max_iterations"


_EVENTS: Final = (
    HostedEvent(
        theirs="session_start",
        ours="session_start",
        fields=("source",),
        answers={**_CONTEXT, "instruction_context": never("Use `additional_context`.")},
    ),
    HostedEvent(
        theirs="user_prompt_submit",
        ours="user_prompt_submit",
        fields=("prompt",),
        answers={"deny": EXACT, **_CONTEXT},
        blocks=True,
    ),
    _never(
        "user_steering_messages_submit",
        "A message during a turn comes as `user_prompt_submit` of the next.",
        "steering_messages",
    ),
    _never(
        "user_followup_submit",
        "A message that waited comes as `user_prompt_submit`.",
        "prompt",
    ),
    HostedEvent(
        theirs="turn_start",
        ours="pre_llm_call",
        answers={**_CONTEXT, "instruction_context": never("Use `additional_context`.")},
    ),
    HostedEvent(
        theirs="before_llm_call",
        ours="pre_llm_call",
        how="approximate",
        limits="`messages` are role and text of each.",
        fields=("iteration", "model_id", "messages"),
        answers={
            "deny": EXACT,
            "replace.messages": about("The text of each; as many as there were."),
        },
        blocks=True,
        sequential=True,
    ),
    HostedEvent(
        theirs="after_llm_call",
        ours="post_llm_call",
        how="approximate",
        limits="Without `cost`; a usage is there if the model told it.",
        fields=("agent_name", "model_id", "stop_response", "last_user_message", "usage", "cost"),
        missing={"cost": "No prices are known here; absent, as for a model without a price."},
    ),
    HostedEvent(
        theirs="tool_input_transform",
        ours="pre_tool_call",
        how="approximate",
        limits=_TOOLS,
        fields=(*_TOOL, "tool_category", "tool_read_only", "safety_policy"),
        missing=_NO_CATEGORY,
        matched="tool_name",
        answers={"deny": EXACT, "replace.arguments": EXACT},
        blocks=True,
        sequential=True,
    ),
    HostedEvent(
        theirs="tool_guard",
        ours="pre_tool_call",
        how="approximate",
        limits=_TOOLS,
        fields=(*_TOOL, "tool_category", "tool_read_only", "safety_policy"),
        missing=_NO_CATEGORY,
        matched="tool_name",
        answers={"deny": EXACT, "ask": EXACT, "metadata": never("It is not shown here.")},
        blocks=True,
    ),
    HostedEvent(
        theirs="pre_tool_use",
        ours="pre_tool_call",
        how="approximate",
        limits=_TOOLS,
        fields=(*_TOOL, "tool_category", "tool_read_only", "safety_policy"),
        missing=_NO_CATEGORY,
        matched="tool_name",
        answers={
            "allow": about("No opinion: the agent's own rules decide."),
            "deny": EXACT,
            "ask": EXACT,
            "replace.arguments": EXACT,
        },
        blocks=True,
        sequential=True,
    ),
    HostedEvent(
        theirs="permission_request",
        ours="user_input_required",
        how="approximate",
        limits=BESIDE_THE_PERSON,
        fields=_TOOL,
        matched="tool_name",
        when=_approval,
        answers=DECIDES,
    ),
    HostedEvent(
        theirs="on_tool_approval_decision",
        ours="user_input_received",
        how="approximate",
        limits="Only if a person was asked; the source is `user_approved`, `user_rejected` or "
        "`context_canceled`.",
        fields=(*_TOOL, "approval_decision", "approval_source", "safety_label"),
        missing={"safety_label": "Nothing here classifies calls."},
    ),
    HostedEvent(
        theirs="tool_response_transform",
        ours="post_tool_call",
        how="approximate",
        limits=_TOOLS,
        fields=(*_TOOL, "tool_response"),
        matched="tool_name",
        when=_over,
        answers={"replace.result": EXACT},
        sequential=True,
    ),
    HostedEvent(
        theirs="post_tool_use",
        ours="post_tool_call",
        how="approximate",
        limits=f"{_TOOLS} A block interrupts the turn. The documents promise context; the source "
        "takes none.",
        fields=(*_TOOL, "tool_response", "tool_error"),
        matched="tool_name",
        when=_over,
        answers={"deny": about("The turn is interrupted.")},
        blocks=True,
    ),
    HostedEvent(
        theirs="stop",
        ours="stop",
        limits="The documents promise context; the source takes none.",
        fields=("agent_name", "stop_response", "last_user_message"),
    ),
    HostedEvent(
        theirs="turn_end",
        ours="turn_end",
        how="approximate",
        limits="Once for the whole turn of a user's message, not for each model call: never "
        "`continue` or `steered`.",
        fields=("agent_name", "reason"),
    ),
    HostedEvent(
        theirs="on_user_input",
        ours="user_input_required",
        limits="The documents promise the common fields alone.",
    ),
    HostedEvent(
        theirs="on_max_iterations",
        ours="user_input_required",
        how="approximate",
        limits="If a person can be asked whether to go on.",
        fields=("notification_level", "notification_message"),
        when=_limit,
    ),
    HostedEvent(
        theirs="notification",
        ours="notification",
        fields=("notification_level", "notification_message"),
        limits="Alerts of plugins too, and the level `info`.",
    ),
    HostedEvent(
        theirs="on_error",
        ours="llm_call_failed",
        how="approximate",
        limits="When a model call has failed for good.",
        fields=("notification_level", "notification_message"),
        when=lambda told: isinstance(told, TurnFailed),
    ),
    HostedEvent(
        theirs="on_agent_switch",
        ours="subagent_start",
        how="approximate",
        limits="When a child agent begins: always `transfer_task`; no return is told.",
        fields=("from_agent", "to_agent", "agent_switch_kind", "from_agent_models"),
        missing={"from_agent_models": "Addresses of models are not told."},
    ),
    HostedEvent(
        theirs="subagent_stop",
        ours="subagent_stop",
        fields=("agent_name", "parent_session_id", "stop_response"),
        limits="`agent_name` is the child's id.",
    ),
    HostedEvent(
        theirs="session_end",
        ours="session_end",
        fields=("reason",),
        limits="`reason` is `stream_ended`, as the source writes it, or `clear`. All hooks "
        "together have 1 s if the agent ends too.",
    ),
    _never(
        "on_session_resume", "A turn goes on without an event of its own.", "new_max_iterations"
    ),
    _never("pre_compact", _NO_COMPACTION, "source"),
    _never("before_compaction", _NO_COMPACTION, "input_tokens", "compaction_reason"),
    _never("after_compaction", _NO_COMPACTION, "summary"),
    _never("worktree_create", "No worktree is made here.", "worktree_path"),
)

_BY_CLAUDE: Final[dict[str, Any]] = {
    "Bash": Tool("shell", {"command": "cmd"}),
    "Read": Tool("read_file", {"file_path": "path"}),
    "Write": Tool("write_file", {"file_path": "path"}),
    "Edit": Tool("edit_file", {"file_path": "path"}),
    "LS": Tool("list_directory"),
    "Grep": Tool("search_files_content", {"pattern": "query"}),
    "WebFetch": Tool("fetch"),
    "Task": Tool("transfer_task", {"prompt": "task"}),
}

HOSTED: Final = Hosted(
    name="docker-agent",
    title="docker-agent",
    seen="its source of mid-2026",
    format="yaml",
    events=_EVENTS,
    common=("session_id", "cwd", "hook_event_name", "agent_name"),
    define=define,
    build=build,
    judge=judge,
    rule="anchored",
    tools=TheirTools(by_claude=_BY_CLAUDE, mcp="{server}_{tool}"),
    shell=("", "-c"),
    environment=MappingProxyType({"TRACEPARENT": "{traceparent}"}),
    failure="Before a tool call (`pre_tool_use`, `tool_guard`) every failure is a deny. Elsewhere "
    "`on_error` says: a word in the log (`warn`), nothing (`ignore`), a block where the event can "
    "block (`block`).",
    ignored=MappingProxyType(
        {"suppress_output": "Nothing of a hook's output is shown."},
    ),
)
