"""What a user is shown of a plugin, and asked, before it may do anything."""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sliphook.cli.common import Failed, comment
from sliphook.cli.report import says
from sliphook.quoting import quote

from .options import grants_among

if TYPE_CHECKING:
    from sliphook.plugin.manifest import ReadManifest
    from sliphook.registry import Registered
    from sliphook.registry.executables import Executable
    from sliphook.registry.keys import Recorded
    from sliphook_sdk.protocol import Uses

_MAX_LINES: Final = 300
"""Lines of a diff that are shown."""
_LINE_CHARS: Final = 400
_WITH_YOUR_RIGHTS: Final = "A plugin runs with your rights, as any program that you start."


class Consent:
    """The user's answers, step by step. What is shown and asked goes to stderr.

    Args:
        yes: agree to everything but the grants, each of which an option must name.
        quiet: show nothing.
        command: the command that asks, for the error.

    Raises:
        click.UsageError: there is no terminal to ask on, and `yes` is False.
    """

    def __init__(self, *, yes: bool, quiet: bool, command: str) -> None:
        self._yes = yes
        self._quiet = quiet
        if not yes and not is_terminal():
            raise click.UsageError(
                f"{command} asks first, and there is no terminal to ask on;"
                " give --yes to agree beforehand"
            )

    def show(self, lines: Iterable[str]) -> None:
        """Show the lines."""
        for line in () if self._quiet else lines:
            comment(line)

    def show_file(self, found: Executable, approved: Recorded | None = None) -> None:
        """Show what is to run.

        Args:
            found: the file, or what an adapter makes the plugin of.
            approved: what was approved, if it was something else.
        """
        before = approved.hashes if approved is not None else {}
        dates = _line_of_dates(found.path, approved) if found.made is None else []
        files = [
            line
            for path, sha256 in found.hashes.items()
            for line in _lines_of_file(Path(path), sha256, before.get(path, sha256))
        ]
        made = [says(found.made.shown)] if found.made is not None else []
        runs = [f"  runs in   {says(found.interpreter)}"] if found.interpreter is not None else []
        self.show([*made, *files, *dates, *runs, "", _WITH_YOUR_RIGHTS])

    def show_changes(self, lines: Sequence[str] | None) -> None:
        """Show the lines of a diff; None if there is no text to compare with."""
        if lines is None:
            self.show(["", "What has changed in it cannot be shown: no text of it was kept."])
            return
        shown = [f"  {quote(line, _LINE_CHARS)}" for line in lines[:_MAX_LINES]]
        more = len(lines) - len(shown)
        self.show(["", *shown, *([f"  … and {more} more lines"] if more else [])])

    def confirm(self, question: str) -> None:
        """Go on only if the user agrees.

        Raises:
            Failed: the user does not agree.
        """
        if not self._yes and not click.confirm(question, default=False, err=True):
            raise Failed("nothing was changed")

    def grants(
        self, manifest: ReadManifest, wanted: Iterable[str], given: Sequence[str]
    ) -> frozenset[Uses]:
        """What the plugin may ask of the agent: `given`, and what the user grants of `wanted`.

        Raises:
            Failed: `given` has a grant that the manifest does not ask for.
        """
        chosen = self._choose("Grant {}?", sorted(wanted), given)
        return grants_among(chosen, manifest.name, manifest.uses)

    def variables(self, wanted: Iterable[str], given: Sequence[str]) -> tuple[str, ...]:
        """The variables that the plugin is given: `given`, and what the user grants of `wanted`."""
        return tuple(self._choose("Give it the variable {}?", wanted, given))

    def servers(
        self, wanted: Iterable[str], given: Sequence[str], grants: frozenset[Uses]
    ) -> tuple[str, ...]:
        """Where the plugin may have model calls sent: `given`, and what the user lets of `wanted`.

        Args:
            wanted: the servers of its manifest.
            given: those of the options.
            grants: without `route` among them it may not, and is not asked about.
        """
        asked = wanted if "route" in grants else ()
        return tuple(self._choose("Let it send your conversations to {}?", asked, given))

    def _choose(self, question: str, wanted: Iterable[str], given: Sequence[str]) -> list[str]:
        chosen = list(dict.fromkeys(given))
        for name in wanted:
            if name in chosen or self._yes:
                continue
            if click.confirm(question.format(name), default=False, err=True):
                chosen.append(name)
        return chosen


