"""`sliphook logs`, and that every failure names the log."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sliphook.process.log_files import PluginLogs
from tests.programs import Workshop

from .background import Background, started
from .conftest import WAIT_S, Sliphook

__all__ = ["started"]

DIES = "#!/bin/sh\necho 'the disk is full' >&2\nexit 3\n"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "sliphook" / "logs"


@pytest.fixture
def dying(tmp_path: Path) -> Path:
    path = tmp_path / "dying.sh"
    path.write_text(DIES)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("command", [["run", "hello"], ["call", "x"], ["fire", "stop"], ["chat"]])
def test_a_failed_start_names_its_log(
    sliphook: Sliphook, state: Path, dying: Path, command: list[str]
) -> None:
    done = sliphook(*command, "--plugin", dying)
    assert "; its log: sliphook logs dying\n" in done.err
    shown = sliphook("logs", "dying")
    assert shown.status == 0
    assert shown.err == f"{state / 'dying.log'}\n"
    lines = shown.out.splitlines()
    assert lines[0].endswith(" plugin stderr: the disk is full")
    assert any(" host error: dying is left out: exited with status 3 " in line for line in lines)


def test_a_crash_names_the_log_of_the_file(sliphook: Sliphook, state: Path, shop: Workshop) -> None:
    """The log has the name of the file, also if the plugin says another one."""
    path = shop.program(
        "one", tools=["crash"], on="os._exit(4)", before="MANIFEST['name'] = 'other'"
    ).path
    done = sliphook("run", "TOOL crash", "--plugin", path)
    assert "warning: other: other exited with status 4" in done.err
    assert "; its log: sliphook logs one\n" in done.err
    assert sliphook("logs").out.endswith(" bytes  one\n")


def test_a_plugin_without_a_log(sliphook: Sliphook, state: Path, dying: Path) -> None:
    none = sliphook("logs", "dying")
    assert none.status == 1
    assert none.err == ("sliphook: there is no log of dying; no plugin has written one yet\n")
    assert sliphook("logs").out == f"there are no logs in {state} yet\n"
    sliphook("run", "hello", "--plugin", dying)
    assert sliphook("logs", "diyng").err == (
        "sliphook: there is no log of diyng; did you mean 'dying'?\n"
    )
    assert sliphook("logs", "other").err == (
        "sliphook: there is no log of other; there are: dying\n"
    )
    assert sliphook("logs", "../dying").status == 1


def test_the_last_lines_of_all_parts(sliphook: Sliphook, state: Path) -> None:
    state.mkdir(parents=True)
    (state / "guard.log.2").write_text("".join(f"a {number}\n" for number in range(60)))
    (state / "guard.log.1").write_text("b\n")
    (state / "guard.log").write_bytes(b"c \x1b[2J\xff\nd")
    assert sliphook("logs", "guard", "-n", "4").out == "a 59\nb\nc \\x1b[2J\\xff\nd\n"
    assert len(sliphook("logs", "guard").out.splitlines()) == 63
    assert sliphook("logs", "guard", "-n", "0").out == ""


def test_follow_goes_on_across_a_rotation(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[Background]
) -> None:
    monkeypatch.setattr("sliphook.process.log_files.CLOSE_S", WAIT_S)
    logs = PluginLogs(state)
    logs.write("guard", "info", "before")
    assert logs.close() == 0
    following = Background(tmp_path, "logs", "guard", "-f", "-n", "1")
    started.append(following)
    following.until(" plugin info: before")
    with (state / "guard.log").open("a") as file:
        file.write("first half, ")
        file.flush()
        file.write("second half\n")
    assert following.until("half") == ["first half, second half"]
    os.replace(state / "guard.log", state / "guard.log.1")
    (state / "guard.log").write_text("in the new file\n")
    assert following.until("new file") == ["in the new file"]
    assert following.end() == 0
