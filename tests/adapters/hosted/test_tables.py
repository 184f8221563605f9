"""Every table is whole, and neither a configuration nor what a command writes can break it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.adapters.dialects.hosted.handler import Handler
from sliphook.adapters.dialects.hosted.hosted import Ended, Hosted
from sliphook.adapters.dialects.hosted.known import SYSTEMS
from sliphook.adapters.dialects.reading import WrongField
from sliphook_sdk.protocol import CATALOGUE

from .judged import asked, done, prompted, started, stopping

EVERY = pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
ANSWERS = {
    "allow",
    "deny",
    "ask",
    "context",
    "continue_with",
    "instruction_context",
    "metadata",
    "replace.arguments",
    "replace.messages",
    "replace.result",
}


def test_the_systems() -> None:
    assert list(SYSTEMS) == [
        "claude-code",
        "docker-agent",
        "agent-code",
        "codex",
        "gemini",
        "copilot",
        "cursor",
    ]


@EVERY
def test_every_row_has_its_words(system: Hosted) -> None:
    for row in system.events:
        assert row.limits or row.how == "exact", row.theirs
        assert (row.ours == "") == (row.how == "impossible"), row.theirs
        assert not row.ours or row.ours in CATALOGUE, row.theirs
        assert set(row.answers) <= ANSWERS, row.theirs
        assert set(row.missing) <= set(row.fields), row.theirs
        for effect in row.answers.values():
            assert effect.limits or effect.how == "exact", row.theirs
        if row.blocks and row.ours != "post_tool_call":
            assert "deny" in CATALOGUE[row.ours].decisions, row.theirs


def test_the_events_that_docker_agents_source_has() -> None:
    named = [row.theirs for row in SYSTEMS["docker-agent"].events]
    assert len(set(named)) == 28
    for name in ("session_start", "session_end", "notification", "on_user_input", "stop"):
        row = SYSTEMS["docker-agent"].named(name)[0]
        assert (row.how, row.missing) == ("exact", {}), name


def test_the_events_that_agent_codes_source_has() -> None:
    assert {row.theirs for row in SYSTEMS["agent-code"].events} == {
        "session_start",
        "session_stop",
        "pre_tool_use",
        "post_tool_use",
        "user_prompt_submit",
        "pre_turn",
        "post_turn",
        "pre_compact",
        "post_compact",
        "file_changed",
        "stop",
        "notification",
        "cwd_changed",
        "config_change",
        "error",
        "permission_denied",
        "task_completed",
    }


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
hooks = st.dictionaries(st.sampled_from(["hooks", "agents", "PreToolUse", "stop"]), anything)


@EVERY
@given(config=hooks | st.fixed_dictionaries({"hooks": st.dictionaries(st.text(), anything)}))
def test_no_configuration_breaks_a_table(system: Hosted, config: dict[str, Any]) -> None:
    try:
        found = system.define(config)
    except WrongField:
        return
    assert len(found.handlers) + len(found.refused) <= 256


FIELDS = [
    "decision",
    "reason",
    "continue",
    "systemMessage",
    "hookSpecificOutput",
    "hook_specific_output",
    "permission_decision",
    "permissionDecision",
    "updatedInput",
    "updated_input",
    "updated_messages",
    "updatedToolOutput",
    "additionalContext",
    "modifiedResult",
    "permission",
]
said = st.dictionaries(
    st.sampled_from(FIELDS),
    anything
    | st.sampled_from(["deny", "block", "allow"])
    | st.dictionaries(st.sampled_from(FIELDS), anything),
)


@EVERY
@given(
    body=said,
    text=st.text(max_size=50),
    code=st.sampled_from([0, 1, 2, -9, 127, None]),
    closed=st.booleans(),
)
def test_nothing_that_a_command_writes_breaks_a_table(
    system: Hosted, body: dict[str, Any], text: str, code: int | None, closed: bool
) -> None:
    for stdout in (json.dumps(body), text, "{" + text):
        ended = Ended(exit_code=code, stdout=stdout, stderr=text, failure=None if code else "x")
        for told in (asked("x"), done("x"), prompted("x"), stopping("x"), started("x")):
            for row in system.events:
                handler = Handler(
                    event=row.theirs,
                    command="c",
                    strict=closed,
                    on_failure="closed" if closed else "open",
                )
                system.judge(row, handler, told, ended)


@EVERY
def test_a_lone_surrogate_is_written_as_an_escape(system: Hosted) -> None:
    told = prompted(system.events[0].theirs, "a\ud800b")
    assert b"\\ud800" in system.stdin(told) or system.name == "agent-code"
