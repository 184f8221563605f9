"""`list` and `doctor` see the MCP server of an attached agent: there, lost, changed, not ours."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sliphook.adapters.attachments.servers import server_file
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.cli.main import main

from .conftest import file_of
from .test_examine import accept, faults, remembered_folder, seen


@pytest.fixture(params=list(DIALECTS))
def agent(request: pytest.FixtureRequest, home: Path, install: Callable[..., None]) -> str:
    """An agent with an attached guard, and the MCP server."""
    install()
    assert main(["attach", request.param, "--mcp", "--yes"]) == 0
    if request.param == "codex":
        written = server_file(DIALECTS["codex"]).read_text()
        accept(home)
        with (file_of(home, "codex").parent / "config.toml").open("a") as file:
            file.write(written)
    return str(request.param)


def test_it_is_there(agent: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(server_file(DIALECTS[agent]))
    [one] = seen()
    assert (one.server, one.faults) == (file, ())
    capsys.readouterr()
    assert main(["list"]) == 0
    assert f"server    {file}" in capsys.readouterr().out
    shutil.rmtree(remembered_folder())
    assert [one.server for one in seen()] == [file]


def test_attached_again_without_it_it_is_still_known(agent: str) -> None:
    assert main(["attach", agent, "--yes"]) == 0
    assert [one.server for one in seen()] == [str(server_file(DIALECTS[agent]))]


def test_it_is_lost(agent: str) -> None:
    file = server_file(DIALECTS[agent])
    if file == Path(seen()[0].file):
        text = file.read_text().replace('"sliphook": {', '"other": {').replace('"mcp"', '"x"')
    else:
        text = file.read_text().replace("sliphook", "other")
    file.write_text(text)
    title = DIALECTS[agent].title
    assert faults()[-1] == (
        "problem",
        f"{file} has lost our MCP server: {title} has no tools of the plugins",
        f"sliphook attach {agent} --mcp, or sliphook detach {agent}",
    )


def test_it_is_changed(agent: str) -> None:
    file = server_file(DIALECTS[agent])
    file.write_text(file.read_text().replace('"-I"', '"-E"'))
    title = DIALECTS[agent].title
    assert faults() == [
        (
            "note",
            f"our MCP server in {title} is not as attach writes it",
            f"sliphook attach {agent} --mcp",
        )
    ]


def test_its_program_is_gone(agent: str) -> None:
    file = server_file(DIALECTS[agent])
    file.write_text(file.read_text().replace(sys.executable, "/gone/python"))
    title = DIALECTS[agent].title
    assert faults() == [
        (
            "problem",
            f"the program of our MCP server in {title} is gone, /gone/python",
            f"sliphook attach {agent} --mcp",
        )
    ]


def test_its_extra_is_gone(agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", none)
    [(level, what, do)] = faults()
    assert (level, do) == ("problem", "pip install 'sliphook[mcp]'")
    assert "needs the extra mcp" in what


def test_another_server_has_its_name(home: Path, install: Callable[..., None]) -> None:
    install()
    assert main(["attach", "claude-code", "--mcp", "--yes"]) == 0
    (home / ".claude.json").write_text('{"mcpServers": {"sliphook": {"command": "x"}}}')
    [(level, what, do)] = faults()
    assert (level, do) == ("problem", "sliphook attach claude-code --mcp")
    assert "has another server called sliphook" in what


def test_codex_gives_it_no_variable_that_was_granted_since(
    home: Path, install: Callable[..., None]
) -> None:
    install()
    assert main(["attach", "codex", "--mcp", "--yes"]) == 0
    written = server_file(DIALECTS["codex"]).read_text()
    accept(home)
    server_file(DIALECTS["codex"]).write_text(
        written.replace('"XDG_DATA_HOME", ', "") + server_file(DIALECTS["codex"]).read_text()
    )
    [(level, what, do)] = faults()
    assert (level, do) == ("problem", "sliphook attach codex --mcp")
    assert "lacks a variable that you have granted" in what


@pytest.mark.parametrize("odd", ["5", "[{ a = 1 }]", '"XDG_DATA_HOME"'])
def test_variables_that_are_no_list_of_names(
    odd: str, home: Path, install: Callable[..., None]
) -> None:
    install()
    assert main(["attach", "codex", "--mcp", "--yes"]) == 0
    file = server_file(DIALECTS["codex"])
    written = file.read_text()
    accept(home)
    lines = [line for line in written.splitlines() if not line.startswith("env_vars")]
    file.write_text("\n".join([*lines, f"env_vars = {odd}", file.read_text()]))
    [(level, what, _)] = faults()
    assert (level, "lacks a variable" in what) == ("problem", True)


@pytest.mark.parametrize("odd", ["\\u0000", "\\ud800"])
def test_a_program_that_no_file_can_be(odd: str, home: Path, install: Callable[..., None]) -> None:
    install()
    assert main(["attach", "claude-code", "--mcp", "--yes"]) == 0
    file = server_file(DIALECTS["claude-code"])
    file.write_text(file.read_text().replace(sys.executable, odd))
    [(level, what, _)] = faults()
    assert level == "problem"
    assert what.startswith("the program of our MCP server in Claude Code is gone, ")
