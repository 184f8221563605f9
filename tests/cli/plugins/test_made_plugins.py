"""An MCP server as an installed plugin, from the installation to the end."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from sliphook.registry import Registry
from tests.registry.conftest import Run

PLAIN = Path(__file__).parents[2] / "adapters/mcp/servers/plain.py"


def test_the_whole_life_of_an_mcp_server(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "plain.py"
    shutil.copy(PLAIN, script)
    granted = ["--yes", "--grant", "ask", "--grant", "tools"]
    ran = run("install", "--mcp", "plain", *granted, "--", sys.executable, script)
    assert (ran.status, ran.out) == (0, "installed plain\n")
    assert f"MCP server: {sys.executable} {script}\n" in ran.err
    plugin = Registry().get("plain")
    assert plugin.recorded.path is None
    assert next(tool.name for tool in plugin.manifest.tools or ()) == "add"
    assert f"path      MCP server: {sys.executable} {script}\n" in run("list").out

    again = run("install", "--mcp", "plain", "--yes", "--", sys.executable, script)
    assert again.status == 1
    assert "a plugin named plain is installed already" in again.err

    script.write_text(script.read_text() + "\n")
    assert "  refused\n" in run("list").out
    assert "its file has changed" in run("list").out
    ran = run("trust", "plain", "--yes")
    assert (ran.status, ran.out) == (0, "plain is accepted as it is now\n")
    assert "  before    " in ran.err
    assert "  enabled\n" in run("list").out
    assert run("uninstall", "plain").status == 0


def test_wrong_uses_of_mcp(run: Run, tmp_path: Path) -> None:
    ran = run("install", "--mcp", "plain", "--yes")
    assert (ran.status, ran.err) == (1, "sliphook: there is no command for the MCP server\n")
    ran = run("install", "--mcp", "plain", "--name", "other", "--yes", "--", "sh")
    assert ran.status == 2
    assert "leave --name out" in ran.err
    ran = run("install", "--mcp", "Plain Server", "--yes", "--", "sh")
    assert ran.status == 1
    assert "is no name of a plugin" in ran.err


def test_the_servers_of_another_agents_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / ".mcp.json"
    entry = {"command": sys.executable, "args": [str(PLAIN)], "env": {"A_TOKEN": "x", "MODE": "y"}}
    servers = {"One": entry, "gone": {"command": "no-such-server"}, "off": {"disabled": True}}
    file.write_text(json.dumps({"mcpServers": servers}))
    ran = run("install", "--from", file, "--yes")
    assert ran.status == 0
    assert ran.out.startswith("installed one\n")
    assert "gone is left out: there is no no-such-server on PATH\n" in ran.err
    assert "off is left out: it is disabled there\n" in ran.err
    assert "It is given the variable A_TOKEN.\n" in ran.err
    plugin = Registry().get("one")
    assert plugin.env == ("A_TOKEN",)
    assert plugin.recorded.made is not None
    assert plugin.recorded.made.words == ["MODE=y", sys.executable, str(PLAIN)]
    assert "one is left out: a plugin of that name" in run("install", "--from", file, "--yes").err
    assert run("install", "--from", file, "x", "--yes").status == 2
    assert run("install", "--from", tmp_path / "none", "--yes").status == 1


@pytest.mark.parametrize("named", [5, "A_TOKEN", {"A_TOKEN": ""}])
def test_variables_that_are_no_list_are_none(run: Run, tmp_path: Path, named: object) -> None:
    file = tmp_path / ".mcp.json"
    entry = {"command": sys.executable, "args": [str(PLAIN)], "env_vars": named}
    file.write_text(json.dumps({"mcpServers": {"one": entry}}))
    assert run("install", "--from", file, "--yes").status == 0
    assert Registry().get("one").env == ()


def test_a_file_without_an_end_is_not_read(run: Run, tmp_path: Path) -> None:
    file = tmp_path / ".mcp.json"
    file.symlink_to("/dev/zero")
    ran = run("install", "--from", file, "--yes")
    assert ran.status == 1
    assert "is no regular file" in ran.err
    file.unlink()
    file.write_bytes(b" " * (16 * 1024 * 1024 + 1))
    ran = run("install", "--from", file, "--yes")
    assert ran.status == 1
    assert "it is over 16 MiB" in ran.err
