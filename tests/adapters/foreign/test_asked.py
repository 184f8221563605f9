"""A hook is asked about every tool that its matcher may fit, whatever our agent calls it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio

from sliphook import PluginHost
from sliphook.adapters.dialects.hosted.handler import Handler
from sliphook.adapters.dialects.hosted.hosted import TOOL_NAMES, Hosted
from sliphook.adapters.dialects.hosted.known import SYSTEMS
from sliphook.adapters.dialects.hosted.matchers import matcher
from sliphook.adapters.dialects.hosted.toolmap import ToolMap
from sliphook.adapters.foreign.plugin import HooksPlugin
from sliphook.adapters.foreign.rows import wanted
from sliphook.adapters.foreign.sources import read_source
from sliphook.testing import FakePlugin
from sliphook_sdk.protocol import Globs, ToolKind
from tests.programs import WAIT_S

from .made import command, script, settings_json, spec

OURS: Sequence[tuple[str, ToolKind | None, str]] = [
    ("ours", "shell", "agent"),
    ("ours", "read", "agent"),
    ("ours", "write", "agent"),
    ("ours", "edit", "agent"),
    ("ours", "fetch", "agent"),
    ("ours", "agent", "agent"),
    ("mine", "other", "agent"),
    ("run_shell_command", None, "agent"),
    ("t", "mcp", "mcp:a_b"),
    ("t", "other", "mcp:x"),
    ("Read", "other", "mcp:x"),
    ("mcp__x__t", "other", "mcp:x"),
    ("Bash", "other", "agent"),
]


def shapes_of(name: str) -> list[str]:
    """Matchers that mean the name."""
    regular = [f"{name}.*", f"^{name}.*", f"^{name}.*$", f"{name[:3]}.*", f"(?:{name})"]
    return [name, f"{name}|Nothing", *regular]


def reaches(
    match: Mapping[str, str | list[str]] | None, ours: tuple[str, ToolKind | None, str]
) -> bool:
    if match is None:
        return True
    name, kind, origin = ours
    values = {"tool_name": name, "tool_kind": kind, "origin": origin}
    fits = (
        values[field] is None or Globs([*globs]).fits(values[field] or "")
        for field, globs in match.items()
    )
    return all(fits)


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_every_tool_that_a_matcher_fits_is_reached(system: Hosted) -> None:
    tools = ToolMap(system.tools, {"mine": {"as": "Bash", "cmd": "command"}})
    event = next(
        row for row in system.events if row.ours == "pre_tool_call" and row.matched in TOOL_NAMES
    )
    missed: list[str] = []
    for ours in OURS:
        shown = tools.shown(*ours).name
        for text in shapes_of(shown):
            if not matcher(system.rule, text).fits(shown):
                continue
            handler = Handler(event=event.theirs, matcher=text, command="x")
            asked = [
                match
                for one in wanted(system, [handler], tools, transcript=False)
                for match in one.matches
                if one.asked
            ]
            if not any(reaches(match, ours) for match in asked):
                missed.append(f"{ours} as {shown}, matcher {text}")
    assert missed == []


def test_so_many_names_that_no_manifest_may_have_them_are_every_tool(tmp_path: Path) -> None:
    names = [command("true", matcher=f"T{one}|{'x' * 100}") for one in range(150)]
    source = read_source(str(settings_json(tmp_path, {"PreToolUse": names})))
    subscriptions = HooksPlugin("theirs", source, {}).plugin.manifest().subscriptions or []
    asked = [one.match for one in subscriptions if one.event == "pre_tool_call"]
    assert asked == [None]


def test_an_exact_name_with_a_star_leaves_the_other_names_in_reach(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    one = '[[hooks]]\nevent = "pre_tool_use"\ntool_name = "{}"\n'
    one += 'action = {{ type = "shell", command = "true" }}\n'
    path.write_text(one.format("*") + one.format("Bash"))
    plugin = HooksPlugin("theirs", read_source(str(path), "agent-code"), {}).plugin
    asked = [
        one.match for one in plugin.manifest().subscriptions or [] if one.event == "pre_tool_call"
    ]
    assert asked == [{"tool_name": ["?", "Bash"]}, {"tool_kind": ["shell"]}]


async def status_of(
    path: Path,
    name: str,
    arguments: dict[str, Any],
    kind: ToolKind | None = None,
    origin: str = "agent",
    beside: Sequence[FakePlugin] = (),
) -> str:
    """How one call of our tool ends under the hooks of a configuration."""

    async def run(arguments: dict[str, Any]) -> str:
        return "ran"

    ended: list[str] = []
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([spec(path), *beside]) as host,
            host.session(cwd=path.parent) as session,
            session.turn("hello") as turn,
        ):
            outcome = await turn.call_tool(name, arguments, run=run, tool_kind=kind, origin=origin)
            ended.append(outcome.status)
    return ended[0]


@pytest.mark.parametrize("text", ["mcp__x__t0", "mcp__x__t0|Bash"])
async def test_a_hook_on_the_name_of_a_servers_tool_is_asked(text: str, tmp_path: Path) -> None:
    path = settings_json(tmp_path, {"PreToolUse": [command("exit 2", matcher=text)]})
    assert await status_of(path, "t0", {}, "mcp", "mcp:x") == "denied"
    assert await status_of(path, "t0", {}, "mcp", "mcp:y") == "ok"


async def test_a_hook_on_a_beginning_is_asked_about_a_tool_of_that_kind(tmp_path: Path) -> None:
    path = settings_json(tmp_path, {"PreToolUse": [command("exit 2", matcher="^Bas.*")]})
    assert await status_of(path, "terminal", {"command": "ls"}, "shell") == "denied"
    assert await status_of(path, "look", {}, "read") == "ok"


def cursor_hook(folder: Path, event: str, **more: Any) -> Path:
    path = folder / ".cursor" / "hooks.json"
    path.parent.mkdir()
    hook = {"command": "cat > told.json; exit 2", **more}
    path.write_text(json.dumps({"version": 1, "hooks": {event: [hook]}}))
    return path


async def test_cursors_guard_of_servers_is_asked_where_the_kind_is_not_known(
    tmp_path: Path,
) -> None:
    path = cursor_hook(tmp_path, "beforeMCPExecution")
    assert await status_of(path, "t0", {}, None, "mcp:x") == "denied"
    assert await status_of(path, "glob", {}) == "ok"


async def test_cursors_guard_of_shells_is_asked_where_nothing_is_known(tmp_path: Path) -> None:
    path = cursor_hook(tmp_path, "beforeShellExecution", matcher="rm -rf")
    assert await status_of(path, "go", {"script": "rm -rf x"}) == "denied"
    told = json.loads((path.parent / "told.json").read_text())
    assert told["command"] == '{"script": "rm -rf x"}'
    assert await status_of(path, "go", {"command": "ls"}) == "ok"
    assert await status_of(path, "go", {"command": "ls", "script": "rm -rf x"}) == "denied"
    assert await status_of(path, "go", {"command": "x" * 600 + "; rm -rf x"}) == "denied"
    assert await status_of(path, "go", {"command": "ls", "argv": ["rm", "-rf"]}) == "denied"


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({"command": "ls", "script": "rm -rf x"}, "ls\nrm -rf x"),
        ({"cmd": "rm -rf x", "command": "ls"}, "ls\nrm -rf x"),
        ({"command": "ls", "argv": ["rm", "-rf", "x"]}, 'ls\n["rm", "-rf", "x"]'),
        ({"command": "ls", "description": "list", "workdir": "/x", "timeout": 5}, "ls"),
    ],
)
async def test_cursors_guard_of_shells_reads_all_that_may_be_run(
    given: dict[str, Any], command: str, tmp_path: Path
) -> None:
    path = cursor_hook(tmp_path, "beforeShellExecution")
    assert await status_of(path, "terminal", given, "shell") == "denied"
    assert json.loads((path.parent / "told.json").read_text())["command"] == command


async def test_cursors_guard_of_files_reads_both_paths(tmp_path: Path) -> None:
    path = cursor_hook(tmp_path, "beforeReadFile")
    both = {"path": "a", "file_path": "b"}
    assert await status_of(path, "look", both) == "denied"
    told = json.loads((path.parent / "told.json").read_text())
    assert json.loads(told["file_path"]) == both


async def test_an_argument_does_not_pass_for_the_name_of_the_tool(tmp_path: Path) -> None:
    path = tmp_path / ".agent" / "settings.toml"
    path.parent.mkdir()
    path.write_text(
        '[[hooks]]\nevent = "pre_tool_use"\ntool_name = "Bash"\n'
        'action = { type = "shell", command = "exit 1" }\n'
    )
    given = {"command": "ls", "tool_name": "Read"}
    assert await status_of(path, "terminal", given, "shell") == "denied"


async def test_a_call_whose_arguments_are_in_doubt_is_denied(tmp_path: Path) -> None:
    path = tmp_path / "agent.yaml"
    group = {"matcher": "shell", "hooks": [{"type": "command", "command": "true"}]}
    path.write_text(json.dumps({"agents": {"root": {"hooks": {"pre_tool_use": [group]}}}}))
    assert await status_of(path, "terminal", {"command": "rm", "cmd": "ls"}, "shell") == "denied"
    assert await status_of(path, "terminal", {"command": "rm"}, "shell") == "ok"


async def test_no_hook_allows_a_call_whose_arguments_are_in_doubt(tmp_path: Path) -> None:
    path = tmp_path / "agent.yaml"
    allow = json.dumps({"hook_specific_output": {"permission_decision": "allow"}})
    group = {"matcher": "shell", "hooks": [{"type": "command", "command": f"echo '{allow}'"}]}
    path.write_text(json.dumps({"agents": {"root": {"hooks": {"permission_request": [group]}}}}))
    both, one = {"command": "rm", "cmd": "ls"}, {"command": "rm"}
    asks = FakePlugin("asks", hooks={"pre_tool_call": {"decision": "ask", "reason": "sure?"}})
    assert await status_of(path, "terminal", one, "shell", beside=[asks]) == "ok"
    assert await status_of(path, "terminal", both, "shell", beside=[asks]) == "denied"


async def test_a_deny_behind_much_white_space_counts(tmp_path: Path) -> None:
    said = {"hookEventName": "PreToolUse", "permissionDecision": "deny"}
    deny = json.dumps({"hookSpecificOutput": said})
    hook = script(
        tmp_path / "hook.py",
        f"#!/usr/bin/env python3\nprint(' ' * 1_100_000 + {deny!r})\n",
    )
    path = settings_json(tmp_path, {"PreToolUse": [command(str(hook), matcher="Bash")]})
    assert await status_of(path, "terminal", {"command": "ls"}, "shell") == "denied"
