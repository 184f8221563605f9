"""`sliphook check`: checks that an executable keeps to the protocol."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sliphook.cli.colours import coloured
from sliphook.cli.common import EXIT_FAILED, EXIT_OK, EXIT_PLUGIN, Failed, json_option, print_json
from sliphook.cli.report import says
from sliphook.cli.tracing import Tracing, trace_options
from sliphook.cli.watching import again_on_change

if TYPE_CHECKING:
    from sliphook.check import CheckFinding

_MARKS = {
    "passed": "ok",
    "warned": "warning",
    "failed": "FAILED",
    "skipped": "skipped",
    "broken": "BROKEN",
}
_COLOURS = {
    "passed": "green",
    "warned": "yellow",
    "failed": "red",
    "skipped": "bright_black",
    "broken": "red",
}


@click.command("check")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--mcp", metavar="COMMAND", help="Check the MCP server of this command as a plugin.")
@click.option(
    "--env",
    multiple=True,
    metavar="VARIABLE",
    help="Give it this environment variable. May be given several times.",
)
@click.option(
    "--config",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting for it. May be given several times.",
)
@json_option
@click.option(
    "--junit",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the findings to FILE as JUnit XML.",
)
@click.option("--watch", is_flag=True, help="Check it again whenever the file at PATH has changed.")
@trace_options
def command(
    path: Path | None,
    mcp: str | None,
    env: tuple[str, ...],
    settings: tuple[str, ...],
    as_json: bool,
    junit: Path | None,
    watch: bool,
    tracing: Tracing,
) -> int:
    """Check that the executable at PATH keeps to the protocol. It may be in any language.

    Starts it several times, sends it usual and unusual messages, and fires every hook and event to
    which it subscribes, with sample payloads. It also really calls every tool and command, with
    sample arguments: do not check a plugin that could change something of value. Each finding names
    the section of protocol.md that asks for it.

    Exit status: 0 it keeps to the protocol, 1 a check itself is broken, 3 it does not keep to the
    protocol.
    """
    from sliphook.check import check_plugin
    from sliphook.cli.options.plugin import given, server_of
    from sliphook.cli.running import Interruptible, run_trio
    from sliphook.plugin.spec import PluginSpec

    if (path is None) == (mcp is None):
        raise click.UsageError("give PATH, or --mcp COMMAND")
    spec = PluginSpec(path) if path is not None else server_of(mcp or "")
    (checked,) = given([spec], env, settings)

    async def check(running: Interruptible) -> int:
        show: Callable[[CheckFinding], object] = _nothing if as_json else _show
        with tracing.open() as sink:
            report = await check_plugin(checked, on_finding=show, trace=sink)
        if junit is not None:
            _write(junit, report.junit())
        counts = {
            verdict: report.count(verdict)
            for verdict in ("passed", "warned", "failed", "skipped", "broken")
        }
        if as_json:
            print_json(
                {
                    "path": report.path,
                    "name": report.name,
                    "counts": counts,
                    "findings": report.findings,
                }
            )
        else:
            told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
            click.echo(f"{says(report.name or report.path)}: {told}")
        if counts["failed"]:
            return EXIT_PLUGIN
        return EXIT_FAILED if counts["broken"] else EXIT_OK

    def once() -> int:
        return run_trio(check)

    return again_on_change([path] if path is not None else [], once) if watch else once()


def _show(finding: CheckFinding) -> None:
    took = "" if finding.elapsed_ms is None else f"{finding.elapsed_ms:9.1f} ms"
    mark = coloured(f"{_MARKS[finding.verdict]:8}", _COLOURS[finding.verdict])
    line = f"  {mark} {finding.name:32} {took:12}  {finding.section:27}"
    click.echo(f"{line} {says(finding.note)}".rstrip())
    if finding.sent:
        click.echo(f"           sent: {says(finding.sent)}")
        click.echo(f"           came: {says(finding.came)}")
        click.echo(f"           do:   {says(finding.advice)}  [protocol.md, {finding.section}]")


def _nothing(finding: CheckFinding) -> None:
    pass


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Failed(f"cannot write {path}: {error.strerror or error}") from None
