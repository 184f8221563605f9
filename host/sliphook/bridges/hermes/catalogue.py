"""Pure: what of the protocol's catalogue comes from where in Hermes, and how well."""

from __future__ import annotations

from typing import Final, NamedTuple

from sliphook.adapters.dialects.dialect import How


class Mapping(NamedTuple):
    """One row.

    Attributes:
        what: the hook, the event, or another ability of plugins.
        seam: where it comes from in Hermes.
        how: how well.
        note: what a plugin's author should know; why it is not exact.
    """

    what: str
    seam: str
    how: How
    note: str


CATALOGUE_ROWS: Final = (
    Mapping(
        "session_start",
        "first run of a session id",
        "exact",
        "its texts go into each request's system message; `resume` if the run comes with a history",
    ),
    Mapping("session_reset", "`on_session_reset`", "exact", "under Hermes's new id"),
    Mapping(
        "session_end",
        "`on_session_finalize`, `AIAgent.close`",
        "approximate",
        "`/exit` and SIGTERM both say `shutdown`; a `hermes -z` that SIGTERM ends says nothing",
    ),
    Mapping("turn_start", "`run_conversation`", "exact", "each run is a turn"),
    Mapping(
        "user_prompt_submit",
        "`run_conversation`, `pre_llm_call`",
        "exact",
        "of a message with pictures the text alone is asked about",
    ),
    Mapping(
        "pre_llm_call",
        "`llm_execution`",
        "exact",
        "by the APIs below; asked at each attempt of Hermes as a new call",
    ),
    Mapping("post_llm_call", "`llm_execution`", "exact", "by the APIs below"),
    Mapping(
        "llm_call_failed",
        "`llm_execution`, `api_request_error`",
        "approximate",
        "where Hermes says no more than the exception, it is told when the next attempt begins",
    ),
    Mapping(
        "pre_tool_call",
        "`pre_tool_call`",
        "exact",
        "a denial is `blocked` for Hermes; a call that Hermes passes by its hook is asked about in"
        " `tool_execution`",
    ),
    Mapping(
        "post_tool_call",
        "`tool_execution`",
        "exact",
        "a call that Hermes blocks after plugins allowed it has the status `error`",
    ),
    Mapping(
        "stop",
        "after `run_conversation`",
        "approximate",
        "the first answer may have been shown when Hermes goes on",
    ),
    Mapping(
        "agent_loop_stopped",
        "`AIAgent.interrupt`",
        "exact",
        "the reason comes from Hermes's message; a text of the user's is `new_message`",
    ),
    Mapping("submission_end", "", "impossible", "Hermes takes no messages of plugins"),
    Mapping("turn_end", "`run_conversation`", "exact", "once for each `turn_start`"),
    Mapping("notification", "", "impossible", "no hook tells what Hermes shows"),
    Mapping(
        "user_input_required",
        "`pre_approval_request`",
        "approximate",
        "a plugin's `ask` is exact; Hermes's own approvals are told as questions, which only the"
        " person can answer: `question_id` is null; `clarify` is seen as a tool call",
    ),
    Mapping(
        "user_input_received", "`post_approval_response`", "approximate", "as `user_input_required`"
    ),
    Mapping(
        "subagent_start",
        "`subagent_start`",
        "exact",
        "told in the parent's turn, perhaps before the child has a free place to run",
    ),
    Mapping(
        "subagent_stop",
        "the child's run",
        "exact",
        "a child in the background stays guarded after its parent's turn",
    ),
)
"""The catalogue, in its order."""

ABILITY_ROWS: Final = (
    Mapping(
        "tools",
        "`register_tool`",
        "approximate",
        "those of the manifests that the user approved; Hermes fixes them when it makes an agent",
    ),
    Mapping(
        "commands",
        "`register_command`",
        "approximate",
        "Hermes does not say in which session; if several are open, it is none of them",
    ),
    Mapping(
        "ask",
        "`request_tool_approval`",
        "approximate",
        "Hermes's own approval asks the person; with `--yolo`, and in cron jobs that approve, it"
        " says yes in their place; where nobody can be asked, it is a deny",
    ),
    Mapping("host/notify", "", "approximate", "written to Hermes's log; Hermes shows no alerts"),
    Mapping("host/inject", "`llm_execution`", "exact", "before the run's next model call"),
    Mapping("host/interrupt", "`AIAgent.interrupt`", "exact", "Hermes stops"),
    Mapping("host/submit", "", "impossible", "refused"),
    Mapping("host/ask", "", "impossible", "refused: Hermes has no way to ask for a plugin"),
    Mapping("routes", "", "impossible", "Hermes chooses where its model calls go"),
)
"""What else plugins can do."""

API_ROWS: Final = (
    Mapping("chat_completions", "`llm_execution`", "exact", "the providers `moa` too, as one call"),
    Mapping("anthropic_messages", "`llm_execution`", "exact", "each result of a tool is a message"),
    Mapping(
        "codex_responses",
        "`llm_execution`",
        "exact",
        "each call of a tool is a message; what the model thought goes with the message behind it",
    ),
    Mapping("bedrock_converse", "`llm_execution`", "exact", "each result of a tool is a message"),
    Mapping(
        "codex_app_server",
        "",
        "impossible",
        "Codex has the loop and runs its own tools: with a guard of tool calls there is no run",
    ),
    Mapping(
        "copilot-acp",
        "",
        "impossible",
        "Copilot reads and writes files past all tools: with a guard of tool calls there is no run",
    ),
)
"""Hermes's model APIs, and how their calls are put to plugins."""
