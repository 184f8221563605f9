"""Codex, Gemini CLI, Copilot CLI and Cursor: one session in each, played as it was recorded."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sliphook.adapters.attached.build import Client
from tests.programs import Program

from .conftest import Install
from .fake_agent import Agent, Said, daemons, wait_for
from .test_dialogues import GUARD, SUBSCRIPTIONS


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent says what all of them say, and what it is answered.

    Attributes:
        start, prompt, pre, post, stop, end: its events.
        shell: its shell.
        result: the field of a result, from its text.
        pre_fields: the fields of a call.
        deny, rewritten, redacted, go_on: what it is answered.
        prompt_context: what it is answered to a prompt.
    """

    start: str
    prompt: str
    pre: str
    post: str
    stop: str
    end: str
    shell: dict[str, str]
    arguments: str
    result: Callable[[str], dict[str, Any]]
    deny: dict[str, Any]
    rewritten: dict[str, Any]
    redacted: dict[str, Any]
    prompt_context: dict[str, Any]
    go_on: dict[str, Any]


def hook(event: str, **said: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **said}}


PUBLIC = {"command": "echo public"}
TEXT = "[guard] the tests are red"
HIDDEN = "[guard] it was hidden"
AGENTS = {
    "codex": Words(
        start="SessionStart",
        prompt="UserPromptSubmit",
        pre="PreToolUse",
        post="PostToolUse",
        stop="Stop",
        end="SessionEnd",
        shell={"tool_name": "Bash"},
        arguments="tool_input",
        result=lambda text: {"tool_response": text},
        deny=hook("PreToolUse", permissionDecision="deny", permissionDecisionReason="guard: no"),
        rewritten=hook("PreToolUse", permissionDecision="allow", updatedInput=PUBLIC),
        redacted={
            "decision": "block",
            "reason": "[redacted]",
            **hook("PostToolUse", additionalContext=HIDDEN),
        },
        prompt_context=hook("UserPromptSubmit", additionalContext=TEXT),
        go_on={"decision": "block", "reason": "Run the tests."},
    ),
    "gemini": Words(
        start="SessionStart",
        prompt="BeforeAgent",
        pre="BeforeTool",
        post="AfterTool",
        stop="AfterAgent",
        end="SessionEnd",
        shell={"tool_name": "run_shell_command"},
        arguments="tool_input",
        result=lambda text: {"tool_response": {"llmContent": text, "returnDisplay": text}},
        deny={"decision": "deny", "reason": "guard: no"},
        rewritten=hook("BeforeTool", tool_input=PUBLIC),
        redacted={"decision": "deny", "reason": f"[redacted]\n\n{HIDDEN}"},
        prompt_context=hook("BeforeAgent", additionalContext=TEXT),
        go_on={"decision": "deny", "reason": "Run the tests."},
    ),
    "copilot": Words(
        start="sessionStart",
        prompt="userPromptSubmitted",
        pre="preToolUse",
        post="postToolUse",
        stop="agentStop",
        end="sessionEnd",
        shell={"toolName": "bash"},
        arguments="toolArgs",
        result=lambda text: {"toolResult": {"resultType": "success", "textResultForLlm": text}},
        deny={"permissionDecision": "deny", "permissionDecisionReason": "guard: no"},
        rewritten={"modifiedArgs": PUBLIC},
        redacted={
            "modifiedResult": {"resultType": "success", "textResultForLlm": "[redacted]"},
            "additionalContext": HIDDEN,
        },
        prompt_context={"additionalContext": TEXT},
        go_on={"decision": "block", "reason": "Run the tests."},
    ),
    "cursor": Words(
        start="sessionStart",
        prompt="beforeSubmitPrompt",
        pre="preToolUse",
        post="postToolUse",
        stop="stop",
        end="sessionEnd",
        shell={"tool_name": "Shell"},
        arguments="tool_input",
        result=lambda text: {"tool_output": text},
        deny={"permission": "deny", "user_message": "guard: no", "agent_message": "guard: no"},
        rewritten={"updated_input": PUBLIC},
        redacted={"additional_context": HIDDEN},
        prompt_context={},
        go_on={"followup_message": "Run the tests."},
    ),
}