def is_terminal() -> bool:
    """Whether stdin is a terminal, so that the user can be asked."""
    return sys.stdin.isatty()


def _line_of_dates(path: Path, approved: Recorded | None) -> list[str]:
    """Size and date of the file, and those of its approval."""
    stat_now = path.stat()
    changed = datetime.fromtimestamp(stat_now.st_mtime).strftime("%Y-%m-%d %H:%M")
    lines = [f"  size      {stat_now.st_size:,} bytes, changed {changed}"]
    if approved is not None:
        size = f"{approved.size:,} bytes, " if approved.size is not None else ""
        when = approved.installed.astimezone().strftime("%Y-%m-%d %H:%M")
        lines.append(f"  before    {size}installed {when}")
    return lines


def _lines_of_file(path: Path, sha256: str, before: str) -> list[str]:
    from sliphook.registry.executables import owner_of

    lines = [
        says(str(path)),
        f"  owner     {owner_of(path)}, {stat.filemode(path.stat().st_mode)}",
        f"  sha256    {sha256}",
    ]
    if before != sha256:
        lines.append(f"  before    {before}")
    return lines


def line_of_pin(plugin: Registered) -> str:
    """In which interpreter a script runs that looks for it on PATH."""
    if plugin.pin:
        return (
            f"it runs in {says(plugin.recorded.interpreter or '')}, whatever is active then;"
            f" to follow the active one: sliphook config {plugin.name} --no-pin"
        )
    return (
        "it runs in the interpreter that is active where an agent starts;"
        f" to pin the one of now: sliphook config {plugin.name} --pin"
    )


def lines_of_manifest(manifest: ReadManifest) -> list[str]:
    """What the plugin declares, in lines."""
    from sliphook.registry.settings_schema import line_of, settings_of

    wire = manifest.wire
    head = f"{manifest.name} {says(wire.version or '')}".rstrip()
    rows = {
        "hooks": ", ".join(_hook(manifest, name) for name in manifest.routes),
        "tools": ", ".join(tool.name for tool in manifest.tools),
        "commands": ", ".join(f"/{command.name}" for command in manifest.commands),
        "uses": ", ".join(sorted(manifest.uses)),
        "route": _servers(manifest),
    }
    lines = [
        f"{head}: {says(wire.description)}" if wire.description else head,
        *(f"  {what:<9} {text}" for what, text in rows.items() if text),
    ]
    for want in manifest.env:
        notes = [
            note for note, holds in (("required", want.required), ("secret", want.secret)) if holds
        ]
        line = f"  env       {says(want.name)}"
        line += f" ({', '.join(notes)})" if notes else ""
        lines.append(f"{line}: {says(want.why)}" if want.why else line)
    for name, setting in settings_of(wire.config_schema).items():
        lines.append(f"  setting   {says(line_of(name, setting))}")
    if wire.disabled:
        lines.append(f"  it leaves itself out for now: {says(wire.disabled)}")
    return lines


def _servers(manifest: ReadManifest) -> str:
    if "route" not in manifest.uses:
        return ""
    return f"may send your conversations to: {', '.join(['your providers', *manifest.servers])}"


def _hook(manifest: ReadManifest, name: str) -> str:
    routes = manifest.routes[name]
    closed = any(route.on_failure == "closed" and route.mode == "hook" for route in routes)
    replaces = any(route.replaces for route in routes)
    return f"{name}{' (closed)' if closed else ''}{' (replaces)' if replaces else ''}"


def tell_what_is_missing(plugin: Registered, manifest: ReadManifest) -> None:
    """Print what the plugin wants and was not given, each with the command that gives it."""
    name = plugin.name
    for use in sorted(manifest.uses - plugin.grants):
        click.echo(f"  not granted: {use}; to grant it: sliphook config {name} --grant {use}")
    for server in plugin.servers_refused(manifest.servers):
        click.echo(
            f"  no model calls to {server}; to let it: sliphook config {name} --server {server}"
        )
    for want in manifest.env:
        if want.name not in plugin.env:
            click.echo(
                f"  not given: {want.name}; to give it: sliphook config {name} --env {want.name}"
            )
