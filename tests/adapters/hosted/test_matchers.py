"""Matchers, and the names of tools and of their arguments."""

from __future__ import annotations

import time

import pytest

from sliphook.adapters.dialects.hosted.known import SYSTEMS
from sliphook.adapters.dialects.hosted.matchers import MAX_VALUE_CHARS, BadMatcher, Rule, matcher
from sliphook.adapters.dialects.hosted.toolmap import Reach, ToolMap


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
    of_shells = Reach(names=("sh",), kinds=("shell",), origins=())
    assert claude.reach(("Bash",)) == of_shells
    assert docker.reach(("shell",)) == of_shells
    assert claude.reach(("Deploy",)) == Reach(names=(), kinds=(), origins=())


def test_a_value_that_is_too_long_to_be_tried_fits() -> None:
    one = matcher("search", "rm -rf|curl")
    assert not one.fits("x" * MAX_VALUE_CHARS)
    assert one.fits("x" * MAX_VALUE_CHARS + "; rm -rf y")


def test_an_expression_that_uses_up_its_steps_fits() -> None:
    one = matcher("search", r"(?<![\w-])(\w+\s*)+-rf(?!x)")
    assert one.fits("rm -rf y")
    assert one.fits("a" * 30 + "! rm -rf y")
    assert not one.fits("ls -l")


@pytest.mark.parametrize(
    ("glob", "origins"),
    [
        ("mcp__x__t", ("mcp:x",)),
        ("mcp__a__b__c", ("mcp:a", "mcp:a*b")),
        ("mcp__A_b__c", ("mcp:A?b", "mcp:a?b")),
        ("mcp__a*", ("mcp:*",)),
        ("*Bas*", ("mcp:*",)),
        ("mcp__x", ()),
        ("Bash", ()),
    ],
)
def test_a_name_of_a_tool_of_a_server_reaches_the_server(
    glob: str, origins: tuple[str, ...]
) -> None:
    assert ToolMap(SYSTEMS["claude-code"].tools, {}).reach((glob,)).origins == origins


def test_the_names_of_servers_in_the_other_systems() -> None:
    def reached(system: str, glob: str) -> tuple[str, ...]:
        return ToolMap(SYSTEMS[system].tools, {}).reach((glob,)).origins

    assert reached("docker-agent", "files_read") == ("mcp:files",)
    assert reached("copilot", "git-hub-read") == ("mcp:git", "mcp:git?hub")
    assert reached("cursor", "MCP:read") == ("mcp:*",)
    assert reached("cursor", "Shell") == ()


def test_a_tool_of_a_server_has_its_name_once() -> None:
    claude = ToolMap(SYSTEMS["claude-code"].tools, {})
    assert claude.shown("mcp__files__read", "mcp", "mcp:files").name == "mcp__files__read"
    assert claude.shown("Read", "mcp", "mcp:files").name == "mcp__files__Read"
    docker = ToolMap(SYSTEMS["docker-agent"].tools, {})
    assert docker.shown("mcp_files_read", "mcp", "mcp:files").name == "files_read"


def test_of_two_arguments_of_one_name_the_one_that_the_tool_takes_counts() -> None:
    said = ToolMap(SYSTEMS["claude-code"].tools, {"sh": {"as": "Bash", "cmd": "command"}})
    shown = said.shown("sh", None, "agent")
    for given in ({"cmd": "rm", "command": "ls"}, {"command": "ls", "cmd": "rm"}):
        assert shown.theirs(given) == {"command": "rm"}
        assert shown.doubt(given) is None
    assert shown.ours({"command": "ls -h", "cmd": "x"}) == {"cmd": "ls -h"}


def test_of_two_arguments_of_one_name_none_counts_if_the_tool_may_take_either() -> None:
    docker = ToolMap(SYSTEMS["docker-agent"].tools, {})
    shown = docker.shown("terminal", "shell", "agent")
    why = "'cmd' and 'command' are both 'cmd'"
    assert why in (shown.doubt({"cmd": "ls", "command": "rm"}) or "")
    assert why in (shown.doubt({"command": "rm", "cmd": "ls"}) or "")
    assert shown.doubt({"command": "rm"}) is None
    assert shown.doubt({"cmd": "rm"}) is None
    both = {"t": {"as": "Bash", "a": "command", "b": "command"}}
    twice = ToolMap(SYSTEMS["claude-code"].tools, both).shown("t", None, "agent")
    assert twice.doubt({"a": "ls", "b": "rm"}) is not None
