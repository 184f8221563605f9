"""Every table is whole, and neither what an agent sends nor what plugins answer can break it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.dialect import Dialect
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.adapters.dialects.told import Misread, ToolAsked
from sliphook_sdk.protocol import CATALOGUE

from .recorded import SAMPLES

EVERY = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
FIELDS = sorted(
    {
        name
        for path in SAMPLES.rglob("*.json")
        for name in json.loads(path.read_text(encoding="utf-8"))
    }
)


def answers_of(ours: str) -> set[str]:
    entry = CATALOGUE[ours]
    named = set(entry.decisions) | {f"replace.{name}" for name in entry.replace}
    named |= {f"substitute.{name}" for name in entry.substitute}
    if entry.context:
        named.add("context")
    if entry.continues:
        named.add("continue_with")
    return named


def test_the_agents() -> None:
    assert list(DIALECTS) == ["claude-code", "codex", "gemini", "copilot", "cursor"]


def test_each_was_tried_with_the_version_that_real_clients_gets() -> None:
    lock = Path(__file__).parents[2] / "real_clients" / "package-lock.json"
    packages = json.loads(lock.read_text(encoding="utf-8"))["packages"][""]["dependencies"]
    assert packages == {
        "@anthropic-ai/claude-code": DIALECTS["claude-code"].seen,
        "@github/copilot": DIALECTS["copilot"].seen,
        "@google/gemini-cli": DIALECTS["gemini"].seen,
        "@openai/codex": DIALECTS["codex"].seen,
    }


@EVERY
def test_every_entry_is_there_with_every_answer(dialect: Dialect) -> None:
    assert [entry.ours for entry in dialect.entries] == list(CATALOGUE)
    for entry in dialect.entries:
        wanted: set[str] = set() if entry.how == "impossible" else answers_of(entry.ours)
        assert set(entry.answers) == wanted, entry.ours


@EVERY
def test_every_event_of_the_table_can_be_read_and_has_its_words(dialect: Dialect) -> None:
    for entry in dialect.entries:
        assert set(entry.theirs) <= set(dialect.readers), entry.ours
        assert entry.theirs == () or entry.how != "impossible", entry.ours
        assert entry.limits or entry.how == "exact", entry.ours
        for effect in entry.answers.values():
            assert effect.limits or effect.how == "exact", entry.ours
    assert {*dialect.life, *dialect.turns, *dialect.guards} <= set(dialect.readers)


def test_the_shell_of_every_agent_is_a_shell_and_what_is_not_known_has_no_kind() -> None:
    shells = {
        "claude-code": "Bash",
        "codex": "Bash",
        "gemini": "run_shell_command",
        "copilot": "bash",
        "cursor": "Shell",
    }
    for name, dialect in DIALECTS.items():
        assert dialect.tools.kind(shells[name]) == "shell"
        assert dialect.tools.kind("of_tomorrow") is None
    assert DIALECTS["claude-code"].tools.kind("mcp__files__read") == "mcp"
    assert DIALECTS["claude-code"].tools.kind("TodoWrite") == "other"


@pytest.mark.parametrize(
    ("agent", "event", "said", "origin"),
    [
        (
            "gemini",
            "BeforeTool",
            {"tool_name": "mcp_my_files_read", "mcp_context": {"server_name": "my_files"}},
            "mcp:my_files",
        ),
        ("gemini", "BeforeTool", {"tool_name": "mcp_files_read"}, "mcp:files"),
        (
            "claude-code",
            "PreToolUse",
            {"tool_name": "ReadMcpResourceTool", "tool_input": {"server": "files", "uri": "x"}},
            "mcp:files",
        ),
        (
            "claude-code",
            "PreToolUse",
            {"tool_name": "ListMcpResourcesTool", "tool_input": {"server": ["files"]}},
            "mcp:ListMcpResourcesTool",
        ),
        ("codex", "PreToolUse", {"tool_name": "mcp__my_files__read"}, "mcp:my_files"),
    ],
)
def test_of_which_server_a_tool_is(
    agent: str, event: str, said: dict[str, Any], origin: str
) -> None:
    told = DIALECTS[agent].read(event, {"session_id": "s", **said})
    assert isinstance(told, ToolAsked)
    assert told.origin == origin


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
payloads = st.dictionaries(st.sampled_from(FIELDS) | st.text(), anything) | anything
texts = st.none() | st.text()
answers = st.builds(
    HookAnswer,
    denied=texts,
    ask=texts,
    arguments=st.none() | st.dictionaries(st.text(), anything),
    context=st.lists(st.text(), max_size=3).map(tuple),
    result=texts,
    continue_with=texts,
    message=texts,
    end=texts,
)


@given(st.sampled_from([*DIALECTS.values()]), st.data(), payloads, answers)
def test_whatever_comes_is_read_and_answered_with_json(
    dialect: Dialect, data: st.DataObject, payload: Any, answer: HookAnswer
) -> None:
    event = data.draw(st.sampled_from([*dialect.readers]) | st.text())
    read = dialect.read(event, payload)
    if isinstance(read, Misread):
        assert read.why.endswith(".")
        return
    assert_fits(dialect, dialect.write(read, answer).stdout)


@given(st.sampled_from(sorted(SAMPLES.rglob("*.json"))), st.data(), answers)
def test_a_sample_with_something_else_in_one_field(
    path: Any, data: st.DataObject, answer: HookAnswer
) -> None:
    dialect = DIALECTS[path.parent.name.removesuffix("-cli")]
    payload = json.loads(path.read_text(encoding="utf-8"))
    payload[data.draw(st.sampled_from([*payload]))] = data.draw(anything)
    read = dialect.read(path.stem.partition("-")[0], payload)
    if not isinstance(read, Misread):
        assert_fits(dialect, dialect.write(read, answer).stdout)


CLAUDES = {"systemMessage", "decision", "reason", "hookSpecificOutput", "continue", "stopReason"}
TOP = {
    "claude-code": CLAUDES,
    "codex": CLAUDES - {"continue", "stopReason"},
    "gemini": CLAUDES,
    "copilot": {
        "permissionDecision",
        "permissionDecisionReason",
        "modifiedArgs",
        "modifiedResult",
        "additionalContext",
        "decision",
        "reason",
    },
    "cursor": {
        "permission",
        "user_message",
        "agent_message",
        "updated_input",
        "additional_context",
        "continue",
        "followup_message",
    },
}


def assert_fits(dialect: Dialect, stdout: bytes) -> None:
    """One object without fields that the agent does not know, and no decision without a reason."""
    if not stdout:
        return
    said = json.loads(stdout)
    assert set(said) <= TOP[dialect.name]
    specific = said.get("hookSpecificOutput", {}) | said
    if "decision" in said:
        assert said["reason"]
    if specific.get("permissionDecision") in ("deny", "ask"):
        assert specific["permissionDecisionReason"]
    if specific.get("permissionDecision") == "allow":
        assert (dialect.name, "updatedInput" in specific) == ("codex", True)


@EVERY
def test_what_is_nested_too_deeply_is_said_and_raises_nothing(dialect: Dialect) -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for event in dialect.readers:
        payload = dict.fromkeys(FIELDS, deep) | {"session_id": "s", "sessionId": "s"}
        dialect.read(event, payload)
    tool = dialect.entry("pre_tool_call").theirs[0]
    asked = {"tool_name": "x", "toolName": "x", "session_id": "s", "tool_input": {"a": deep}}
    read = dialect.read(tool, asked)
    assert not isinstance(read, Misread)
    reply = dialect.write(read, HookAnswer(arguments={"a": deep}))
    assert b"the answer cannot be written as JSON" in reply.stdout
