"""Configurations as people have them: other line ends, links, remarks, hooks beside ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sliphook.adapters.attached.build import Client
from sliphook.adapters.attachments import configs, servers
from sliphook.adapters.attachments.config_text import ConfigError
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.cli.main import main

from .conftest import file_of

CLAUDE, CODEX = DIALECTS["claude-code"], DIALECTS["codex"]
CLIENT = Client(("/data/sliphook/attached/0/client",), compiled=True)


def attach(path: Path) -> None:
    configs.write(configs.attached(CLAUDE, path, CLIENT, ["PreToolUse"], ["PreToolUse"]))


def detach(path: Path) -> None:
    configs.write(configs.detached(CLAUDE, path))


def test_the_ends_of_lines_stay(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    before = b'{\r\n  "a": "x\\n"\r\n}\r\n'
    path.write_bytes(before)
    attach(path)
    written = path.read_bytes()
    assert written.count(b"\n") == written.count(b"\r\n") > 3
    assert json.loads(written)["a"] == "x\n"
    detach(path)
    assert path.read_bytes() == before


def test_the_ends_of_lines_of_toml_stay(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    before = b'a = 1\r\n[b]\r\nc = """\r\nd"""\r\n'
    path.write_bytes(before)
    for _ in range(2):
        servers.write(servers.attached(CODEX, path))
        written = path.read_bytes()
        assert written.startswith(before)
        assert written.count(b"[mcp_servers.sliphook]\r\n") == 1
        assert written.count(b"\n") == written.count(b"\r\n")
    path.write_bytes(path.read_bytes() + b"[e]\r\n")
    servers.write(servers.detached(CODEX, path))
    assert path.read_bytes() == before + b"[e]\r\n"


@pytest.mark.parametrize("text", ['{"a": 1e400}', '{"a": -1e400}', '{"a": NaN}'])
def test_a_number_that_could_not_be_written_again(text: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match="is no JSON that can be kept"):
        attach(path)


def test_an_indent_is_blanks_and_tabs(tmp_path: Path) -> None:
    """Some signs in texts end a line for Python, and others are blanks for it."""
    path = tmp_path / "settings.json"
    text = '{"a": "\u2028\u3000b"}'
    path.write_text(text)
    attach(path)
    assert json.loads(path.read_text())["a"] == "\u2028\u3000b"
    detach(path)
    assert path.read_text() == text


@pytest.mark.parametrize("items", ["{}", "null", '"x"', "7"])
def test_hooks_of_an_event_that_are_no_list(
    items: str, home: Path, install: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    install()
    file = file_of(home, "claude-code")
    file.parent.mkdir()
    text = f'{{"hooks": {{"PreToolUse": {items}}}}}'
    file.write_text(text)
    assert main(["attach", "claude-code", "--yes"]) == 1
    assert "has no list of hooks for PreToolUse; --print shows" in capsys.readouterr().err
    assert file.read_text() == text


def test_a_hook_that_the_user_has_put_beside_ours(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    attach(path)
    document = json.loads(path.read_text())
    theirs = {"type": "command", "command": "./mine.sh"}
    document["hooks"]["PreToolUse"][0]["hooks"].append(theirs)
    path.write_text(json.dumps(document))
    attach(path)
    again = json.loads(path.read_text())
    assert len(configs.lines(again)) == 1
    detach(path)
    left = {"matcher": "*", "hooks": [theirs]}
    assert json.loads(path.read_text()) == {"hooks": {"PreToolUse": [left]}}


def test_remarks_behind_our_table_stay(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("a = 1\n")
    servers.write(servers.attached(CODEX, path))
    path.write_text(f"{path.read_text()}\n# of the next\n# two lines\n[other]\nx = 1\n")
    servers.write(servers.detached(CODEX, path))
    assert path.read_text() == "a = 1\n\n# of the next\n# two lines\n[other]\nx = 1\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('mcp_servers = "sliphook"\n', "has no mcp_servers as its agent reads them"),
        ('mcp_servers = ["sliphook"]\n', "has no mcp_servers as its agent reads them"),
        ("mcp_servers = { other = { command = 'x' } }\n", "could not be changed"),
    ],
)
def test_servers_that_are_no_table_of_their_own(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=why):
        servers.attached(CODEX, path)


@pytest.mark.parametrize("agent", list(DIALECTS))
def test_what_is_to_be_written_by_hand(
    agent: str, home: Path, install: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a file that is not changed by us, since it is a link or has remarks in it."""
    install()
    hooks, server = file_of(home, agent), home / DIALECTS[agent].server.user
    elsewhere = home / "dotfiles"
    elsewhere.mkdir()
    for file in {hooks, server}:
        file.parent.mkdir(parents=True, exist_ok=True)
        (elsewhere / file.name).write_text("{} // mine")
        file.symlink_to(elsewhere / file.name)
    assert main(["attach", agent, "--mcp", "--yes"]) == 1
    assert "is a link; --print shows what to write there by hand" in capsys.readouterr().err
    assert main(["attach", agent, "--mcp", "--print"]) == 0
    shown = capsys.readouterr()
    assert shown.err.count("is a link; this is to be written there by hand:") == 2
    pre = DIALECTS[agent].entry("pre_tool_call").theirs[0]
    assert f"/client {agent} {pre} --closed" in shown.out
    assert f'"sliphook", "mcp", "--agent", "{agent}"' in " ".join(
        shown.out.replace("+", "").split()
    )
    assert main(["detach", agent, "--yes"]) == 1
    assert "to be taken out by hand: the hooks with /sliphook/attached/" in capsys.readouterr().err
    assert (elsewhere / hooks.name).read_text() == "{} // mine"
