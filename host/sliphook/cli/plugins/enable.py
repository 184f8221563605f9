"""`sliphook uninstall`, `enable` and `disable`, which need only the name of a plugin."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from sliphook.cli.common import EXIT_OK, Failed, json_option, print_json

from .options import name_argument, registry_errors


@click.command("uninstall")
@name_argument
@click.option("--purge", is_flag=True, help="Remove its data and its logs, too.")
@json_option
def uninstall(name: str, purge: bool, as_json: bool) -> int:
    """Forget the plugin NAME: its approval, grants and settings.

    Its executable stays where it is, and so do its data and its logs without --purge.
    """
    from sliphook.files import paths
    from sliphook.process.log_files import default_folder, files_of
    from sliphook.registry import Registry
    from sliphook.registry.kept_text import forget

    with registry_errors():
        Registry().remove(name)
    forget(name)
    data = paths.plugin_data() / name
    if purge:
        _remove(data, files_of(default_folder(), name))
    if as_json:
        print_json({"name": name, "uninstalled": True, "purged": purge})
    else:
        left = f"; its data is still in {data}" if data.is_dir() else ""
        click.echo(f"uninstalled {name}{', its data and its logs' if purge else left}")
    return EXIT_OK


def _remove(folder: Path, files: list[Path]) -> None:
    try:
        if folder.is_symlink():  # it may lead anywhere
            folder.unlink()
        elif folder.is_dir():
            shutil.rmtree(folder)
        for file in files:
            file.unlink()
    except OSError as error:
        raise Failed(
            f"it is uninstalled, but {error.filename} cannot be removed: {error.strerror}"
        ) from None


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
