"""Matchers, the names of tools, and Claude Code's `if`."""

from __future__ import annotations

import time

import pytest

from sliphook.adapters.dialects.hosted.known import SYSTEMS
from sliphook.adapters.dialects.hosted.matchers import BadMatcher, Rule, matcher
from sliphook.adapters.dialects.hosted.toolmap import ToolMap
from sliphook.adapters.foreign.conditions import holds


@pytest.mark.parametrize(
    ("rule", "text", "fit", "not_fit"),
    [
        ("names or search", None, ["Bash", ""], []),
        ("names or search", "*", ["Bash"], []),
        ("names or search", "Bash", ["Bash"], ["BashOutput", "bash"]),
        ("names or search", "Edit|Write, Read", ["Edit", "Write", "Read"], ["MultiEdit"]),
        ("names or search", "Edit.*", ["Edit", "MultiEdit", "EditX"], ["edit"]),
        ("names or search", "^startup$", ["startup"], ["startups"]),
        ("names or search", "mcp__.*", ["mcp__a__b"], ["Bash"]),
        ("names or search", "^(?!Read$)", ["Bash"], ["Read"]),
        ("anchored", "shell|edit_file", ["shell", "edit_file"], ["xshell", "edit_file2"]),
        ("anchored", "mcp:.*", ["mcp:x"], ["amcp:x"]),
        ("anchored", "*", ["shell"], []),
        ("exact", "Bash", ["Bash"], ["Bash2"]),
        ("exact", "*", ["*"], ["Bash"]),
        ("search", "run_.*|read", ["run_shell_command", "xread"], ["glob"]),
    ],
)
def test_what_fits(rule: Rule, text: str | None, fit: list[str], not_fit: list[str]) -> None:
    one = matcher(rule, text)
    assert [value for value in fit if not one.fits(value)] == []
    assert [value for value in not_fit if one.fits(value)] == []


@pytest.mark.parametrize("text", ["(", "a" * 1001, "[z-a]"])
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(BadMatcher):
        matcher("search", f"{text}(")


@pytest.mark.parametrize("text", ["(a+)+$", "(?=(a+)+b)", "^(a|a)*$"])
def test_no_expression_takes_long(text: str) -> None:
    began = time.process_time()
    matcher("search", text).fits("a" * 100_000 + "!")
    assert time.process_time() - began < 5


def test_the_names_of_tools() -> None:
    given = {"sh": {"as": "Bash", "script": "command"}}
    docker = ToolMap(SYSTEMS["docker-agent"].tools, given)
    shown = docker.shown("sh", None, "agent")
    assert (shown.name, shown.theirs({"script": "ls"})) == ("shell", {"cmd": "ls"})
    assert shown.ours({"cmd": "ls -h"}) == {"script": "ls -h"}
    by_kind = docker.shown("terminal", "shell", "agent")
    assert (by_kind.name, by_kind.theirs({"command": "ls"})) == ("shell", {"cmd": "ls"})
    assert docker.shown("run_shell_command", None, "agent").name == "shell"
    claude = ToolMap(SYSTEMS["claude-code"].tools, given)
    assert claude.shown("shell", None, "agent").name == "Bash"
    assert claude.shown("Bash", "shell", "agent").name == "Bash"
    assert claude.shown("search", None, "mcp:files").name == "mcp__files__search"
    assert claude.shown("deploy", None, "agent").name == "deploy"
    assert claude.reach(("Bash",)) == (("Bash", "sh"), ("shell",))
    assert docker.reach(("shell",)) == (("shell", "sh"), ("shell",))
    assert claude.reach(("Deploy",)) == (("Deploy",), ())


@pytest.mark.parametrize(
    ("rule", "tool", "arguments", "fits"),
    [
        (None, "Bash", {}, True),
        ("Bash(git commit:*)", "Bash", {"command": "git commit -m x"}, True),
        ("Bash(git commit:*)", "Bash", {"command": "cd a && git commit"}, True),
        ("Bash(git commit:*)", "Bash", {"command": "git commits"}, False),
        ("Bash(git *)", "Bash", {"command": "git push"}, True),
        ("Bash", "Bash", {"command": "x"}, True),
        ("Bash(ls)", "Write", {"file_path": "ls"}, False),
        ("Edit(*.py)", "Edit", {"file_path": "/p/a.py"}, True),
        ("Edit(src/**)", "Edit", {"file_path": "/p/src/a.py"}, True),
        ("Edit(*.py)", "Edit", {"file_path": "/p/a.js"}, False),
        ("no rule (", "Bash", {}, True),
    ],
)
def test_conditions(rule: str | None, tool: str, arguments: dict[str, str], fits: bool) -> None:
    assert holds(rule, tool, arguments) is fits
