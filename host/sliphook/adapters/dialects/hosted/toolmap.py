"""Pure: what our agent's tools and their arguments are called in another system, and back.

The common words are Claude Code's: `foreign.tools` says which of its tools one of ours is, and each
system has a table from there to its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from sliphook.adapters.dialects.server_tools import ServerTool, bare, end_of, same_beginning
from sliphook.adapters.dialects.toolnames import CLAUDE, CODEX, COPILOT, CURSOR, GEMINI
from sliphook_sdk.protocol import Globs, ToolKind

AS: Final = "as"
"""The key of `foreign.tools.NAME` that names the tool; every other is an argument of ours."""

_KNOWN: Final[Mapping[str, ToolKind]] = {
    "shell": "shell",
    **{
        name: kind
        for names in (CURSOR, COPILOT, GEMINI, CODEX, CLAUDE)
        for name, kind in names.kinds.items()
    },
}
"""What tools of these names do in the agents that have them, if our agent does not say."""

_BY_KIND: Final[Mapping[ToolKind, str]] = {
    "shell": "Bash",
    "read": "Read",
    "write": "Write",
    "edit": "Edit",
    "fetch": "WebFetch",
    "agent": "Task",
}
"""Which tool one of that kind is taken for, if the settings do not say."""
_SIGNS: Final = re.compile(r"[^A-Za-z0-9]+")
"""What stands between the words of a server's name, where each system has its own."""


def known_kind(name: str) -> ToolKind | None:
    """What a tool of that name does, as far as names tell."""
    return _KNOWN.get(name)


class Tool(msgspec.Struct, frozen=True):
    """A tool of the system: its name, and what it calls arguments that have other names there."""

    name: str
    arguments: Mapping[str, str] = {}


class TheirTools(msgspec.Struct, frozen=True, kw_only=True):
    """The tools of one system.

    Attributes:
        by_claude: by Claude Code's name of the same tool.
        mcp: the name of a tool of an MCP server, with `{server}` and `{tool}`; "" if there is no
            rule.
    """

    by_claude: Mapping[str, Tool]
    mcp: str = ""

    def claude(self, name: str) -> str:
        """Claude Code's name of the system's tool; the same if that is not known."""
        return next((one for one, tool in self.by_claude.items() if tool.name == name), name)