class Player:
    """Plays an agent's part: its samples, or what its documents have where there are none."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.words = AGENTS[agent.name]

    def says(self, event: str, **fields: Any) -> Said:
        if self.agent.name == "cursor":
            return self.agent.tells(event, closed=event == self.words.pre, **fields)
        return self.agent.hook(event, closed=event == self.words.pre, **fields)

    def call(self, command: str, id: str = "t-1", **more: Any) -> dict[str, Any]:
        """The first hook of a call of the shell."""
        fields = {**self.words.shell, self.words.arguments: {"command": command}, **more}
        return self.says(self.words.pre, **self._id(id), **fields).json

    def done(self, command: str, text: str, id: str = "t-1", **more: Any) -> dict[str, Any]:
        """Its second hook."""
        fields = {**self.words.shell, self.words.arguments: {"command": command}, **more}
        return self.says(self.words.post, **self._id(id), **fields, **self.words.result(text)).json

    def withholds(self, reply: dict[str, Any]) -> bool:
        """Whether the model reads why in place of a result; Cursor takes no other."""
        return "sliphook: withheld" in str(reply) or (self.agent.name == "cursor" and not reply)

    def _id(self, id: str) -> dict[str, str]:
        return {"tool_use_id": id} if self.agent.name in ("codex", "cursor") else {}


@pytest.fixture(params=AGENTS)
def player(
    request: pytest.FixtureRequest, built: dict[str, Client], agents: Callable[..., Agent]
) -> Player:
    return Player(agents(built["c"], name=request.param))


@pytest.fixture
def guard(install: Install) -> Program:
    return install(subscriptions=SUBSCRIPTIONS, on=GUARD)


def test_a_whole_session(player: Player, guard: Program) -> None:
    words = player.words
    assert player.says(words.start).json == {}
    assert player.says(words.prompt, prompt="tidy up").json == words.prompt_context
    assert player.call("rm -rf build", "t-1") == words.deny
    assert player.call("echo secret", "t-2") == words.rewritten
    assert player.done("echo public", "public", "t-2") == words.redacted
    stop = {"status": "completed"} if player.agent.name == "cursor" else {}
    assert player.says(words.stop, **stop).json == words.go_on
    assert player.says(words.stop, **stop).json == {}
    assert player.says(words.end).json == {}
    wait_for(lambda: "session_end" in guard.names())
    assert guard.names() == [
        "session_start",
        "turn_start",
        "user_prompt_submit",
        "pre_tool_call",
        "post_tool_call",
        "pre_tool_call",
        "post_tool_call",
        "stop",
        "stop",
        "turn_end",
        "session_end",
    ]
    [first, *_] = guard.fired()
    assert first["params"]["session_key"] == f"{player.agent.name}:s-1"
    assert first["params"]["platform"] == player.agent.name
    assert first["params"]["cwd"] == str(player.agent.folder)
    posts = guard.params("hook/post_tool_call")
    assert [one["status"] for one in posts] == ["denied", "ok"]
    assert {one["tool_kind"] for one in posts} == {"shell"}
    assert guard.params("event/session_end")[0]["reason"] == "exit"
    wait_for(lambda: not daemons(Path(os.environ["XDG_RUNTIME_DIR"])))


def test_what_happens_out_of_order(player: Player, guard: Program) -> None:
    """A result without its call, a prompt without an end, a call without a result."""
    assert player.withholds(player.done("ls", "a", "t-0"))
    player.says(player.words.prompt, prompt="one")
    assert player.call("sleep 9", "t-1") == {}
    player.says(player.words.prompt, prompt="two")
    assert player.withholds(player.done("sleep 9", "late", "t-1"))
    assert player.call("ls", "t-2") == {}
    assert player.done("ls", "a", "t-2") == {}
    player.says(player.words.end)
    wait_for(lambda: "session_end" in guard.names())
    posts = guard.params("hook/post_tool_call")
    told = guard.params("event/post_tool_call")
    assert [one["status"] for one in [*told, *posts]] == ["cancelled", "ok"]
    ends = [one["outcome"] for one in guard.params("event/turn_end")]
    assert ends == ["interrupted", "interrupted"]


def test_a_daemon_that_is_killed_between_two_hooks(player: Player, guard: Program) -> None:
    player.says(player.words.prompt, prompt="one")
    assert player.call("ls", "t-1") == {}
    [pid] = daemons(Path(os.environ["XDG_RUNTIME_DIR"]))
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: pid not in daemons(Path(os.environ["XDG_RUNTIME_DIR"])))
    assert player.withholds(player.done("ls", "a", "t-1"))
    assert player.call("rm -rf /", "t-2") == player.words.deny
    assert guard.params("hook/session_start")[-1]["source"] == "resume"


def test_calls_side_by_side(player: Player, guard: Program) -> None:
    commands = [f"ls {at}" for at in range(8)]
    assert [player.call(one, one) for one in commands] == [{}] * 8
    assert [player.done(one, "a", one) for one in reversed(commands)] == [{}] * 8
    posts = guard.params("hook/post_tool_call")
    assert [one["arguments"]["command"] for one in posts] == commands[::-1]
    assert {one["status"] for one in posts} == {"ok"}


MCP: dict[str, tuple[dict[str, Any], str]] = {
    "claude-code": ({"tool_name": "mcp__files__read"}, "mcp:files"),
    "codex": ({"tool_name": "mcp__files__read"}, "mcp:files"),
    "gemini": ({"tool_name": "mcp_files_read"}, "mcp:files"),
    "copilot": ({"toolName": "files-read"}, "agent"),
    "cursor": ({"tool_name": "MCP:read"}, "agent"),
}
"""A tool of an MCP server in each agent; two of them do not tell the server."""


@pytest.mark.parametrize("name", MCP)
def test_where_a_tool_comes_from(
    name: str, built: dict[str, Client], install: Install, agents: Callable[..., Agent]
) -> None:
    guard = install(subscriptions=[{"event": "pre_tool_call"}, {"event": "post_tool_call"}])
    agent = agents(built["c"], name=name)
    events = {"gemini": "BeforeTool", "copilot": "preToolUse", "cursor": "preToolUse"}
    agent.tells(events.get(name, "PreToolUse"), **MCP[name][0], tool_input={})
    [asked] = guard.params("hook/pre_tool_call")
    assert asked["origin"] == MCP[name][1]


def test_a_child_of_codex_and_its_goal(
    built: dict[str, Client], install: Install, agents: Callable[..., Agent]
) -> None:
    guard = install(subscriptions=SUBSCRIPTIONS, on=GUARD)
    agent = agents(built["c"], name="codex")
    agent.hook("UserPromptSubmit", prompt="go")
    agent.hook("PreToolUse-subagent")
    agent.hook("SubagentStart", agent_id="a-1")
    agent.hook("UserPromptSubmit-in-subagent", agent_id="a-1", prompt="child task")
    agent.hook("PreToolUse", agent_id="a-1", tool_use_id="t-2", tool_input={"command": "ls"})
    agent.hook("PostToolUse", agent_id="a-1", tool_use_id="t-2", tool_input={"command": "ls"})
    agent.hook("SubagentStop", agent_id="a-1", last_assistant_message="three")
    wait_for(lambda: "subagent_stop" in guard.names())
    [begun] = guard.params("hook/subagent_start")
    [over] = guard.params("event/subagent_stop")
    assert (begun["goal"], over["summary"]) == ("child task", "three")
    assert guard.names().count("user_prompt_submit") == 1
    assert [one["agent_depth"] for one in guard.params("hook/pre_tool_call")] == [0, 1]
