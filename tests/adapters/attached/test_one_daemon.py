"""One daemon for all sessions of an agent, as `agents.AGENT.one_daemon` has it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from sliphook.adapters.attached.build import Client
from tests.programs import Program

from .conftest import Install
from .fake_agent import Agent, daemons, wait_for

ON = """
if method == "hook/pre_tool_call":
    return {"decision": "deny", "reason": params["session_key"]}
"""


@pytest.fixture
def one_daemon(home: Path) -> None:
    folder = home / "config" / "sliphook"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[agents.claude-code]\none_daemon = true\n")


def pids() -> list[int]:
    return daemons(Path(os.environ["XDG_RUNTIME_DIR"]))


def reason(agent: Agent) -> str:
    said = agent.hook("PreToolUse", closed=True).specific
    text: str = said["permissionDecisionReason"]
    return text


@pytest.fixture
def two(
    client: Client, one_daemon: None, install: Install, agents: Callable[..., Agent]
) -> tuple[Agent, Agent]:
    install(
        subscriptions=[
            {"event": name}
            for name in ("session_start", "session_end", "pre_tool_call", "turn_end")
        ],
        on=ON,
    )
    return agents(client, session="s-1"), agents(client, session="s-2")


def test_sessions_of_one_daemon_are_apart(two: tuple[Agent, Agent], home: Path) -> None:
    for agent in two:
        assert reason(agent) == f"guard: claude-code:{agent.session}"
    wait_for(lambda: len(pids()) == 1)  # who came later ends
    two[0].hook("SessionEnd", reason="exit")
    assert reason(two[1]) == "guard: claude-code:s-2"
    two[1].hook("SessionEnd", reason="exit")
    wait_for(lambda: not pids())
    assert os.listdir(Path(os.environ["XDG_RUNTIME_DIR"]) / "sliphook") == []


def test_the_death_of_an_agent_ends_its_own_session(two: tuple[Agent, Agent], home: Path) -> None:
    guard = Program(home / "guard", home / "guard.log")
    for agent in two:
        reason(agent)
    two[0].kill()
    wait_for(lambda: guard.params("event/session_end") != [])
    [end] = guard.params("event/session_end")
    assert (end["session_key"], end["reason"]) == ("claude-code:s-1", "signal")
    assert reason(two[1]) == "guard: claude-code:s-2"
    wait_for(lambda: len(pids()) == 1)  # who came later ends


def test_a_daemon_that_was_killed_is_started_again(two: tuple[Agent, Agent]) -> None:
    for agent in two:
        reason(agent)
    wait_for(lambda: len(pids()) == 1)
    [pid] = pids()
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not pids())
    for agent in two:
        assert reason(agent) == f"guard: claude-code:{agent.session}"
    wait_for(lambda: len(pids()) == 1)  # who came later ends


def test_many_sessions_that_begin_at_once(
    client: Client, one_daemon: None, install: Install, agents: Callable[..., Agent]
) -> None:
    install(subscriptions=[{"event": "pre_tool_call"}], on=ON)
    agent = agents(client)
    asked = [
        agent.asked("PreToolUse", closed=True, session_id=f"s-{number}") for number in range(6)
    ]
    said = [one.specific["permissionDecisionReason"] for one in agent.run(asked)]
    assert said == [f"guard: claude-code:s-{number}" for number in range(6)]
    wait_for(lambda: len(pids()) == 1)  # who came later ends
