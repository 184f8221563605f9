"""What can go wrong between agent, client and daemon; guards fail closed, all else stays silent."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sliphook.adapters.attached import build
from sliphook.adapters.attached.build import Client
from tests.programs import EVERYTHING

from .conftest import Install
from .fake_agent import Agent, Said, daemons, wait_for

ALL = [{"event": name} for name in EVERYTHING]
DENIED = Said(2, "", "sliphook: the guards could not be asked, so this is denied.\n")
SILENT = Said(0, "", "")


def sockets() -> Path:
    return Path(os.environ["XDG_RUNTIME_DIR"]) / "sliphook"


def bash(id: str) -> dict[str, Any]:
    return {"tool_use_id": id, "tool_input": {"command": "ls"}}


def one_daemon() -> int:
    [pid] = daemons(sockets().parent)
    return pid


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: pid not in daemons(sockets().parent))


def test_a_daemon_killed_between_the_two_hooks_of_a_call(
    client: Client, install: Install, agents: Callable[..., Agent]
) -> None:
    guard = install(subscriptions=ALL)
    agent = agents(client)
    agent.hook("UserPromptSubmit")
    agent.hook("PreToolUse", closed=True, **bash("t-1"))
    kill(one_daemon())
    assert agent.hook("PostToolUse", **bash("t-1")) == SILENT
    assert agent.hook("PreToolUse", closed=True, **bash("t-2")) == SILENT
    assert agent.hook("PostToolUse", **bash("t-2")) == SILENT
    agent.hook("SessionEnd")
    wait_for(lambda: guard.names()[-1] == "session_end")
    assert guard.params("hook/session_start")[-1]["source"] == "resume"
    assert [one["model_call_id"] for one in guard.params("hook/post_tool_call")] == ["t-2"]


def test_a_stale_socket(client: Client, install: Install, agents: Callable[..., Agent]) -> None:
    install(subscriptions=ALL)
    agent = agents(client)
    agent.hook("SessionStart")
    kill(one_daemon())
    assert len(list(sockets().glob("*.sock"))) == 1, "it is left over"
    assert agent.hook("PreToolUse", closed=True, **bash("t-1")) == SILENT
    assert len(daemons(sockets().parent)) == 1


def test_many_starters_at_once_start_one_daemon_and_calls_run_side_by_side(
    client: Client, install: Install, agents: Callable[..., Agent]
) -> None:
    guard = install(subscriptions=ALL)
    agent = agents(client)
    calls = [agent.asked("PreToolUse", closed=True, **bash(f"t-{at}")) for at in range(16)]
    assert agent.run(calls) == [SILENT] * 16
    one_daemon()
    ends = [agent.asked("PostToolUse", **bash(f"t-{at}")) for at in range(16)]
    assert agent.run(ends) == [SILENT] * 16
    assert guard.names().count("post_tool_call") == 16
    assert guard.names().count("turn_start") == 1


def test_what_no_plugin_can_be_told(
    client: Client, install: Install, agents: Callable[..., Agent]
) -> None:
    guard = install(subscriptions=ALL)
    agent = agents(client)
    nested = {"session_id": "another", "text": '"session_id": "third"' + "x" * 1_000_000}
    assert agent.hook("PreToolUse", tool_input=nested, tool_use_id="t-1", closed=True) == SILENT
    large = {"text": "x" * 2_000_000}
    denied = agent.hook("PreToolUse", tool_input=large, tool_use_id="t-2", closed=True).specific
    assert denied["permissionDecisionReason"].startswith(
        "sliphook: no plugin can be asked about Claude Code's PreToolUse: it has 2,000,"
    )
    said = agent.hook("PostToolUse", tool_response=large, tool_use_id="t-1")
    assert said == SILENT
    agent.hook("SessionEnd")
    wait_for(lambda: "session_end" in guard.names())
    assert guard.params("hook/session_start")[0]["session_key"] == "claude-code:s-1"
    [post] = guard.params("hook/post_tool_call")
    assert post["status"] == "ok"
    assert post["result"]["content"].startswith("(not told to plugins: it has 2,000,")


@pytest.mark.parametrize("texts", [140, 400])
def test_more_than_the_client_takes(
    client: Client, agents: Callable[..., Agent], texts: int
) -> None:
    agent = agents(client)
    stdin = json.dumps({"session_id": "s-1", "texts": ["x" * 60_000] * texts})
    assert agent.run([agent.raw("PreToolUse", stdin, closed=True)]) == [DENIED]
    assert agent.run([agent.raw("PostToolUse", stdin)]) == [SILENT]
    assert daemons(sockets().parent) == []


@pytest.mark.parametrize(
    "stdin", ["", "no JSON", "[1]", '{"session_id": 7}', '{"a": {"session_id": "s"}}']
)
def test_no_session_can_be_found(client: Client, agents: Callable[..., Agent], stdin: str) -> None:
    agent = agents(client)
    assert agent.run([agent.raw("PreToolUse", stdin, closed=True)]) == [DENIED]
    assert agent.run([agent.raw("PreToolUse", stdin)]) == [SILENT]
    assert daemons(sockets().parent) == []


def test_a_session_but_broken_json(
    client: Client, install: Install, agents: Callable[..., Agent]
) -> None:
    install(subscriptions=ALL)
    agent = agents(client)
    broken = '{"session_id": "s-1", "tool_name": '
    said = agent.run([agent.raw("PreToolUse", broken, closed=True)])[0]
    assert said.specific["permissionDecision"] == "deny"


def test_an_escaped_id_is_the_same_session(
    client: Client, install: Install, agents: Callable[..., Agent]
) -> None:
    guard = install(subscriptions=ALL)
    agent = agents(client, session='s-"é\\')
    agent.hook("SessionStart")
    asked = agent.asked("UserPromptSubmit")
    plain = json.dumps(json.loads(asked["stdin"]), ensure_ascii=False).replace("s-", r"\u0073-", 1)
    agent.run([{**asked, "stdin": plain}])
    assert guard.names() == ["session_start", "turn_start", "user_prompt_submit"]


def test_a_folder_that_others_could_use(
    client: Client, agents: Callable[..., Agent], home: Path
) -> None:
    sockets().mkdir(mode=0o755)
    agent = agents(client)
    assert agent.hook("PreToolUse", closed=True, **bash("t-1")) == DENIED
    assert agent.hook("PostToolUse", **bash("t-1")) == SILENT


def test_a_daemon_that_cannot_start(
    client: Client, agents: Callable[..., Agent], home: Path
) -> None:
    config = home / "config" / "sliphook" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("no toml")
    agent = agents(client)
    assert agent.hook("PreToolUse", closed=True, **bash("t-1")) == DENIED
    assert agent.hook("UserPromptSubmit") == SILENT
    assert "config.toml" in (home / "state/sliphook/logs/attached-claude-code.log").read_text()


def test_a_daemon_of_another_version(
    client: Client, install: Install, agents: Callable[..., Agent]
) -> None:
    install(subscriptions=ALL)
    agent = agents(client)
    agent.hook("SessionStart")
    first = one_daemon()
    with socket.socket(socket.AF_UNIX) as old:
        old.settimeout(120)
        old.connect(str(next(sockets().glob("*.sock"))))
        old.sendall(b"sliphook 0 whatever\n")
        old.shutdown(socket.SHUT_WR)
        assert old.recv(100) == b""
    wait_for(lambda: first not in daemons(sockets().parent))
    assert agent.hook("PreToolUse", closed=True, **bash("t-1")) == SILENT


def test_the_agent_is_killed(
    client: Client, install: Install, agents: Callable[..., Agent]
) -> None:
    guard = install(subscriptions=ALL)
    agent = agents(client)
    agent.hook("UserPromptSubmit")
    agent.hook("PreToolUse", **bash("t-1"))
    agent.kill()
    wait_for(lambda: daemons(sockets().parent) == [])
    assert guard.names()[-4:] == ["agent_loop_stopped", "post_tool_call", "turn_end", "session_end"]
    assert guard.params("event/session_end")[0]["reason"] == "signal"


def test_an_end_whose_hook_was_given_up(
    client: Client, install: Install, agents: Callable[..., Agent]
) -> None:
    guard = install(subscriptions=ALL)
    agent = agents(client)
    agent.hook("SessionStart")
    body = b'{"session_id":"s-1","reason":"other"}'
    with socket.socket(socket.AF_UNIX) as hook:
        hook.connect(str(next(sockets().glob("*.sock"))))
        hook.sendall(b"sliphook 1 claude-code SessionEnd 1 open %d\n%b" % (len(body), body))
    wait_for(lambda: daemons(sockets().parent) == [])
    assert guard.names()[-1] == "session_end"


def test_no_line_of_the_log_can_be_forged(
    client: Client, install: Install, agents: Callable[..., Agent], home: Path
) -> None:
    install(subscriptions=ALL)
    agent = agents(client)
    forged = "x\n2026-01-01 1 INFO forged \x1b[31m"
    agent.hook("PostToolUse", tool_name=forged, tool_use_id="t-1")
    agent.hook("PreToolUse", tool_name=7, tool_use_id=forged)
    agent.hook("PostToolUse", tool_name=forged, tool_response="x" * 2_000_000)
    agent.hook("Notification", message=forged, notification_type=forged)
    agent.hook("SessionEnd", reason=forged)
    wait_for(lambda: daemons(sockets().parent) == [])
    log = (home / "state/sliphook/logs/attached-claude-code.log").read_text()
    assert "came without its beginning" in log
    assert "\x1b" not in log
    assert [line for line in log.splitlines() if line.startswith("2026-01-01")] == []


def test_nothing_is_started_for_an_end(client: Client, agents: Callable[..., Agent]) -> None:
    agent = agents(client)
    assert agent.hook("SessionEnd") == SILENT
    assert daemons(sockets().parent) == []


def test_a_session_that_was_not_ended_before_the_next(
    client: Client, install: Install, agents: Callable[..., Agent]
) -> None:
    guard = install(subscriptions=ALL)
    agent = agents(client)
    agent.hook("UserPromptSubmit", prompt="one")
    agent.hook("PreToolUse", **bash("t-1"))
    agent.hook("UserPromptSubmit", prompt="two")
    wait_for(lambda: guard.names().count("user_prompt_submit") == 2)
    names = guard.names()
    assert names[3:] == [
        "pre_tool_call",
        "agent_loop_stopped",
        "post_tool_call",
        "turn_end",
        "turn_start",
        "user_prompt_submit",
    ]


def test_a_plugin_never_sends_a_turn_on_more_than_eight_times(
    client: Client, install: Install, agents: Callable[..., Agent]
) -> None:
    on = 'if method == "hook/stop":\n    return {"continue_with": "more"}'
    install(subscriptions=ALL, on=on)
    agent = agents(client)
    agent.hook("UserPromptSubmit")
    said = [agent.hook("Stop").json for _ in range(9)]
    assert said[:8] == [{"decision": "block", "reason": "more"}] * 8
    assert "decision" not in said[8]


def test_a_text_to_go_on_with_that_comes_back_as_a_prompt_is_the_same_turn(
    built: dict[str, Client], install: Install, agents: Callable[..., Agent]
) -> None:
    guard = install(
        subscriptions=ALL, on='if method == "hook/stop": return {"continue_with": "on"}'
    )
    agent = agents(built["c"], name="gemini")

    def said(event: str, **fields: str) -> dict[str, Any]:
        stdin = json.dumps({"session_id": "s-1", "cwd": str(agent.folder), **fields})
        return agent.run([agent.raw(event, stdin)])[0].json

    said("BeforeAgent", prompt="go")
    for _ in range(8):
        assert said("AfterAgent") == {"decision": "deny", "reason": "on"}
        assert said("BeforeAgent", prompt="on") == {}
    assert "decision" not in said("AfterAgent")
    assert guard.names().count("turn_start") == 1
    assert guard.names().count("user_prompt_submit") == 1
    said("BeforeAgent", prompt="on")
    assert guard.names().count("turn_start") == 2, "now the person has said it"


@pytest.mark.parametrize("compiler", ["cc", None])
def test_a_frozen_daemon(
    compiler: str | None,
    install: Install,
    agents: Callable[..., Agent],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(subscriptions=ALL)
    agents(build.build(compiler=compiler)).hook("SessionStart")
    frozen = one_daemon()
    monkeypatch.setattr(build, "ANSWER_S", 1.0)
    agent = agents(build.build(compiler=compiler))
    os.kill(frozen, signal.SIGSTOP)
    assert agent.hook("PreToolUse", closed=True, **bash("t-1")) == DENIED
    kill(frozen)
