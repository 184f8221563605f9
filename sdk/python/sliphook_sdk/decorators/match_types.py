"""The fields that `match` may name in each hook and event, for type checkers alone."""

from __future__ import annotations

from typing import TypedDict, Union

Patterns = Union[str, list[str]]
"""`*` and `?`; of a list any must fit."""


# generated: match
class CommonMatch(TypedDict, total=False):
    """Fields of every payload."""

    session_key: Patterns
    platform: Patterns
    user_id: Patterns
    cwd: Patterns


class SessionStartMatch(CommonMatch, total=False):
    """Fields of `session_start`."""

    source: Patterns
    model: Patterns


class SessionResetMatch(CommonMatch, total=False):
    """Fields of `session_reset`."""

    cause: Patterns


class SessionEndMatch(CommonMatch, total=False):
    """Fields of `session_end`."""

    reason: Patterns


class TurnStartMatch(CommonMatch, total=False):
    """Fields of `turn_start`."""

    submitted_by: Patterns


class UserPromptSubmitMatch(CommonMatch, total=False):
    """Fields of `user_prompt_submit`."""

    source: Patterns
    submitted_by: Patterns


class PreLlmCallMatch(CommonMatch, total=False):
    """Fields of `pre_llm_call`."""

    provider: Patterns
    model: Patterns


class PostLlmCallMatch(CommonMatch, total=False):
    """Fields of `post_llm_call`."""

    provider: Patterns
    model: Patterns
    finish_reason: Patterns
    substituted_by: Patterns
    routed_by: Patterns


class LlmCallFailedMatch(CommonMatch, total=False):
    """Fields of `llm_call_failed`."""

    kind: Patterns


class PreToolCallMatch(CommonMatch, total=False):
    """Fields of `pre_tool_call`."""

    tool_name: Patterns
    tool_kind: Patterns
    origin: Patterns


class PostToolCallMatch(TypedDict, total=False):
    """Fields of `post_tool_call`."""

    tool_name: Patterns
    tool_kind: Patterns
    origin: Patterns
    status: Patterns
    substituted_by: Patterns


class AgentLoopStoppedMatch(TypedDict, total=False):
    """Fields of `agent_loop_stopped`."""

    reason: Patterns


class SubmissionEndMatch(TypedDict, total=False):
    """Fields of `submission_end`."""

    by: Patterns
    outcome: Patterns


class TurnEndMatch(TypedDict, total=False):
    """Fields of `turn_end`."""

    outcome: Patterns


class NotificationMatch(CommonMatch, total=False):
    """Fields of `notification`."""

    level: Patterns
    source: Patterns


class UserInputRequiredMatch(CommonMatch, total=False):
    """Fields of `user_input_required`."""

    kind: Patterns
    tool_name: Patterns
    origin: Patterns
    asked_by: Patterns


class UserInputReceivedMatch(CommonMatch, total=False):
    """Fields of `user_input_received`."""

    kind: Patterns
    by: Patterns


class SubagentStopMatch(TypedDict, total=False):
    """Fields of `subagent_stop`."""

    status: Patterns


# end
