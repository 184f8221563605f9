"""Where a session's socket is: the first of three folders that is this user's own, as both clients find it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sliphook.adapters.attached.build import ROOM_FOR_NAME, Client
from sliphook.adapters.attached.client import place

from .fake_agent import Agent


@pytest.fixture
def runtime(home: Path) -> Path:
    """The runtime folder; no daemon can start."""
    config = home / "config" / "sliphook" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("no toml")
    return Path(os.environ["XDG_RUNTIME_DIR"])


def looks_in(client: Client, agents: Callable[..., Agent], folder: Path) -> None:
    """A client looks for its daemon there, and makes the folder; the daemon leaves nothing in it."""
    assert not folder.exists()
    agent = agents(client)
    command = client.command("claude-code", "PreToolUse", closed=True)
    [said] = agent.run([{"command": command, "stdin": json.dumps({"session_id": "s-1"})}])
    assert said.code == 2
    assert os.listdir(folder) == []
    assert Path(place("claude-code", b"s-1", ROOM_FOR_NAME)).parent == folder


def test_the_users_own(client: Client, runtime: Path, agents: Callable[..., Agent]) -> None:
    looks_in(client, agents, runtime / "sliphook")


def test_a_umask_that_takes_all_away(
    client: Client, runtime: Path, agents: Callable[..., Agent]
) -> None:
    agent = agents(client)
    command = f"umask 777; {client.command('claude-code', 'PreToolUse', closed=True)}"
    agent.run([{"command": command, "stdin": json.dumps({"session_id": "s-1"})}])
    assert (runtime / "sliphook").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("wrong", ["another user's", "everybody's", "gone", "a file", "relative"])
def test_a_runtime_folder_that_is_none(
    client: Client,
    runtime: Path,
    agents: Callable[..., Agent],
    monkeypatch: pytest.MonkeyPatch,
    wrong: str,
) -> None:
    """As with `sudo -E`, or in a container: the folder for temporary files takes its place."""
    bad, good = runtime / "bad", runtime / "t"
    good.mkdir()
    if wrong == "a file":
        bad.write_text("")
    elif wrong != "gone":
        bad.mkdir(mode=0o700)
    if wrong == "everybody's":
        bad.chmod(0o777)
    if wrong == "another user's":
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder away")
        os.chown(bad, 12_345, 12_345)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "bad" if wrong == "relative" else str(bad))
    monkeypatch.setenv("TMPDIR", str(good))
    looks_in(client, agents, good / f"sliphook-{os.geteuid()}")
    assert not (bad / "sliphook").exists()


def test_a_temporary_folder_that_is_gone(
    client: Client, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime / "gone"))
    monkeypatch.setenv("TMPDIR", str(runtime / "gone too"))
    socket = place("claude-code", b"s-1", ROOM_FOR_NAME)
    assert socket.startswith(f"/tmp/sliphook-{os.geteuid()}/claude-code-")
