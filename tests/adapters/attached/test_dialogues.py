"""What real Claude Code said, played again: real client, real daemon, real plugins."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sliphook.adapters.attached.build import Client
from tests.programs import EVERYTHING

from .conftest import Install
from .fake_agent import Agent, daemons, wait_for

GUARD = """
if method == "hook/pre_tool_call":
    command = params["arguments"].get("command", "")
    if "rm -rf" in command:
        return {"decision": "deny", "reason": "no"}
    if "ask" in command:
        return {"decision": "ask", "reason": "is that meant?"}
    if "secret" in command:
        return {"replace": {"arguments": {"command": command.replace("secret", "public")}}}
if method == "hook/post_tool_call" and params["result"]:
    if "public" in params["result"]["content"]:
        return {"replace": {"result": {"content": "[redacted]"}}, "context": ["it was hidden"]}
if method == "hook/user_prompt_submit":
    return {"context": ["the tests are red"]}
if method == "hook/stop" and params["stop_count"] == 0:
    return {"continue_with": "Run the tests."}
"""
SUBSCRIPTIONS = [
    {"event": "pre_tool_call", "on_failure": "closed", "replaces": True},
    {"event": "post_tool_call", "replaces": True},
    *({"event": name} for name in EVERYTHING if name not in ("pre_tool_call", "post_tool_call")),
]


def bash(id: str, command: str) -> dict[str, Any]:
    """The fields of one call of Bash."""
    return {"tool_use_id": id, "tool_input": {"command": command}}


def done(id: str, command: str, out: str) -> dict[str, Any]:
    """The fields of a call that has run."""
    response = {"stdout": out, "stderr": "", "interrupted": False, "isImage": False}
    return {**bash(id, command), "tool_response": response}


def test_a_whole_session(client: Client, install: Install, agents: Callable[..., Agent]) -> None:
    guard = install(subscriptions=SUBSCRIPTIONS, on=GUARD)
    agent = agents(client)
    assert agent.hook("SessionStart").json == {}
    assert agent.hook("UserPromptSubmit", prompt="tidy up").specific == {
        "additionalContext": "[guard] the tests are red"
    }
    assert agent.hook("PreToolUse", closed=True, **bash("t-1", "rm -rf build")).specific == {
        "permissionDecision": "deny",
        "permissionDecisionReason": "guard: no",
    }
    assert agent.hook("PreToolUse", closed=True, **bash("t-2", "echo secret")).specific == {
        "updatedInput": {"command": "echo public"}
    }
    after = agent.hook("PostToolUse", **done("t-2", "echo public", "public\n")).specific
    assert after["updatedToolOutput"]["stdout"] == "[redacted]"
    assert after["additionalContext"] == "[guard] it was hidden"
    assert agent.hook("Stop").json == {"decision": "block", "reason": "Run the tests."}
    assert agent.hook("Stop-active").json == {}
    assert agent.hook("UserPromptSubmit", prompt="again").specific != {}
    assert agent.hook("PreToolUse", closed=True, **bash("t-3", "ls")).json == {}
    assert agent.hook("PostToolUse", **done("t-3", "ls", "a\n")).json == {}
    assert agent.hook("SessionEnd").json == {}
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
        "turn_start",
        "user_prompt_submit",
        "pre_tool_call",
        "post_tool_call",
        "agent_loop_stopped",
        "turn_end",
        "session_end",
    ]
    fired = guard.fired()
    assert fired[0]["params"]["session_key"] == "claude-code:s-1"
    assert fired[0]["params"]["cwd"] == str(agent.folder)
    assert [one["params"]["status"] for one in fired if "post_tool" in one["method"]] == [
        "denied",
        "ok",
        "ok",
    ]
    wait_for(lambda: not daemons(Path(os.environ["XDG_RUNTIME_DIR"])))


def test_a_text_that_is_shown_after_the_turn_is_no_new_turn(
    client: Client, install: Install, agents: Callable[..., Agent]
) -> None:
    guard = install(hears=["turn_start", "turn_end", "post_llm_call", "session_end"])
    agent = agents(client)
    agent.hook("UserPromptSubmit", prompt="go")
    agent.hook("MessageDisplay", delta="first")
    agent.hook("Stop")
    agent.hook("MessageDisplay", delta="last")
    agent.hook("SessionEnd")
    wait_for(lambda: "session_end" in guard.names())
    assert guard.names() == ["turn_start", "post_llm_call", "turn_end", "session_end"]


def test_a_guard_of_a_kind(client: Client, install: Install, agents: Callable[..., Agent]) -> None:
    no = 'if method == "hook/pre_tool_call":\n    return {"decision": "deny", "reason": "no"}'
    shells = {"event": "pre_tool_call", "match": {"tool_kind": "shell"}}
    guard = install(subscriptions=[shells, {"event": "post_tool_call"}], on=no)
    agent = agents(client)
    agent.hook("UserPromptSubmit", prompt="go")
    seen = {
        name: agent.hook("PreToolUse", closed=True, tool_name=name, **bash(f"t-{name}", "x")).json
        for name in ("Bash", "Read", "TodoWrite", "of_tomorrow")
    }
    assert [name for name, said in seen.items() if said] == ["Bash", "of_tomorrow"]
    kinds = [one["tool_kind"] for one in guard.params("hook/pre_tool_call")]
    assert kinds == ["shell", None]


def test_what_a_person_is_asked(
    client: Client, install: Install, agents: Callable[..., Agent]
) -> None:
    guard = install(subscriptions=SUBSCRIPTIONS, on=GUARD)
    agent = agents(client)
    agent.hook("UserPromptSubmit", prompt="go")
    asked = agent.hook("PreToolUse", closed=True, **bash("t-1", "ask a")).specific
    assert asked == {
        "permissionDecision": "ask",
        "permissionDecisionReason": "guard: is that meant?",
    }
    assert agent.hook("PostToolUse", **done("t-1", "ask a", "ok")).json == {}
    agent.hook("PreToolUse", closed=True, **bash("t-2", "ask b"))
    batch: list[dict[str, Any]] = [
        {"tool_name": "Bash", "tool_input": {}, "tool_use_id": "t-2", "tool_response": "no"}
    ]
    assert agent.hook("PostToolBatch", tool_calls=batch).json == {}
    wait_for(lambda: guard.names().count("post_tool_call") == 2)
    posts = guard.params("hook/post_tool_call")
    assert [one["status"] for one in posts] == ["ok", "denied"]
    assert [one["choice"] for one in guard.params("event/user_input_received")] == ["allow", "deny"]


def test_a_child_agent(client: Client, install: Install, agents: Callable[..., Agent]) -> None:
    guard = install(subscriptions=SUBSCRIPTIONS, on=GUARD)
    agent = agents(client)
    agent.hook("UserPromptSubmit", prompt="go")
    task = {"prompt": "count files", "description": "count"}
    agent.hook("PreToolUse", tool_name="Agent", tool_use_id="t-1", tool_input=task)
    agent.hook("SubagentStart", agent_id="a-1")
    agent.hook("PreToolUse-subagent", agent_id="a-1", **bash("t-2", "ls"))
    agent.hook("PostToolUse-subagent", agent_id="a-1", **done("t-2", "ls", "x"))
    agent.hook("SubagentStop", agent_id="a-1", last_assistant_message="three")
    wait_for(lambda: "subagent_stop" in guard.names())
    [begun] = guard.params("hook/subagent_start")
    [over] = guard.params("event/subagent_stop")
    assert (begun["goal"], begun["agent_depth"]) == ("count files", 0)
    assert (over["status"], over["summary"]) == ("completed", "three")
    depths = [one["agent_depth"] for one in guard.params("hook/pre_tool_call")]
    assert depths == [0, 1]


def test_an_interrupt_that_only_the_transcript_shows(
    client: Client, install: Install, agents: Callable[..., Agent]
) -> None:
    guard = install(subscriptions=SUBSCRIPTIONS, on=GUARD)
    agent = agents(client)
    agent.transcript.write_text('{"type": "user", "message": {"content": "go"}}\n')
    agent.hook("UserPromptSubmit", prompt="go")
    agent.hook("PreToolUse", closed=True, **bash("t-1", "sleep 40"))
    line = (
        '{"type":"user","message":{"role":"user","content":[{"type":"text",'
        '"text":"[Request interrupted by user for tool use]"}]}}\n'
    )

    def seen() -> bool:
        # its first look may come after the first line
        with agent.transcript.open("a") as file:
            file.write(line)
        return "turn_end" in guard.names()

    wait_for(seen)
    [post] = [one for one in guard.fired() if "post_tool_call" in one["method"]]
    assert post["params"]["status"] == "cancelled"
    assert guard.params("event/agent_loop_stopped")[0]["reason"] == "user_stop"
    [end] = guard.params("event/turn_end")
    assert end["outcome"] == "interrupted"


def test_an_interrupt_that_a_result_tells(
    client: Client, install: Install, agents: Callable[..., Agent]
) -> None:
    guard = install(subscriptions=SUBSCRIPTIONS, on=GUARD)
    agent = agents(client, name="gemini-cli")
    said: dict[str, Any] = {
        "tool_name": "run_shell_command",
        "tool_input": {"command": "sleep 40"},
    }
    agent.hook("BeforeAgent", prompt="go")
    agent.hook("BeforeTool", closed=True, **said)
    response = {"llmContent": "Command was cancelled by user before it could complete."}
    agent.hook("AfterTool", **said, tool_response=response)
    wait_for(lambda: "turn_end" in guard.names())
    assert guard.names()[-3:] == ["agent_loop_stopped", "post_tool_call", "turn_end"]
    assert guard.params("event/turn_end")[0]["outcome"] == "interrupted"


def test_the_next_session_of_the_same_agent_after_clear(
    client: Client, install: Install, agents: Callable[..., Agent]
) -> None:
    guard = install(subscriptions=SUBSCRIPTIONS, on=GUARD)
    agent = agents(client)
    agent.hook("SessionStart")
    agent.hook("SessionEnd", reason="clear")
    agent.session = "s-2"
    agent.hook("SessionStart", source="clear")
    assert guard.names() == ["session_start", "session_end", "session_reset", "session_start"]
    assert guard.methods().count("initialize") == 2, "to install it, and once to run it"
    assert agent.hook("PreToolUse", **bash("t-1", "rm -rf /")).specific != {}
    agent.hook("SessionEnd")
    wait_for(lambda: guard.names()[-1] == "session_end")


def test_a_plugin_stops_the_turn(
    client: Client, install: Install, agents: Callable[..., Agent]
) -> None:
    on = """
    if method == "hook/post_tool_call":
        request("r1", "host/interrupt", session_id=params["session_id"], reason="enough")
    """
    guard = install(
        subscriptions=[{"event": "post_tool_call"}, {"event": "stop"}], uses=["interrupt"], on=on
    )
    agent = agents(client)
    agent.hook("UserPromptSubmit", prompt="go")
    agent.hook("PreToolUse", **bash("t-1", "ls"))
    agent.hook("PostToolUse", **done("t-1", "ls", "x"))
    wait_for(lambda: "r1" in guard.replies())
    assert "result" in guard.replies()["r1"], guard.replies()
    said = agent.hook("PreToolUse", **bash("t-2", "ls")).json
    assert said["continue"] is False
    assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert agent.hook("UserPromptSubmit", prompt="go").json == {}


def test_the_daemon_and_the_plugins_have_none_of_the_agents_keys(
    client: Client, install: Install, agents: Callable[..., Agent]
) -> None:
    install(subscriptions=SUBSCRIPTIONS, on=GUARD)
    agent = agents(client)
    agent.hook("SessionStart")
    [pid] = daemons(Path(os.environ["XDG_RUNTIME_DIR"]))
    if os.geteuid() == 0:  # the daemon is not dumpable, so only root may look
        assert "made-up" not in Path(f"/proc/{pid}/environ").read_text()
    sockets = Path(os.environ["XDG_RUNTIME_DIR"]) / "sliphook"
    assert sockets.stat().st_mode & 0o777 == 0o700
    assert [one.stat().st_mode & 0o777 for one in sockets.glob("*.sock")] == [0o600]
