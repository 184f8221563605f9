"""`sliphook mcp`: the installed plugins as an MCP server on stdin and stdout."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import click

from sliphook.cli.common import EXIT_OK, Failed, complain
from sliphook.cli.options.plugin import plugin_options
from sliphook.cli.report import says

if TYPE_CHECKING:
    from sliphook.plugin.spec import PluginSpec


@click.command("mcp")
@plugin_options
def command(plugins: tuple[PluginSpec, ...]) -> int:
    """Serve the tools and commands of the installed plugins to an MCP client.

    The client runs this command, and speaks with it on stdin and stdout. The plugins are started
    for this client alone.
    """
    from sliphook.adapters.mcp.serve.stdio import take_stdio

    if importlib.util.find_spec("mcp") is None:
        raise Failed("this needs the extra mcp: pip install 'sliphook[mcp]'")
    source, sink = take_stdio()

    from sliphook.adapters.mcp.serve.chosen import alone
    from sliphook.adapters.mcp.serve.server import serve
    from sliphook.cli.chosen_plugins import choose, user_settings
    from sliphook.cli.running import Interruptible, run_trio
    from sliphook.dumpable import forbid_dumps

    forbid_dumps()
    settings = user_settings()
    chosen = choose(plugins, settings)
    for line in chosen.problems:
        complain(says(line))

    async def run(running: Interruptible) -> int:
        await serve(source, sink, alone(chosen.specs, settings.timeout_cap_s))
        return EXIT_OK

    return run_trio(run)
