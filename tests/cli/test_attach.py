"""`sliphook attach`, `detach` and `hook`: what they write, what they refuse, what they leave alone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

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
