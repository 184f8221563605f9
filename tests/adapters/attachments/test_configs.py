"""Attach and detach in each agent: nothing of the user's is lost, and nothing of ours is left."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sliphook.adapters.attached.build import build
from sliphook.adapters.attachments import configs
from sliphook.adapters.attachments.config_text import ConfigError
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.cli.main import main

from .conftest import file_of

AGENTS = list(DIALECTS)
GROUPED = (
    '{\n\t"model":   "opus", "big": 1e5, "name": "\\u00e9 \\ud83d",\n\t"hooks": {"EVENT": [\n'
    '\t\t{"matcher": "Bash", "hooks": [{"type": "command", "command": "./mine.sh"}]}]}, "last": 1.0}'
)
FLAT = '{"version": 1,  "hooks": {"EVENT": [{"HANDLER": "./mine.sh"}]}, "last": [1,2 , 3]}\n\n'


def theirs(agent: str) -> str:
    """What a user has written, in a layout of their own."""
    config = DIALECTS[agent].config
    text = (GROUPED if config.groups else FLAT).replace("HANDLER", config.command)
    return text.replace("EVENT", DIALECTS[agent].entry("pre_tool_call").theirs[0])


def mine(items: list[dict[str, Any]]) -> list[str]:
    """The commands of a list of hooks."""
    handlers = [one for item in items for one in item.get("hooks", [item])]
    return [one.get("command", one.get("bash")) for one in handlers]


@pytest.mark.parametrize("agent", AGENTS)
def test_to_the_byte(agent: str, home: Path, install: Callable[..., None]) -> None:
    install()
    file, before = file_of(home, agent), theirs(agent)
    file.parent.mkdir(parents=True)
    file.write_text(before)
    file.chmod(0o640)
    assert main(["attach", agent, "--yes"]) == 0
    written = json.loads(file.read_text())
    pre = DIALECTS[agent].entry("pre_tool_call").theirs[0]
    first, second = mine(written["hooks"][pre])
    assert first == "./mine.sh"
    assert second.endswith(f"/client {agent} {pre} --closed")
    assert {name: value for name, value in written.items() if name != "hooks"} == {
        name: value for name, value in json.loads(before).items() if name != "hooks"
    }
    once = file.read_text()
    copy = file.with_name(f"{file.name}.before-sliphook")
    assert copy.read_text() == before
    assert main(["attach", agent, "--yes"]) == 0
    assert (file.read_text(), copy.read_text()) == (once, before)
    assert file.stat().st_mode & 0o777 == 0o640
    assert main(["detach", agent, "--yes"]) == 0
    assert file.read_text() == before
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in file.parent.iterdir()) == [file.name]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_file_that_was_not_there_is_not_there_again(
    agent: str, home: Path, install: Callable[..., None]
) -> None:
    install()
    file = file_of(home, agent)
    assert main(["attach", agent, "--print"]) == 0
    assert not file.exists()
    assert main(["attach", agent, "--yes"]) == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert main(["attach", agent, "--yes"]) == 0
    assert main(["detach", agent, "--print"]) == 0
    assert file.exists()
    assert main(["detach", agent, "--yes"]) == 0
    assert list(file.parent.iterdir()) == []
    assert main(["detach", agent, "--yes"]) == 0


@pytest.mark.parametrize("agent", AGENTS)
def test_what_the_user_changes_meanwhile_stays(
    agent: str, home: Path, install: Callable[..., None]
) -> None:
    install()
    file = file_of(home, agent)
    file.parent.mkdir(parents=True)
    file.write_text(theirs(agent))
    assert main(["attach", agent, "--yes"]) == 0
    changed = json.loads(file.read_text())
    changed["since"] = {"a": 1}
    file.write_text(json.dumps(changed, indent=4))
    assert main(["detach", agent, "--yes"]) == 0
    assert json.loads(file.read_text()) == json.loads(theirs(agent)) | {"since": {"a": 1}}


@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_not_understood_is_left_alone(
    agent: str, home: Path, install: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    install()
    file = file_of(home, agent)
    file.parent.mkdir(parents=True)
    for text, why in (
        ("{} // mine", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ('{"hooks": []}', "has no hooks as its agent reads them"),
        ('{"a": {"b": 1, "b": 2}}', "has b twice in one object"),
        ("\xff", "cannot be read"),
    ):
        file.write_bytes(text.encode("latin-1"))
        capsys.readouterr()
        assert main(["attach", agent, "--yes"]) == 1
        assert why in capsys.readouterr().err
        assert main(["detach", agent, "--yes"]) == 1
        assert file.read_bytes() == text.encode("latin-1")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_link_and_a_file_of_others(
    agent: str, home: Path, install: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    install()
    file = file_of(home, agent)
    file.parent.mkdir(parents=True)
    elsewhere = home / "elsewhere.json"
    elsewhere.write_text("{}")
    file.symlink_to(elsewhere)
    assert main(["attach", agent, "--yes"]) == 1
    assert "is a link" in capsys.readouterr().err
    file.unlink()
    file.write_text("{}")
    file.chmod(0o622)
    assert main(["attach", agent, "--yes"]) == 1
    assert "everybody may change" in capsys.readouterr().err
    file.chmod(0o600)
    file.parent.chmod(0o777)
    assert main(["attach", agent, "--yes"]) == 1
    assert "everybody may change" in capsys.readouterr().err
    file.parent.chmod(0o700)
    assert (file.read_text(), elsewhere.read_text()) == ("{}", "{}")


@pytest.mark.parametrize("agent", AGENTS)
def test_in_a_project(
    agent: str,
    home: Path,
    install: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    install()
    project = home / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    file = project / str(DIALECTS[agent].config.project)
    assert main(["attach", agent, "--project", "--yes"]) == 0
    assert file.exists()
    assert not file_of(home, agent).exists()
    assert main(["detach", agent, "--yes"]) == 0
    assert file.exists()
    assert main(["detach", agent, "--project", "--yes"]) == 0
    assert not file.exists()


def test_two_edits_at_once_lose_nothing(home: Path) -> None:
    dialect, client = DIALECTS["claude-code"], build(compiler=None)
    file = file_of(home, "claude-code")
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    change = configs.attached(dialect, file, client, ["PreToolUse"], [])
    file.write_text('{"since": 1}')
    with pytest.raises(ConfigError, match="has changed meanwhile; try again"):
        configs.write(change)
    assert file.read_text() == '{"since": 1}'
    refused: list[ConfigError] = []

    def attach() -> None:
        try:
            configs.write(configs.attached(dialect, file, client, ["PreToolUse", "Stop"], []))
        except ConfigError as error:
            refused.append(error)

    threads = [threading.Thread(target=attach) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    written = json.loads(file.read_text())
    assert written["since"] == 1
    assert {event: len(items) for event, items in written["hooks"].items()} == {
        "PreToolUse": 1,
        "Stop": 1,
    }
    assert len(refused) < 8


def test_a_full_disk_leaves_the_old_file(
    home: Path, install: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    install()
    file = file_of(home, "claude-code")
    file.parent.mkdir(parents=True)
    file.write_text("{}")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert main(["attach", "claude-code", "--yes"]) == 1
    assert file.read_text() == "{}"


@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_shown_before_it_is_asked(
    agent: str, home: Path, install: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """The words are those of the dialect, as in `events --for` and in the docs."""
    install("guard", {"event": "pre_tool_call"}, {"event": "turn_end"})
    dialect = DIALECTS[agent]
    capsys.readouterr()
    assert main(["attach", agent, "--yes"]) == 0
    shown = capsys.readouterr().out
    for name in ("pre_tool_call", "turn_end"):
        entry = dialect.entry(name)
        words = f"{name} is {entry.how} in {dialect.title}: {entry.limits}"
        assert (words in shown) == (entry.how != "exact")
    assert "user_prompt_submit is" not in shown
    assert dialect.config.trust in shown


@pytest.mark.parametrize("agent", AGENTS)
def test_without_a_guard_that_is_never_asked(
    agent: str, home: Path, install: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    install()
    install("filter", {"event": "pre_llm_call", "on_failure": "closed"})
    capsys.readouterr()
    assert main(["attach", agent, "--yes"]) == 1
    refused = f"filter guards pre_llm_call, and {DIALECTS[agent].title} could never ask it: "
    assert refused in capsys.readouterr().err
    assert main(["attach", agent, "--yes", "--without", "guard"]) == 1
    assert main(["attach", agent, "--yes", "--without", "filter"]) == 0
