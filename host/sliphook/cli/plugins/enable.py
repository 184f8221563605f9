"""`sliphook uninstall`, `enable` and `disable`, which need only the name of a plugin."""

from __future__ import annotations

import click

from sliphook.cli.common import EXIT_OK, json_option, print_json

from .options import name_argument, registry_errors


@click.command("uninstall")
@name_argument
@json_option
def uninstall(name: str, as_json: bool) -> int:
    """Forget the plugin NAME: its approval, grants and settings.

    Its executable and its data stay where they are.
    """
    from sliphook.files import paths
    from sliphook.registry import Registry

    with registry_errors():
        Registry().remove(name)
    data = paths.plugin_data() / name
    if as_json:
        print_json({"name": name, "uninstalled": True})
    else:
        click.echo(f"uninstalled {name}{f'; its data is still in {data}' if data.is_dir() else ''}")
    return EXIT_OK


@click.command("enable")
@name_argument
@json_option
def enable(name: str, as_json: bool) -> int:
    """Start the plugin NAME again: in a chat that runs at /new or by /plugins reload."""
    return _switch(name, as_json, to=True)


@click.command("disable")
@name_argument
@json_option
def disable(name: str, as_json: bool) -> int:
    """Do not start the plugin NAME any more. A disabled guard guards nothing.

    An agent that runs keeps it: a chat until /new or /plugins reload, others until they end.
    """
    return _switch(name, as_json, to=False)


def _switch(name: str, as_json: bool, *, to: bool) -> int:
    from msgspec.structs import replace

    from sliphook.registry import Registry

    with registry_errors():
        Registry().change(name, lambda plugin: replace(plugin, enabled=to))
    if as_json:
        print_json({"name": name, "enabled": to})
    else:
        click.echo(f"{'enabled' if to else 'disabled'} {name}")
    return EXIT_OK
