"""Where the files are."""

from __future__ import annotations

from pathlib import Path

import pytest

from sliphook.files.paths import config_home, data_home, state_home


def test_the_environment_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATA", "STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", f"/{name}")
    assert data_home() == Path("/DATA/sliphook")
    assert state_home() == Path("/STATE/sliphook")
    assert config_home() == Path("/CONFIG/sliphook")


@pytest.mark.parametrize("value", [None, "", "relative/path"])
def test_else_they_are_in_the_home(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    assert data_home() == Path("/home/ada/.local/share/sliphook")
    assert state_home() == Path("/home/ada/.local/state/sliphook")
    assert config_home() == Path("/home/ada/.config/sliphook")
