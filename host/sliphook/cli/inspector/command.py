"""`sliphook inspect`: a page to try one plugin by hand."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import click

from sliphook.cli.common import EXIT_OK, Failed
from sliphook.cli.options.plugin import plugin_options

if TYPE_CHECKING:
    from sliphook.plugin.spec import PluginSpec


@click.command("inspect")
@plugin_options
def command(plugins: tuple[PluginSpec, ...]) -> int:
    """Try one plugin by hand, in a browser.

    Starts the plugin of --plugin or --mcp, and prints the address of a page. The page has the
    manifest, a form for each hook, event, tool and command, the answers, the log, and all messages
    as they pass. A message can be changed and sent again; an exchange can be saved as a test or a
    trace.

    Only who knows the address can use the page, and only from this machine. Ctrl+C ends the page
    and the plugin. Needs `pip install "sliphook[inspect]"`.
    """
    if len(plugins) != 1:
        raise click.UsageError("give one plugin: --plugin PATH|NAME or --mcp COMMAND")
    if (
        importlib.util.find_spec("hypercorn") is None
        or importlib.util.find_spec("starlette") is None
    ):
        raise Failed('the page needs more packages: pip install "sliphook[inspect]"')

    import trio

    from sliphook.cli.running import Interruptible, run_trio

    from .feed import WireFeed
    from .living import living
    from .server import PageServer

    async def serve(running: Interruptible) -> int:
        feed = WireFeed(trio.lowlevel.current_trio_token())
        try:
            async with living(plugins[0], feed) as plugin:
                running.host = plugin.host
                server = PageServer(plugin, feed)
                click.echo(f"{server.url}\nCtrl+C ends the page and the plugin")
                await server.run()
        finally:
            feed.close()
        return EXIT_OK

    return run_trio(serve)
