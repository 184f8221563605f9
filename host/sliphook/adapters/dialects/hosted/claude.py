"""Pure: how Claude Code runs its hooks."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from sliphook.adapters.dialects.dialect import EXACT, about, never
from sliphook.adapters.dialects.told import Happening, PersonAsked

from .claude_define import define
from .claude_rules import build, judge
from .hosted import (
    BESIDE_THE_PERSON,
    DECIDES,
    Hosted,
    HostedEvent,
    failed,
    not_here,
    worked,
)
from .toolmap import SAME, TheirTools

_TOOL: Final = ("tool_name", "tool_input", "tool_use_id")
_OWN_TOOLS: Final = "Names and arguments as `foreign.tools` says; results as a shell's or as text."


def _is_approval(told: Happening) -> bool:
    return isinstance(told, PersonAsked) and told.kind == "approval"


EVENTS: Final = (
    HostedEvent(
        theirs="SessionStart",
        ours="session_start",
        fields=("source", "model"),
        matched="source",
        answers={"context": EXACT},
    ),
    HostedEvent(
        theirs="SessionEnd",
        ours="session_end",
        how="approximate",
        limits="`reason` is `clear` or `other`. All hooks together have 1 s if the agent ends too.",
        fields=("reason",),
        matched="reason",
        timeout_s=1.5,
    ),
    HostedEvent(
        theirs="UserPromptSubmit",
        ours="user_prompt_submit",
        fields=("prompt",),
        answers={"deny": EXACT, "context": EXACT},
        blocks=True,
        timeout_s=30.0,
    ),
    HostedEvent(
        theirs="PreToolUse",
        ours="pre_tool_call",
        how="approximate",
        limits=_OWN_TOOLS,
        fields=_TOOL,
        matched="tool_name",
        blocks=True,
        answers={
            "allow": about("No opinion: the agent's own rules decide."),
            "deny": EXACT,
            "ask": EXACT,
            "replace.arguments": EXACT,
            "context": EXACT,
        },
    ),
    HostedEvent(
        theirs="PostToolUse",
        ours="post_tool_call",
        how="approximate",
        limits=_OWN_TOOLS,
        fields=(*_TOOL, "tool_response", "duration_ms"),
        matched="tool_name",
        when=worked,
        answers={"replace.result": EXACT, "context": EXACT},
    ),
    HostedEvent(
        theirs="PostToolUseFailure",
        ours="post_tool_call",
        fields=(*_TOOL, "error", "is_interrupt", "duration_ms"),
        matched="tool_name",
        when=failed,
        answers={"context": EXACT},
    ),
    HostedEvent(
        theirs="Stop",
        ours="stop",
        fields=("stop_hook_active", "last_assistant_message"),
        answers={"continue_with": EXACT},
    ),
    HostedEvent(
        theirs="StopFailure",
        ours="llm_call_failed",
        how="approximate",
        limits="When a model call has failed for good.",
        fields=("error", "error_details"),
        matched="error",
    ),
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
        fields=("agent_id", "agent_type", "last_assistant_message", "stop_hook_active"),
        matched="agent_type",
        answers={"continue_with": never("A child agent has ended when it is told.")},
    ),
    HostedEvent(
        theirs="Notification",
        ours="notification",
        how="approximate",
        limits="`notification_type` is `sliphook_info`, `sliphook_warning` or `sliphook_error`.",
        fields=("message", "notification_type"),
        matched="notification_type",
    ),
    HostedEvent(
        theirs="Notification",
        ours="user_input_required",
        how="approximate",
        limits="`permission_prompt` for an approval, `elicitation_dialog` for a question.",
        fields=("message", "notification_type"),
        matched="notification_type",
    ),
    HostedEvent(
        theirs="PermissionRequest",
        ours="user_input_required",
        how="approximate",
        limits=BESIDE_THE_PERSON,
        fields=("tool_name", "tool_input"),
        matched="tool_name",
        when=_is_approval,
        answers=DECIDES,
    ),
    HostedEvent(
        theirs="PermissionDenied",
        ours="post_tool_call",
        how="approximate",
        limits="For every call that was denied, by a person, a plugin or a rule.",
        fields=(*_TOOL, "reason"),
        matched="tool_name",
        when=lambda told: type(told).__name__ == "ToolDenied",
    ),
    *not_here(
        "Setup",
        "PreCompact",
        "PostCompact",
        "PostToolBatch",
        "UserPromptExpansion",
        "MessageDisplay",
        "Elicitation",
        "ElicitationResult",
        "ConfigChange",
        "CwdChanged",
        "FileChanged",
        "InstructionsLoaded",
        "TaskCreated",
        "TaskCompleted",
        "TeammateIdle",
        "WorktreeCreate",
        "WorktreeRemove",
        "PostModelSwitch",
    ),
)

HOSTED: Final = Hosted(
    name="claude-code",
    title="Claude Code",
    seen="2.1.332",
    format="json",
    events=EVENTS,
    common=("session_id", "transcript_path", "cwd", "permission_mode", "hook_event_name"),
    define=define,
    build=build,
    judge=judge,
    rule="names or search",
    tools=TheirTools(by_claude=SAME, mcp="mcp__{server}__{tool}"),
    environment=MappingProxyType(
        {
            "CLAUDE_PROJECT_DIR": "{project}",
            "CLAUDE_CODE_SESSION_ID": "{session}",
            "CLAUDE_PLUGIN_ROOT": "{root}",
            "CLAUDE_PLUGIN_DATA": "{data}",
            "CLAUDE_ENV_FILE": "{env_file}",
        }
    ),
    failure="Exit code 2 blocks. Any other failure is no opinion, but with `onFailure: block` it "
    "blocks too.",
    ignored=MappingProxyType(
        {
            "CLAUDE_ENV_FILE": "What a hook writes there is not put into the agent's commands.",
            "updatedPermissions": "Permissions are the agent's own.",
            "suppressOutput": "Nothing of a hook's output is shown.",
            "sessionTitle, watchPaths, reloadSkills, terminalSequence": "There is nothing of it.",
        }
    ),
)
