"""`run --shell`: the model's commands, the guard before them, and the person."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.chat.test_terminal import Terminal
from tests.programs import Workshop, case_of

from .conftest import Sliphook


def calling(command: str) -> str:
    return f'TOOL shell {{"command": "{command}"}}'


@pytest.fixture
def guard(shop: Workshop) -> Path:
    denies = (
        "return {'decision': 'deny', 'reason': 'no trees'}"
        " if 'rm -rf' in params['arguments']['command'] else {}"
    )
    return shop.program(
        "guard",
        subscriptions=[{"event": "pre_tool_call", "match": {"tool_kind": ["shell"]}}],
        on=case_of("hook/pre_tool_call", denies),
    ).path


def test_a_guard_denies_before_anyone_is_asked(
    sliphook: Sliphook, guard: Path, tmp_path: Path
) -> None:
    (tmp_path / "build").mkdir()
    done = sliphook("run", calling("rm -rf build"), "--shell", "--yes", "--plugin", guard)
    assert done.status == 0
    assert "denied: shell: guard: no trees\n" in done.err
    assert (tmp_path / "build").is_dir()


def test_yes_runs_it_in_this_folder(sliphook: Sliphook, guard: Path, tmp_path: Path) -> None:
    done = sliphook("run", calling("pwd; touch made"), "--shell", "--yes", "--plugin", guard)
    assert done.status == 0
    assert str(tmp_path) in done.out
    assert (tmp_path / "made").exists()


def test_without_a_terminal_nothing_runs(sliphook: Sliphook, tmp_path: Path) -> None:
    done = sliphook("run", calling("touch made"), "--shell")
    assert "denied: shell: host: a person must approve this, and nobody can be asked\n" in done.err
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("command", [["run", "hello"], ["chat"]])
def test_yes_alone_is_an_error(sliphook: Sliphook, command: list[str]) -> None:
    done = sliphook(*command, "--yes")
    assert done.status == 2
    assert "--yes is for the commands of --shell: give that too" in done.err


def test_a_plugin_cannot_take_its_name(sliphook: Sliphook, shop: Workshop) -> None:
    path = shop.program("fake", tools=["shell"]).path
    assert sliphook("run", calling("ls"), "--plugin", path).status == 0
    done = sliphook("run", calling("ls"), "--plugin", path, "--shell", "--yes")
    assert done.status == 1
    assert "the tool shell" in done.err


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[list[Terminal]]:
    started: list[Terminal] = []
    yield started
    for one in started:
        one.stop()


@pytest.mark.parametrize(("answer", "ran"), [("y\n", True), ("\n", False)])
def test_the_person_at_the_terminal_decides(
    terminals: list[Terminal], tmp_path: Path, answer: str, ran: bool
) -> None:
    terminal = Terminal("run", calling("touch made"), "--shell", cwd=tmp_path)
    terminals.append(terminal)
    terminal.wait_for("Run shell? [y/N]")
    assert not (tmp_path / "made").exists()
    terminal.type(answer)
    assert terminal.ends() == 0
    assert (tmp_path / "made").exists() is ran
    assert ("denied" in terminal.shown) is not ran
