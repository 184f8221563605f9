"""What installed plugins need of an agent, and which guards it could never ask."""

from __future__ import annotations

from typing import Any

import msgspec

from sliphook.adapters.dialects.known import DIALECTS
from sliphook.adapters.dialects.subscribed import (
    Unaskable,
    events_to_write,
    guarding,
    unaskable,
)
from sliphook_sdk.protocol import Manifest

CLAUDE = DIALECTS["claude-code"]


def plugin(*subscriptions: dict[str, Any], name: str = "guard") -> Manifest:
    return msgspec.convert(
        {"protocol_version": 1, "name": name, "subscriptions": list(subscriptions)}, Manifest
    )


def test_a_plugin_without_subscriptions_needs_no_hook() -> None:
    assert events_to_write(CLAUDE, [plugin()]) == ()
    assert events_to_write(CLAUDE, []) == ()


def test_a_guard_of_tools_needs_both_ends_of_a_call_and_of_a_turn() -> None:
    assert set(events_to_write(CLAUDE, [plugin({"event": "pre_tool_call"})])) == {
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "Stop",
        "StopFailure",
    }


def test_who_hears_the_end_of_a_call_needs_its_beginning() -> None:
    assert "PreToolUse" in events_to_write(CLAUDE, [plugin({"event": "post_tool_call"})])


def test_who_hears_of_sessions_alone_needs_nothing_else() -> None:
    manifests = [plugin({"event": "session_start"}), plugin({"event": "session_end"})]
    assert set(events_to_write(CLAUDE, manifests)) == {"SessionStart", "SessionEnd"}


def test_what_never_fires_needs_nothing() -> None:
    assert events_to_write(CLAUDE, [plugin({"event": "pre_llm_call"})]) == ()


def test_an_entry_of_tomorrow_needs_nothing() -> None:
    manifests = [plugin({"event": "of_tomorrow", "optional": True, "on_failure": "closed"})]
    assert events_to_write(CLAUDE, manifests) == ()
    assert unaskable(CLAUDE, manifests) == []


def test_a_closed_subscription_to_what_is_never_asked_is_named() -> None:
    manifests = [
        plugin({"event": "pre_llm_call", "on_failure": "closed"}, name="costs"),
        plugin({"event": "pre_llm_call"}, name="notes"),
        plugin({"event": "pre_tool_call"}, name="guard"),
    ]
    assert unaskable(CLAUDE, manifests) == [
        Unaskable(
            plugin="costs",
            entry="pre_llm_call",
            why="Claude Code has no hook around its model calls.",
        )
    ]


def test_tool_guards_are_closed_if_nothing_is_said() -> None:
    assert guarding(CLAUDE, [plugin({"event": "pre_tool_call"})]) == ("PreToolUse",)
    assert guarding(CLAUDE, [plugin({"event": "pre_tool_call", "on_failure": "open"})]) == ()
    assert guarding(CLAUDE, [plugin({"event": "pre_tool_call", "mode": "event"})]) == ()
    assert guarding(CLAUDE, [plugin({"event": "user_prompt_submit"})]) == ()
    both = [
        plugin({"event": "pre_tool_call"}, {"event": "user_prompt_submit", "on_failure": "closed"})
    ]
    assert set(guarding(CLAUDE, both)) == {"PreToolUse", "UserPromptSubmit"}
