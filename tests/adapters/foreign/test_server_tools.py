"""A hook on the name of an MCP server's tool is asked, whatever our agent calls that tool."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from sliphook.adapters.dialects.hosted.handler import Handler
from sliphook.adapters.dialects.hosted.hosted import TOOL_NAMES, Hosted
from sliphook.adapters.dialects.hosted.known import SYSTEMS
from sliphook.adapters.dialects.hosted.matchers import matcher
from sliphook.adapters.dialects.hosted.toolmap import ToolMap
from sliphook.adapters.foreign.rows import wanted
from sliphook.adapters.mcp.names import fitted_name
from sliphook_sdk.protocol import ToolKind

from .made import command, settings_json
from .test_asked import reaches, status_of

LONG = "list_all_of_the_open_issues_of_a_repository_with_their_labels_and_comments"

Ours = tuple[str, ToolKind | None, str]

SAME: Sequence[tuple[str, str, Ours]] = [
    ("x", "t0", ("t0", None, "mcp:x")),
    ("x", "t0", ("p_t0", None, "mcp:x")),
    ("x", "t0", ("pt0", "other", "mcp:x")),
    ("x", "x__t0", ("x__t0", None, "mcp:x")),
    ("x", "x__t0", ("mcp__x__x__t0", "mcp", "mcp:x")),
    ("x__x", "t0", ("t0", None, "mcp:x__x")),
    ("x", "mcp__x__t0", ("mcp__x__t0", None, "mcp:x")),
    ("x", LONG, (fitted_name(LONG), None, "mcp:x")),
    ("x", LONG, (fitted_name(f"a_prefix_{LONG}"), None, "mcp:x")),
    ("x", "fs_read", ("fs.read", None, "mcp:x")),
    ("My_Server", "t0", ("t0", None, "mcp:my-server")),
    ("My_Server", "t0", ("t0", None, "mcp:My Server")),
    ("a_b", "t0", ("t0", None, "mcp:a.b")),
    ("x", "t0", ("x.t0", "mcp", "agent")),
    ("x", "t0", ("MCP:t0", "mcp", "agent")),
    ("x", "t0", ("p_t0", "mcp", "extension:x")),
    ("x", "t0", ("t0", "mcp", "mcp:")),
    ("x", "Read", ("Read", "mcp", "agent")),
]
"""A server and a tool as the system has them, and what our agent may call that tool."""

OTHERS: Sequence[tuple[str, str, Ours]] = [
    ("x", "t0", ("t1", None, "mcp:x")),
    ("x", "t0", ("t0", None, "mcp:y")),
    ("x", "t0", ("t0", None, "mcp:xx")),
    ("x", "t0", ("t0_more", None, "mcp:x")),
    ("x", "t0", ("mcp__x__at0", "mcp", "mcp:x")),
    ("x", "t0", ("t0", "shell", "agent")),
    ("x", "t0", ("t0", None, "agent")),
    ("x", "Tool", ("ListMcpResourcesTool", "mcp", "agent")),
    ("x", LONG, (LONG[:63], None, "mcp:x")),
    ("x", f"an{LONG}", (fitted_name(LONG), None, "mcp:x")),
]
"""The same, but it is certain that our tool is another one."""


def is_asked(system: Hosted, text: str, ours: Ours) -> bool:
    """Whether the host asks the plugin, and the plugin the hook."""
    tools = ToolMap(system.tools, {})
    event = next(
        row for row in system.events if row.ours == "pre_tool_call" and row.matched in TOOL_NAMES
    )
    handler = Handler(event=event.theirs, matcher=text, command="x")
    entries = wanted(system, [handler], tools, transcript=False)
    matches = [match for one in entries for match in one.matches if one.asked]
    is_for, of_server = matcher(system.rule, text), tools.server_tool(*ours)
    fits = is_for.fits(tools.shown(*ours).name)
    if of_server is not None:
        fits = fits or any(map(of_server.may_be, is_for.written))
    return fits and any(reaches(match, ours) for match in matches)


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_the_exact_name_of_a_servers_tool_is_asked_about_it(system: Hosted) -> None:
    missed: list[str] = []
    split: Ours = ("mcp__x__x__t0", "mcp", "mcp:x")  # where a name begins with its server
    same = [*SAME, *([("x__x", "t0", split)] if "{server}" in system.tools.mcp else [])]
    for server, tool, ours in same:
        name = system.tools.mcp.format(server=server, tool=tool)
        texts = [name] if system.rule == "exact" else [name, f"{name}|Nothing", f"{name}.*"]
        if system.rule in ("search", "names or search"):
            texts += [f"^{name}$", f"^(?:Nothing|{name})$"]
        missed += [f"{text}: {ours}" for text in texts if not is_asked(system, text, ours)]
    assert missed == []


def test_a_name_that_is_certainly_another_ones_is_not_asked_about_it() -> None:
    claude = SYSTEMS["claude-code"]
    asked = [
        f"{text}: {ours}"
        for server, tool, ours in OTHERS
        for text in (f"mcp__{server}__{tool}", f"^mcp__{server}__{tool}$")
        if is_asked(claude, text, ours)
    ]
    assert asked == []


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_the_beginning_of_another_tools_name_is_not_asked_about_it(system: Hosted) -> None:
    tools: Sequence[Ours] = [("t0", "mcp", "agent"), ("t0", None, "mcp:x")]
    asked = [ours for ours in tools if is_asked(system, "^Shell.*", ours)]
    assert asked == []


@pytest.mark.parametrize(
    ("name", "origin", "status"),
    [
        ("p_t0", "mcp:x", "denied"),
        ("t0", "extension:x", "denied"),
        ("t1", "mcp:x", "ok"),
        ("p_t0", "mcp:y", "ok"),
    ],
)
@pytest.mark.parametrize(
    "hook",
    [
        {"matcher": "mcp__x__t0"},
        {"matcher": "^(Bash|mcp__x__t0.*)$"},
        {"if": "mcp__x__t0"},
        {"if": "mcp__x__t0(*)"},
    ],
)
async def test_a_hook_denies_a_call_that_may_be_meant(
    hook: dict[str, str], name: str, origin: str, status: str, tmp_path: Path
) -> None:
    path = settings_json(tmp_path, {"PreToolUse": [command("exit 2", **hook)]})
    assert await status_of(path, name, {}, "mcp", origin) == status


async def test_a_wider_name_beside_it_takes_the_place_of_none(tmp_path: Path) -> None:
    hooks = [command("exit 0", matcher="t0.*"), command("exit 2", matcher="mcp__x__t0")]
    path = settings_json(tmp_path, {"PreToolUse": hooks})
    assert await status_of(path, "t0", {}, "mcp", "agent") == "denied"
    assert await status_of(path, "t0", {}, "mcp", "mcp:y") == "ok"
