"""Pure: whether a tool of an MCP server is one that a hook of another system names."""

from __future__ import annotations

import re
from typing import Final

import msgspec

_MOST_CHARS: Final = 64
"""Of a name here; a longer one is cut."""
_MOST_PREFIX_CHARS: Final = 32
"""Of what may stand before the server's own name of a tool here."""


class ServerTool(msgspec.Struct, frozen=True):
    """A tool of an MCP server, of whose name in the system not all is certain.

    Here a prefix may stand before the server's own name of it, and its end may be cut. Case and
    signs may be others, as no system takes all that servers and tools are called.

    Attributes:
        mcp: what the system calls such a tool, with `{server}` and `{tool}`.
        server: its server; None if that is not known.
        name: what it is called here.
    """

    mcp: str
    server: str | None
    name: str

    def may_be(self, named: str) -> bool:
        """Whether it may have that name there, or with a star at the end one that begins so."""
        if self.server is None:
            end = end_of(self.mcp, named)
            return end is not None and _plain(self.name).endswith(_plain(end))
        fixed, star, _ = named.partition("*")
        theirs = _plain(fixed)
        begin = _plain(self.mcp.removesuffix("{tool}").format(server=self.server))
        if not theirs.startswith(begin):
            return bool(star) and begin.startswith(theirs)
        rest = theirs.removeprefix(begin)
        return self._may_begin(rest) if star else bool(rest) and self._may_end(rest)

    def _may_begin(self, rest: str) -> bool:
        whole, own = _plain(self.name), _plain(bare(self.server or "", self.name))
        has_prefix = rest in whole if own == whole else own.startswith(rest)
        return has_prefix or whole.startswith(rest) or len(self.name) == _MOST_CHARS

    def _may_end(self, rest: str) -> bool:
        whole, own = _plain(self.name), _plain(bare(self.server or "", self.name))
        has_prefix = whole.endswith(rest) if own == whole else own == rest
        if has_prefix or whole == rest or len(self.name) != _MOST_CHARS:
            return has_prefix or whole == rest
        return any(rest.startswith(own[at:]) for at in range(_MOST_PREFIX_CHARS + 1))


def bare(server: str, name: str) -> str:
    """The tool's name without its server's, which some agents put in front of it."""
    for prefix in (f"mcp__{server}__", f"mcp_{server}_"):
        if name.startswith(prefix) and name != prefix:
            return name.removeprefix(prefix)
    return name


def end_of(mcp: str, named: str) -> str | None:
    """With what the name of a tool here ends that has such a name there; None: there is none.

    Args:
        mcp: see `ServerTool`.
        named: a name, or a pattern with stars, of which no end is known: "".
    """
    before, server, between = mcp.removesuffix("{tool}").partition("{server}")
    fixed = named.strip("*")
    if not same_beginning(before, fixed):
        return None
    if "*" in named:
        return "" if before or between in fixed else None
    rest = fixed[len(before) :]
    if server and between not in rest:
        return None
    return (rest.rpartition(between)[2] if server else rest) or None


def same_beginning(fixed: str, glob: str) -> bool:
    """Whether the fixed text and the pattern agree, as far as both go."""
    return all(want in (char, "?") for char, want in zip(fixed, glob, strict=False))


def _plain(name: str) -> str:
    """The same for names that differ in case and in what stands between their words."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())
