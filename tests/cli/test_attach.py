"""`sliphook attach`, `detach` and `hook`: what they write, what they refuse, what they leave alone."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from sliphook.adapters.dialects.known import DIALECTS
from sliphook.cli.main import main
from tests.programs import Workshop

THEIRS: dict[str, Any] = {
    "model": "opus",
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./mine.sh"}]}]
    },
    "last": "ü",
}


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DATA", "STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    return tmp_path / "claude" / "settings.json"


def install(folder: Path, name: str, *subscriptions: dict[str, Any]) -> None:
    program = Workshop(folder).program(name, subscriptions=subscriptions)
    assert main(["install", str(program.path), "--yes"]) == 0


def guard(folder: Path) -> None:
    install(folder, "guard", {"event": "pre_tool_call", "on_failure": "closed"})


def test_attached_and_detached_the_file_is_as_it_was(
    settings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    guard(tmp_path)
    settings.parent.mkdir()
    before = json.dumps(THEIRS, indent=4, ensure_ascii=False) + "\n"
    settings.write_text(before)
    settings.chmod(0o640)
    assert main(["attach", "claude-code", "--yes"]) == 0
    written = json.loads(settings.read_text())
    theirs, ours = written["hooks"]["PreToolUse"]
    assert theirs == THEIRS["hooks"]["PreToolUse"][0]
    [handler] = ours["hooks"]
    first, program, *words = handler.pop("command").split()
    assert first == "exec"
    assert os.access(program, os.X_OK)
    assert words == ["claude-code", "PreToolUse", "--closed"]
    assert handler == {"type": "command", "timeout": 65, "onFailure": "block"}
    assert ours["matcher"] == "*"
    assert "PostToolUse" in written["hooks"]
    assert "Notification" not in written["hooks"]
    assert settings.with_name("settings.json.before-sliphook").read_text() == before
    assert settings.stat().st_mode & 0o777 == 0o640
    once = settings.read_text()
    assert main(["attach", "claude-code", "--yes"]) == 0
    assert settings.read_text() == once
    assert "is as it should be" in capsys.readouterr().out
    assert main(["detach", "claude-code", "--yes"]) == 0
    assert settings.read_text() == before


def test_nothing_to_attach_and_no_such_agent(
    settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["attach", "claude-code", "--yes"]) == 1
    assert "no installed plugin subscribes" in capsys.readouterr().err
    assert main(["attach", "claude"]) == 2
    assert "there is no agent 'claude'; there is claude-code" in capsys.readouterr().err


def explained(monkeypatch: pytest.MonkeyPatch, agent: str, event: str, stdin: bytes) -> int:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
    return main(["hook", agent, event, "--explain"])


@pytest.mark.parametrize("agent", DIALECTS)
def test_a_hook_explained(
    agent: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [event] = DIALECTS[agent].entry("pre_tool_call").theirs
    said = {
        **dict.fromkeys(("session_id", "sessionId", "conversation_id"), "s-1"),
        **dict.fromkeys(("tool_name", "toolName"), "Bash"),
        "tool_input": {"command": "ls"},
    }
    assert explained(monkeypatch, agent, event, json.dumps(said).encode()) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["reads"]["session_id"] == "s-1"
    assert shown["reads"]["tool_name"] == "Bash"
    assert shown["reads"]["arguments"] == {"command": "ls"}
    assert "pre_tool_call" in shown["fires"]
    for wrong, why in (
        (b"{}", f"{DIALECTS[agent].title}'s {event} could not be read: "),
        (b"[1]", "is no JSON object"),
        (b"{", "stdin is no JSON"),
        (b"\xff", "stdin is no JSON"),
        (b"[" * 100_000, "stdin is no JSON"),
    ):
        assert explained(monkeypatch, agent, event, wrong) == 1
        assert why in capsys.readouterr().err
    assert explained(monkeypatch, agent, "OfTomorrow", b"{}") == 1
    assert f"{DIALECTS[agent].title} has no event" in capsys.readouterr().err


@pytest.mark.parametrize("agent", DIALECTS)
def test_the_page_and_the_command_have_the_words_of_the_table(
    agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Path("docs/agents.md").read_text()
    assert main(["events", "--for", agent]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert main(["events", "--for", agent, "--json"]) == 0
    as_json = json.loads(capsys.readouterr().out)
    for entry, row in zip(DIALECTS[agent].entries, as_json, strict=True):
        assert (row["ours"], row["how"], row["limits"]) == (entry.ours, entry.how, entry.limits)
        assert entry.limits in page
        assert entry.limits in shown
        for effect in entry.answers.values():
            assert effect.limits.rstrip(".") in page
            assert effect.limits in shown


def test_the_page_has_the_files_of_the_table() -> None:
    page = Path("docs/agents.md").read_text()
    for dialect in DIALECTS.values():
        row = next(
            line for line in page.splitlines() if line.startswith(f"| {dialect.title} | `~/")
        )
        assert f"| `~/{dialect.config.user}` | `{dialect.config.project}` |" in row
        assert bool(dialect.config.trust) == (not row.endswith("| |"))


def test_the_picture_of_the_page_is_small_and_whole() -> None:
    picture = Path("docs/agents.svg").read_bytes()
    assert len(picture) < 100_000
    texts = {
        element.text
        for element in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")
    }
    assert {"agent", "guard", "Bash · denied", "Bash · ok", "turn 1 · completed"} <= texts