class Shown(msgspec.Struct, frozen=True):
    """One tool as the system calls it.

    Attributes:
        name: its name there.
        arguments: their names there by ours.
        said: those of ours that the settings name; the others are taken for it by the tool's kind.
    """

    name: str
    arguments: Mapping[str, str] = {}
    said: frozenset[str] = frozenset()

    def theirs(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments under the system's names.

        Where two come to one name, the one that our tool is known to take counts.
        """
        return _renamed(self.arguments, arguments)

    def ours(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments under our names."""
        return _renamed({theirs: ours for ours, theirs in self.arguments.items()}, arguments)

    def doubt(self, arguments: Mapping[str, Any]) -> str | None:
        """Why it is not known what the tool will take, as a sentence; None if it is.

        A model can write two arguments that come to one name, and a hook reads one of them.
        """
        for ours, one in self.arguments.items():
            others = ours in arguments and [
                name
                for name in arguments
                if name != ours
                and self.arguments.get(name, name) == one
                and (ours not in self.said or name in self.said)
            ]
            if others:
                return (
                    f"The arguments {others[0][:64]!r} and {ours[:64]!r} are both {one!r} to a hook"
                    " that has to be asked: leave one out, or say it in foreign.tools."
                )
        return None


def _renamed(names: Mapping[str, str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    renamed = {names.get(name, name): value for name, value in arguments.items()}
    return renamed | {names[name]: arguments[name] for name in names if name in arguments}


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """Our tools that may have some name in the system, but not the same here.

    Attributes:
        names: what they are called here.
        kinds: what they do.
        origins: patterns of the MCP servers that they are of.
        of_servers: patterns of their names, if they are of a server that is not told.
    """

    names: tuple[str, ...] = ()
    kinds: tuple[ToolKind, ...] = ()
    origins: tuple[str, ...] = ()
    of_servers: tuple[str, ...] = ()


def _origins(mcp: str, glob: str) -> list[str]:
    """The servers whose tools may have a name in the system that fits the pattern.

    Args:
        mcp: see `TheirTools`.
        glob: of the name; it may end between server and tool anywhere.
    """
    before, server, between = mcp.removesuffix("{tool}").partition("{server}")
    if not mcp or not same_beginning(before, glob.partition("*")[0]):
        return []
    if not server or "*" in glob:
        return ["mcp:*"]
    name = glob[len(before) :]
    ends = (at for at in range(1, len(name)) if same_beginning(between, name[at:]))
    servers = [_SIGNS.sub(_any, name[:at]) for at in ends if len(name) > at + len(between)]
    # our plugins have small letters in their names
    return [f"mcp:{one}" for server in servers for one in (server, server.lower())]


def _any(signs: re.Match[str]) -> str:
    return "?" if len(signs[0]) == 1 else "*"


class ToolMap:
    """The tools of one agent of ours, for one system.

    Args:
        tools: the system's.
        given: `foreign.tools` of the settings, or what the embedding agent says: by the name of our
            tool `as` and our arguments' names, each with Claude Code's name.
    """

    def __init__(self, tools: TheirTools, given: Mapping[str, Mapping[str, str]]) -> None:
        self._tools = tools
        self._given = given
        self._names = {tool.name for tool in tools.by_claude.values()}

    def shown(self, name: str, kind: ToolKind | None, origin: str) -> Shown:
        """Our tool as the system would call it; under its own name if that is not known."""
        said = self._given.get(name)
        if said is not None:
            return self._in_theirs(said[AS], {n: v for n, v in said.items() if n != AS})
        server = origin.removeprefix("mcp:")
        if self._tools.mcp and server != origin and server:
            return Shown(self._tools.mcp.format(server=server, tool=bare(server, name)))
        if name in self._names:
            return Shown(name)
        kind = kind or _KNOWN.get(name)
        if kind is not None and kind in _BY_KIND:
            return self._in_theirs(_BY_KIND[kind], {})
        return Shown(name)

    def server_tool(self, name: str, kind: ToolKind | None, origin: str) -> ServerTool | None:
        """Our tool, if it is of an MCP server and the settings do not say its name there."""
        if not self._tools.mcp or name in self._given:
            return None
        server = origin.removeprefix("mcp:")
        if server != origin and server:
            return ServerTool(self._tools.mcp, server, name)
        if kind == "mcp" and _KNOWN.get(name) != "mcp":
            return ServerTool(self._tools.mcp, None, name)
        return None

    def _in_theirs(self, claude: str, arguments: Mapping[str, str]) -> Shown:
        tool = self._tools.by_claude.get(claude, Tool(claude))
        names = {ours: tool.arguments.get(theirs, theirs) for ours, theirs in arguments.items()}
        rest = {
            one: other
            for one, other in tool.arguments.items()
            if one not in names and other not in names.values()
        }
        return Shown(tool.name, {**rest, **names}, frozenset(names))

    def may_be(self, name: str) -> bool:
        """Whether a tool of ours is known that could have the system's name."""
        reached = self.reach((name,))
        return reached != Reach()

    def reach(self, globs: Sequence[str]) -> Reach:
        """Our tools that may have a name in the system which fits one of the patterns."""
        fitting = Globs(globs)

        def fits(claude: str) -> bool:
            # some of their events have Claude Code's names
            return fitting.fits(claude) or fitting.fits(self._in_theirs(claude, {}).name)

        mcp = self._tools.mcp
        origins = (origin for glob in globs for origin in _origins(mcp, glob))
        ends = (end_of(mcp, glob) for glob in globs if mcp)
        return Reach(
            names=tuple(own for own, said in self._given.items() if fits(said[AS])),
            # for a tool whose kind is not told the host asks as if it were of any kind
            kinds=tuple(kind for kind, one in _BY_KIND.items() if fits(one)),
            origins=tuple(dict.fromkeys(origins)),
            of_servers=tuple(dict.fromkeys(f"*{end}" for end in ends if end is not None)),
        )


CLAUDE_TOOLS: Final = (
    "Bash",
    "Read",
    "Write",
    "Edit",
    "MultiEdit",
    "NotebookEdit",
    "Glob",
    "Grep",
    "LS",
    "WebFetch",
    "WebSearch",
    "Task",
    "TodoWrite",
)
"""The names that `as` may have."""

SAME: Final[Mapping[str, Tool]] = {name: Tool(name) for name in CLAUDE_TOOLS}
"""Of a system that has taken over all of them."""
