"""`sliphook mcp`: the installed plugins as an MCP server on stdin and stdout."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

import click

from sliphook.cli.common import EXIT_OK, Failed, complain
from sliphook.cli.options.plugin import plugin_options
from sliphook.cli.report import says

from .attach import dialect_of

if TYPE_CHECKING:
    from sliphook.plugin.spec import PluginSpec


@click.command("mcp")
@click.option("--agent", metavar="AGENT", help="Serve the plugins of AGENT, which is attached.")
@plugin_options
def command(agent: str | None, plugins: tuple[PluginSpec, ...]) -> int:
    """Serve the tools and commands of the installed plugins to an MCP client.

    The client runs this command, and speaks with it on stdin and stdout. With --agent, which
    `attach --mcp` writes, calls go to the plugins that the hooks of the agent's session have
    started; otherwise the plugins are started for this client alone.
    """
    from sliphook.adapters.mcp.serve.stdio import take_stdio

    if importlib.util.find_spec("mcp") is None:
        raise Failed("this needs the extra mcp: pip install 'sliphook[mcp]'")
    if agent is not None:
        dialect_of(agent)
    os.umask(os.umask(0o077) & 0o077)  # the folder of daemons is the user's own
    source, sink = take_stdio()

    from sliphook.adapters.mcp.serve.chosen import Chooser
    from sliphook.adapters.mcp.serve.server import serve
    from sliphook.cli.chosen_plugins import choose, user_settings
    from sliphook.cli.running import Interruptible, run_trio

    settings = user_settings()
    chosen = choose(plugins, settings)
    for line in chosen.problems:
        complain(says(line))

    async def run(running: Interruptible) -> int:
        chooser = Chooser(chosen.specs, agent, os.environ, settings)
        await serve(source, sink, chooser.choose)
        return EXIT_OK

    return run_trio(run)
