"""One start of a plugin, to read what it declares."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sliphook.cli.common import EXIT_OK, EXIT_PLUGIN, Failed
from sliphook.cli.running import Interruptible, run_trio
from sliphook.files.private import temporary_folder
from sliphook.registry.handshake import InterviewError, interview

if TYPE_CHECKING:
    from sliphook.plugin.manifest import ReadManifest
    from sliphook.plugin.spec import PluginSpec


class DidNotAnswer(Failed):
    """The plugin did not answer as it should: exit status 3."""

    exit_code = EXIT_PLUGIN


def run_once(
    spec: PluginSpec, data_dir: Path | None = None, *, aftermath: str = "nothing was changed"
) -> ReadManifest:
    """Start the plugin, read its manifest, and end it.

    Args:
        spec: the plugin.
        data_dir: its data folder; None: an empty folder that is removed afterwards.
        aftermath: ends the message of a failure.

    Raises:
        DidNotAnswer: the plugin could not be started, or its manifest cannot be accepted.
    """
    found: list[ReadManifest] = []

    async def ask(_: Interruptible) -> int:
        if data_dir is not None:
            found.append(await interview(spec, data_dir))
        else:
            with temporary_folder("sliphook-install-") as folder:
                found.append(await interview(spec, folder / "data"))
        return EXIT_OK

    try:
        status = run_trio(ask)
    except InterviewError as error:
        raise DidNotAnswer(f"{spec.name or spec.stem}: {error}; {aftermath}") from None
    if status != EXIT_OK:
        raise click.exceptions.Exit(status)
    return found[0]
