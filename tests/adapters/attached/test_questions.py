"""What an agent itself asks its person: told to plugins, with what the person said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sliphook.adapters.attached.build import Client
from tests.programs import Program

from .conftest import Install
from .fake_agent import Agent, wait_for
from .test_dialogues import bash, done

ASKED = [
    {"event": name}
    for name in ("user_input_required", "user_input_received", "turn_end", "pre_tool_call")
]


@pytest.fixture
def ear(install: Install) -> Program:
    on = """
    if method == "hook/pre_tool_call" and "ask" in str(params["arguments"]):
        return {"decision": "ask", "reason": "sure?"}
    """
    return install(subscriptions=ASKED, on=on)


def required(ear: Program) -> list[tuple[str, str, bool]]:
    return [
        (one["kind"], one["prompt"], one["call_id"] is not None)
        for one in ear.params("event/user_input_required")
    ]


def received(ear: Program) -> list[tuple[str, str]]:
    return [(one["choice"], one["by"]) for one in ear.params("event/user_input_received")]


def ended(ear: Program, times: int) -> None:
    wait_for(lambda: len(received(ear)) == times)


@pytest.fixture
def claude(built: dict[str, Client], ear: Program, agents: Callable[..., Agent]) -> Agent:
    agent = agents(built["c"])
    agent.hook("UserPromptSubmit", prompt="go")
    return agent


def batch(*ids: str) -> list[dict[str, Any]]:
    return [
        {"tool_name": "Bash", "tool_input": {}, "tool_use_id": id, "tool_response": "no"}
        for id in ids
    ]


def test_claude_asks_about_a_call(claude: Agent, ear: Program) -> None:
    for id, command in (("t-1", "a"), ("t-2", "b")):
        claude.hook("PreToolUse", **bash(id, command))
    assert claude.hook("PermissionRequest", tool_input={"command": "b"}).json == {}
    claude.hook("PermissionRequest", tool_input={"command": "a"})
    claude.hook("PostToolUse", **done("t-2", "b", "x"))
    claude.hook("PostToolBatch", tool_calls=batch("t-1", "t-2"))
    ended(ear, 2)
    assert required(ear) == [("approval", "Run Bash?", True)] * 2
    assert received(ear) == [("allow", "user"), ("deny", "user")]
    calls = [one["call_id"] for one in ear.params("hook/pre_tool_call")]
    assert [one["call_id"] for one in ear.params("event/user_input_received")] == calls[::-1]


def test_what_a_plugin_has_claude_ask_is_told_once(claude: Agent, ear: Program) -> None:
    claude.hook("PreToolUse", **bash("t-1", "ask"))
    claude.hook("PermissionRequest", tool_input={"command": "ask"})
    claude.hook("PostToolUse", **done("t-1", "ask", "x"))
    ended(ear, 1)
    assert required(ear) == [("approval", "Run Bash? guard: sure?", True)]
    assert received(ear) == [("allow", "user")]


def test_a_call_of_which_nothing_was_told(claude: Agent, ear: Program) -> None:
    claude.hook("PermissionRequest", tool_input={"command": "a"})
    claude.hook("PostToolUse", **done("t-1", "a", "x"))
    ended(ear, 1)
    assert required(ear) == [("approval", "Run Bash?", False)]
    assert received(ear) == [("allow", "user")]


@pytest.mark.parametrize(
    ("action", "choice"),
    [("accept", ("allow", "user")), ("decline", ("deny", "user")), ("cancel", ("deny", "none"))],
)
def test_a_server_asks_in_claude(
    claude: Agent, ear: Program, action: str, choice: tuple[str, str]
) -> None:
    claude.hook("Elicitation", mcp_server_name="git")
    claude.hook("ElicitationResult", mcp_server_name="another", action="accept")
    claude.hook("ElicitationResult", mcp_server_name="git", action=action)
    ended(ear, 1)
    assert required(ear) == [("question", "git: Really?", False)]
    assert received(ear) == [choice]


def test_an_interrupt_ends_the_question_with_its_turn(claude: Agent, ear: Program) -> None:
    claude.hook("PreToolUse", **bash("t-1", "a"))
    claude.hook("PermissionRequest", tool_input={"command": "a"})
    claude.hook("UserPromptSubmit", prompt="something else")
    wait_for(lambda: "turn_end" in ear.names())
    assert received(ear) == []


def test_codex_asks_about_a_call(
    built: dict[str, Client], ear: Program, agents: Callable[..., Agent]
) -> None:
    codex = agents(built["c"], name="codex")
    codex.hook("UserPromptSubmit", prompt="go")
    for id in ("t-1", "t-2"):
        call: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": id}}
        codex.hook("PreToolUse", tool_use_id=id, **call)
        assert codex.tells("PermissionRequest", **call).json == {}
    codex.hook("PostToolUse", tool_use_id="t-1", tool_input={"command": "t-1"})
    codex.hook("Stop")
    ended(ear, 2)
    assert required(ear) == [("approval", "Run Bash?", True)] * 2
    assert received(ear) == [("allow", "user"), ("deny", "none")]


def test_gemini_asks_about_a_call(
    built: dict[str, Client], ear: Program, agents: Callable[..., Agent]
) -> None:
    gemini = agents(built["c"], name="gemini")
    gemini.hook("BeforeAgent", prompt="go")
    gemini.hook("Notification")
    gemini.hook("BeforeTool")
    gemini.hook("Notification", message="Another?")
    gemini.hook("AfterTool")
    gemini.hook("Notification", message="Third?")
    gemini.hook("AfterAgent")
    ended(ear, 3)
    assert required(ear) == [
        ("approval", "Tool Confirm Shell Command requires execution", False),
        ("approval", "Another?", True),
        ("approval", "Third?", False),
    ]
    assert received(ear) == [("allow", "user"), ("allow", "user"), ("deny", "none")]
