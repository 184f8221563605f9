"""A guard that is declared is asked, or its manifest is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sliphook.plugin.checks import ManifestError
from sliphook.plugin.overrides import apply_overrides
from sliphook.plugin.spec import Override, PluginSpec
from sliphook_sdk.protocol.limits import MAX_SUBSCRIPTIONS

from .manifests import payload, read, refused, refused_subscription

SHELL = {"event": "pre_tool_call", "match": {"tool_name": "shell"}, "on_failure": "closed"}
ALL = {"event": "pre_tool_call", "on_failure": "open"}


def chosen(*subscriptions: dict[str, Any], **fields: Any) -> int | None:
    """Which subscription a call of a tool goes to."""
    routes = read(subscriptions=list(subscriptions)).routes["pre_tool_call"]
    about = payload(**fields)
    return next((route.index for route in routes if route.matches(about)), None)


def test_a_guard_behind_a_wider_subscription_is_refused_and_both_are_named() -> None:
    assert refused(subscriptions=[ALL, {"event": "stop"}, SHELL]) == (
        "subscription 3 (pre_tool_call) fails closed and would never be asked: "
        "all that it matches goes to those before it, such as subscription 1 (pre_tool_call); "
        "put it first"
    )


def test_the_guard_may_come_first_or_take_what_is_left() -> None:
    assert chosen(SHELL, ALL, tool_name="shell") == 0
    assert chosen({**SHELL, "on_failure": "open"}, {**ALL, "on_failure": "closed"}) in (0, 1)


def test_to_be_told_takes_no_place() -> None:
    told = {"event": "pre_tool_call", "mode": "event"}
    assert chosen(told, SHELL, tool_name="shell") == 1
    assert chosen(told, SHELL, tool_name="weather") == 0


def test_what_is_not_closed_may_stand_behind_a_wider_one() -> None:
    assert chosen(ALL, {**SHELL, "on_failure": "open"}, tool_name="shell") == 0


@pytest.mark.parametrize(
    ("match", "why"),
    [
        ({"tool_name": "say|weather"}, "has '|', but patterns know `*` and `?` alone; several"),
        ({"tool_name": ["shell", "^rm$"]}, "the pattern '^rm$' has '^', but patterns know"),
        ({"tool_name": ""}, "the pattern '' is empty, and no name is"),
    ],
)
def test_a_pattern_that_no_name_of_a_tool_has_is_refused(match: Any, why: str) -> None:
    assert why in refused_subscription(match=match)


def test_a_word_that_a_field_never_has_is_refused() -> None:
    why = refused_subscription("session_end", match={"reason": "quit"})
    assert why.endswith("can fit nothing: reason is one of exit, reset, signal, error, shutdown")


def test_wildcards_that_overlap_in_too_many_ways_are_refused() -> None:
    wild = [f"*{a}{b}*{c}" for a in "abcdef" for b in "abcdef" for c in "xyz"]
    first = {**ALL, "match": {"cwd": wild}}
    second = {**SHELL, "match": {"cwd": [f"?{glob}" for glob in wild]}}
    assert "overlap in too many ways" in refused(subscriptions=[first, second])


def test_what_the_patterns_of_all_hooks_may_cost_is_one_sum() -> None:
    """It is found out in one stretch of the loop."""
    hooks = ("user_prompt_submit", "pre_llm_call", "pre_tool_call")

    def guards(event: str) -> list[dict[str, Any]]:
        return [
            {"event": event, "match": {"cwd": f"*{number:03}"}, "on_failure": "closed"}
            for number in range(MAX_SUBSCRIPTIONS // 3)
        ]

    for hook in hooks:
        assert len(read(subscriptions=guards(hook)).routes[hook]) == MAX_SUBSCRIPTIONS // 3
    of_all = [one for hook in hooks for one in guards(hook)]
    assert "overlap in too many ways" in refused(subscriptions=of_all)


def test_as_many_guards_as_there_may_be_are_told_apart() -> None:
    guards = [
        {**SHELL, "match": {"tool_name": f"tool_{number}"}} for number in range(MAX_SUBSCRIPTIONS)
    ]
    assert chosen(*guards, tool_name="tool_200") == 200


def test_the_user_cannot_close_what_is_never_asked() -> None:
    manifest = read(subscriptions=[ALL, {**SHELL, "on_failure": "open"}])
    spec = PluginSpec(Path("guard"), overrides={"pre_tool_call": Override(on_failure="closed")})
    with pytest.raises(ManifestError, match="would never be asked"):
        apply_overrides(manifest, spec)
