"""A user's home without any files, with the programs of all agents, and installed plugins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sliphook.adapters.dialects.known import DIALECTS
from sliphook.cli.main import main
from tests.programs import Workshop


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DATA", "STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    for dialect in DIALECTS.values():
        if dialect.config.folder_variable is not None:
            monkeypatch.delenv(dialect.config.folder_variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    bin = tmp_path / "bin"
    bin.mkdir()
    for dialect in DIALECTS.values():
        program = bin / dialect.programs[0]
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(bin), prepend=":")
    return tmp_path


@pytest.fixture
def install(home: Path) -> Callable[..., None]:
    """Install a plugin with these subscriptions."""

    def installed(name: str = "guard", *subscriptions: dict[str, Any]) -> None:
        wanted = list(subscriptions) or [{"event": "pre_tool_call"}]
        program = Workshop(home).program(name, subscriptions=wanted)
        assert main(["install", str(program.path), "--yes"]) == 0

    return installed


def file_of(home: Path, agent: str) -> Path:
    """The user's configuration of the agent."""
    return home / DIALECTS[agent].config.user
