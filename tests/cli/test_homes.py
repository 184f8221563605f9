"""A home that is not known, no folder, or not to be written to: one plain line, no traceback."""

from __future__ import annotations

import pytest

from tests.programs import Workshop

from .conftest import Sliphook

COMMANDS = {
    "run": ("run", "--plugin", "PLUGIN", "hello"),
    "chat": ("chat", "--plugin", "PLUGIN"),
    "install": ("install", "PLUGIN", "--yes"),
    "list": ("list",),
    "doctor": ("doctor",),
}


@pytest.fixture(params=["", "relative", "/dev/null", "/proc/nobody"], ids=lambda home: f"[{home}]")
def home(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("DATA", "STATE", "CONFIG", "CACHE"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    monkeypatch.setenv("HOME", request.param)
    return str(request.param)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_says_what_is_wrong(
    command: str, home: str, sliphook: Sliphook, shop: Workshop
) -> None:
    plugin = shop.program(tools=["ping"]).path
    done = sliphook(*(str(plugin) if word == "PLUGIN" else word for word in COMMANDS[command]))
    said = done.out + done.err
    assert "Traceback" not in said
    assert max(map(len, done.err.splitlines()), default=0) < 400
    if not home.startswith("/"):
        assert done.err == (
            "sliphook: cannot go on: your home folder is not known; set HOME to its absolute path\n"
        )
        assert done.status == 1
    elif command == "list":
        assert done.status == 0
    else:
        assert f"{home}/" in said


@pytest.mark.parametrize("home", ["/dev/null"], indirect=True)
def test_doctor_names_the_folders(home: str, sliphook: Sliphook) -> None:
    done = sliphook("doctor")
    assert "plugins, their data and conversations cannot be kept in" in done.out
    assert "/dev/null is no folder" in done.out
    assert "set HOME, or the XDG variables" in done.out
    assert done.status == 1
