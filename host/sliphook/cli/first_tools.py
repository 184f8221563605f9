"""Waits for the MCP servers that have never listed their tools: a download takes its time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import trio

if TYPE_CHECKING:
    from sliphook.host.host import PluginHost
    from sliphook.plugin.spec import PluginSpec

_LOOK_S: Final = 0.1


async def wait_for_first_tools(
    host: PluginHost, specs: Sequence[PluginSpec], say: Callable[[str], None]
) -> None:
    """Wait until every server has offered its tools, or its plugin has given up.

    Args:
        host: runs them.
        specs: what it was given; of others than servers nothing is awaited.
        say: is told in a line whom the user waits for.
    """
    awaited = {one.made.name for one in specs if one.made and one.made.origin.startswith("mcp:")}
    if not awaited:  # most often; and what follows imports the bridge
        return
    from sliphook.adapters.mcp.kept_tools import is_kept
    from sliphook.adapters.mcp.plugin import CONNECT_S
    from sliphook.files import paths

    said = ""
    with trio.move_on_after(CONNECT_S):
        while awaited := {
            one.name
            for one in host.plugins
            if one.name in awaited
            and one.state == "ready"
            and not is_kept(paths.plugin_data() / one.name)
        }:
            names = ", ".join(sorted(awaited))
            if names != said:
                say(f"waiting for the first start of the MCP server {names}")
            said = names
            await trio.sleep(_LOOK_S)
