"""What a user is shown of a plugin, and asked, before it may do anything."""

from __future__ import annotations

import stat
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final, cast

import click

from sliphook.cli.common import Failed
from sliphook.cli.report import says

if TYPE_CHECKING:
    from sliphook.plugin.manifest import ReadManifest
    from sliphook.registry.executables import Executable
    from sliphook_sdk.protocol import Uses

WITH_YOUR_RIGHTS: Final = "A plugin runs with your rights, as any program that you start."


class Questions:
    """What is asked on the way. Without `--yes` there must be somebody to ask.

    Args:
        yes: the answer to all questions but the grants: these must be named.
        what: the command, for the error.

    Raises:
        click.UsageError: nobody is there.
    """

    def __init__(self, *, yes: bool, what: str) -> None:
        self.yes = yes
        if not yes and not somebody_is_there():
            raise click.UsageError(
                f"{what} asks first, and there is no terminal to ask on; give --yes to agree beforehand"
            )

    def confirm(self, question: str) -> None:
        """Go on only if the user agrees.

        Raises:
            Failed: the user does not agree.
        """
        if not self.yes and not click.confirm(question, default=False, err=True):
            raise Failed("nothing was changed")

    def grants(self, question: str, wanted: Iterable[str], given: Sequence[str]) -> list[str]:
        """Which of several rights the user grants, each asked for by itself; `given` are granted already."""
        granted = list(dict.fromkeys(given))
        for name in wanted:
            if (
                name not in granted
                and not self.yes
                and click.confirm(question.format(name), default=False, err=True)
            ):
                granted.append(name)
        return granted


def show(lines: Sequence[str], *, quiet: bool) -> None:
    """Lines for the user, on stderr; none where a program asked for JSON and has agreed beforehand."""
    for line in () if quiet else lines:
        click.echo(line, err=True)


def somebody_is_there() -> bool:
    """There is a terminal to ask on."""
    return sys.stdin.isatty()


def uses_among(names: Iterable[str], plugin: str, asked: Collection[str]) -> frozenset[Uses]:
    """The grants of these names, which must be among those that the plugin asks for.

    Raises:
        Failed: the plugin does not ask for one of them.
    """
    for name in names:
        if name not in asked:
            raise Failed(
                f"{plugin} does not ask for {name}; it asks for {', '.join(sorted(asked)) or 'nothing'}"
            )
    return frozenset(cast("Iterable[Uses]", names))


def lines_of_file(found: Executable) -> list[str]:
    """The file that will run, in lines."""
    from sliphook.registry.executables import owner_of

    mode = stat.filemode(found.path.stat().st_mode)
    lines = [
        says(str(found.path)),
        f"  owner     {owner_of(found.path)}, {mode}",
        f"  sha256    {found.sha256}",
    ]
    if found.interpreter is not None:
        lines.append(f"  runs in   {says(found.interpreter)}")
    return lines


def lines_of_manifest(manifest: ReadManifest) -> list[str]:
    """What the plugin declares, in lines."""
    wire = manifest.wire
    head = f"{manifest.name} {says(wire.version or '')}".rstrip() + (
        f": {says(wire.description)}" if wire.description else ""
    )
    hooks = ", ".join(
        f"{name}{' (closed)' if any(route.on_failure == 'closed' and route.mode == 'hook' for route in routes) else ''}"
        f"{' (replaces)' if any(route.replaces for route in routes) else ''}"
        for name, routes in manifest.routes.items()
    )
    rows = {
        "hooks": hooks,
        "tools": ", ".join(tool.name for tool in manifest.tools),
        "commands": ", ".join(f"/{command.name}" for command in manifest.commands),
        "uses": ", ".join(sorted(manifest.uses)),
    }
    lines = [head, *(f"  {what:<9} {text}" for what, text in rows.items() if text)]
    for want in manifest.env:
        notes = ", ".join(
            note for note, holds in (("required", want.required), ("secret", want.secret)) if holds
        )
        lines.append(
            f"  env       {says(want.name)}{f' ({notes})' if notes else ''}{f': {says(want.why)}' if want.why else ''}"
        )
    if wire.disabled:
        lines.append(f"  it leaves itself out for now: {says(wire.disabled)}")
    return lines
