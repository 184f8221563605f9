"""Pure: what our agent's tools and their arguments are called in another system, and back.

The common words are Claude Code's: `foreign.tools` says which of its tools one of ours is, and each
system has a table from there to its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from sliphook.adapters.dialects.toolnames import CLAUDE, CODEX, COPILOT, CURSOR, GEMINI
from sliphook_sdk.protocol import ToolKind

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
    """One tool as the system calls it; `arguments` are its names by ours."""

    name: str
    arguments: Mapping[str, str] = {}

    def theirs(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments under the system's names."""
        return {self.arguments.get(name, name): value for name, value in arguments.items()}

    def ours(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments under our names."""
        back = {theirs: ours for ours, theirs in self.arguments.items()}
        return {back.get(name, name): value for name, value in arguments.items()}


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
        if name in self._names:
            return Shown(name)
        server = origin.removeprefix("mcp:")
        if self._tools.mcp and server != origin and server:
            return Shown(self._tools.mcp.format(server=server, tool=name))
        kind = kind or _KNOWN.get(name)
        if kind is not None and kind in _BY_KIND:
            return self._in_theirs(_BY_KIND[kind], {})
        return Shown(name)

    def _in_theirs(self, claude: str, arguments: Mapping[str, str]) -> Shown:
        tool = self._tools.by_claude.get(claude, Tool(claude))
        names = {ours: tool.arguments.get(theirs, theirs) for ours, theirs in arguments.items()}
        rest = {one: other for one, other in tool.arguments.items() if one not in names}
        return Shown(tool.name, {**rest, **names})

    def may_be(self, name: str) -> bool:
        """Whether a tool of ours is known that could have the system's name."""
        names, kinds = self.reach((name,))
        return bool(kinds) or len(names) > 1 or name.startswith(self._tools.mcp[:3] or "\0")

    def reach(self, names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Our tools that may have one of the system's names: by name, and by what they do."""
        claude = {one for one, tool in self._tools.by_claude.items() if tool.name in names}
        claude |= set(names) - self._names
        ours = [own for own, said in self._given.items() if said[AS] in claude]
        kinds = tuple(kind for kind, one in _BY_KIND.items() if one in claude)
        # for a tool whose kind is not told the host asks as if it were of any kind
        return (*dict.fromkeys((*names, *ours)),), kinds


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
