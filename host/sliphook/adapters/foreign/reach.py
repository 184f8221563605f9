"""Pure: the matchers of a configuration that no tool of this agent may ever fit."""

from __future__ import annotations

from sliphook.adapters.dialects.hosted.hosted import TOOL_NAMES
from sliphook.adapters.dialects.hosted.matchers import matcher
from sliphook.adapters.dialects.hosted.toolmap import ToolMap
from sliphook.settings import Settings

from .sources import Source


def dead_matchers(source: Source, settings: Settings) -> list[str]:
    """A sentence for each: the names that it is for, and what to write so that it can fit.

    A name can fit if `foreign.tools` has a tool for it, or if tools of some kind are taken for it.
    """
    tools = ToolMap(source.system.tools, settings.foreign.tools)
    lines: dict[str, None] = {}
    for handler in source.handlers:
        rows = source.system.named(handler.event)
        names = matcher(source.system.rule, handler.matcher).names
        if not names or not any(row.matched in TOOL_NAMES for row in rows):
            continue
        if not any(tools.may_be(name) for name in names):
            lines[
                f"{handler.event} on {handler.matcher}: only a tool of that very name fits; to name"
                f" one, set foreign.tools.TOOL = {{as = {source.system.tools.claude(names[0])!r}}}"
                " in config.toml"
            ] = None
    return list(lines)
