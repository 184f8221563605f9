"""Our MCP server in the files of each agent: nothing else changes, and detaching takes it out."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from sliphook.adapters.attached.build import build
from sliphook.adapters.attachments import configs, servers
from sliphook.adapters.attachments.config_text import ConfigError
from sliphook.adapters.attachments.servers import server_file, with_server, without_server
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.cli.main import main
from tests.programs import Workshop

WORDS = ["-I", "-m", "sliphook", "mcp", "--agent"]
CODEX = """# mine
model = "m"

[mcp_servers.other]
command = "x" # kept

[projects."/a"]
trust_level = "trusted"
"""


@pytest.mark.parametrize(
    ("agent", "file", "more"),
    [
        ("claude-code", ".claude.json", {"type": "stdio"}),
        ("gemini", ".gemini/settings.json", {}),
        ("copilot", ".copilot/mcp-config.json", {"type": "local", "tools": ["*"]}),
        ("cursor", ".cursor/mcp.json", {}),
    ],
)
def test_a_json_file(agent: str, file: str, more: dict[str, Any], tmp_path: Path) -> None:
    dialect = DIALECTS[agent]
    path = tmp_path / file
    assert dialect.server.user == file
    theirs = {"a": 1, "mcpServers": {"other": {"command": "x"}}}
    text = json.dumps(theirs, indent=2) + "\n"
    new = with_server(dialect, path, text)
    ours = json.loads(new)["mcpServers"].pop("sliphook")
    assert ours == {**more, "command": sys.executable, "args": [*WORDS, agent]}
    assert with_server(dialect, path, new) == new
    assert without_server(dialect, path, new) == text
    assert json.loads(with_server(dialect, path, None))["mcpServers"]["sliphook"] == ours


def test_codex_has_toml_and_gets_the_variables_by_name(tmp_path: Path) -> None:
    dialect, path = DIALECTS["codex"], tmp_path / "config.toml"
    new = with_server(dialect, path, CODEX, ["TOKEN"])
    assert new.startswith(CODEX)
    assert tomllib.loads(new)["mcp_servers"]["sliphook"] == {
        "command": sys.executable,
        "args": [*WORDS, "codex"],
        "startup_timeout_sec": 60,
        "env_vars": [
            "XDG_RUNTIME_DIR",
            "XDG_DATA_HOME",
            "XDG_CONFIG_HOME",
            "XDG_STATE_HOME",
            "TOKEN",
        ],
    }
    assert with_server(dialect, path, new, ["TOKEN"]) == new
    assert (without_server(dialect, path, new) or "").rstrip() == CODEX.rstrip()
    behind = new + '\n[tui]\ntheme = "x"\n'
    left = tomllib.loads(without_server(dialect, path, behind) or "")
    assert left == tomllib.loads(CODEX) | {"tui": {"theme": "x"}}


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { sliphook = { command = "x" } }\n',
        '[mcp_servers.sliphook]\ncommand = "x"\n',
        "not toml",
        'x = """\n[mcp_servers.sliphook]\n"""\n[mcp_servers]\nsliphook.args = '
        '["-I", "-m", "sliphook", "mcp", "--agent"]\n',
    ],
)
def test_what_cannot_be_changed_safely_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        with_server(DIALECTS["codex"], tmp_path / "config.toml", text)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (".cursor/mcp.json", '{"mcpServers": {}}'),
        (".cursor/mcp.json", '{ "a": 1,"mcpServers":{\n}}\n\n'),
        (".cursor/mcp.json", "{}"),
        (".codex/config.toml", "\n# mine\n\n\nx = 1"),
        (".codex/config.toml", ""),
    ],
)
def test_detached_the_file_is_as_it_was_to_the_byte(file: str, text: str, tmp_path: Path) -> None:
    dialect = DIALECTS[file.split("/")[0].removeprefix(".")]
    path = tmp_path / file
    path.parent.mkdir()
    path.write_text(text)
    assert servers.write(servers.attached(dialect, path)) is not None
    assert servers.write(servers.attached(dialect, path, ["TOKEN"])) is None
    servers.write(servers.detached(dialect, path))
    assert path.read_text() == text
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_an_empty_object_of_the_users_stays_if_the_file_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {}}')
    servers.write(servers.attached(DIALECTS["cursor"], path))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"theirs": 1}))
    servers.write(servers.detached(DIALECTS["cursor"], path))
    assert json.loads(path.read_text()) == {"mcpServers": {}, "theirs": 1}


def test_another_server_of_our_name_is_left_alone(tmp_path: Path) -> None:
    dialect, path = DIALECTS["cursor"], tmp_path / "mcp.json"
    text = json.dumps({"mcpServers": {"sliphook": {"command": "theirs"}}})
    with pytest.raises(ConfigError, match="another server called sliphook"):
        with_server(dialect, path, text)
    assert without_server(dialect, path, text) == text


def test_a_project_of_an_agent_that_has_no_such_file(tmp_path: Path) -> None:
    assert server_file(DIALECTS["claude-code"], project=tmp_path) == tmp_path / ".mcp.json"
    with pytest.raises(ConfigError, match="Copilot CLI"):
        server_file(DIALECTS["copilot"], project=tmp_path)


@pytest.mark.parametrize("agent", sorted(set(DIALECTS) - {"hermes"}))
def test_attach_and_detach(agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin that has tools alone: hooks of sessions and turns are written for it."""
    for name in ("DATA", "STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    program = Workshop(tmp_path).program("tools", tools=["echo"])
    assert main(["install", str(program.path), "--yes"]) == 0
    server = tmp_path / DIALECTS[agent].server.user
    hooks = tmp_path / DIALECTS[agent].config.user
    assert main(["attach", agent, "--mcp", "--yes"]) == 0
    assert "sliphook" in server.read_text()
    written = json.loads(hooks.read_text())["hooks"]
    assert set(DIALECTS[agent].life) & set(written)
    assert main(["attach", agent, "--mcp", "--yes"]) == 0
    assert main(["detach", agent, "--yes"]) == 0
    assert not server.exists()
    assert not hooks.exists()


@pytest.mark.parametrize("first", ["hooks", "server"])
def test_hooks_and_server_of_one_file_have_one_copy(first: str, home: Path) -> None:
    dialect, path = DIALECTS["gemini"], home / "settings.json"
    before = '{"theirs":   1}'
    path.write_text(before)
    client = build(compiler=None)

    def hooks() -> Path | None:
        return configs.write(configs.attached(dialect, path, client, ["BeforeTool"], []))

    def server() -> Path | None:
        return servers.write(servers.attached(dialect, path))

    one, other = (hooks, server) if first == "hooks" else (server, hooks)
    copy = one()
    assert copy is not None
    assert other() is None
    assert copy.read_text() == before
    servers.write(servers.detached(dialect, path))
    configs.write(configs.detached(dialect, path))
    assert path.read_text() == before
    assert not copy.exists()
