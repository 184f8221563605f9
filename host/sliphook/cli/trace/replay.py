"""`sliphook trace replay`: sends a plugin what the host sent in a trace, compares the answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from sliphook.cli.common import (
    EXIT_OK,
    EXIT_PLUGIN,
    Failed,
    comment,
    json_option,
    print_json,
    timeout_option,
)
from sliphook.cli.options.plugin import refuse_what_others_could_change
from sliphook.cli.report import says
from sliphook.cli.tracing import Tracing, trace_options
from sliphook.quoting import quote

from .source import TraceFile

if TYPE_CHECKING:
    from sliphook.check.replay.differences import Compared, ReplayReport
    from sliphook.check.replay.script import Life

_VALUE_CHARS: Final = 200
_SHOWN: Final = 40
"""Up to so many requests are all shown; of more, only those that differ."""


@click.command("replay")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--plugin",
    "path",
    required=True,
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="The plugin's executable.",
)
@click.option(
    "--as",
    "name",
    metavar="NAME",
    help="Which plugin of the trace; may be left out if there is only one.",
)
@timeout_option
@json_option
@trace_options
def command(
    file: Path,
    path: Path,
    name: str | None,
    timeout_s: float | None,
    as_json: bool,
    tracing: Tracing,
) -> int:
    """Send the plugin at PATH what the host sent to one plugin of FILE, and compare the answers.

    The order is the recorded one, the speed is the plugin's: an answer is waited for if the trace
    has one, what the host had withdrawn is withdrawn, and what the plugin asks the host is answered
    as it was. Times are shown and not compared. What is redacted in the trace counts as unchanged.
    The process gets an empty folder and, of the environment that its manifest asks for, what is set
    here.

    Exit status: 0 everything is as it was, 3 something differs or the plugin did not start.
    """
    refuse_what_others_could_change(path)
    chosen, lives = _choose(file, name)

    from sliphook.check.replay.replay import replay
    from sliphook.cli.running import Interruptible, run_trio

    async def play(_: Interruptible) -> int:
        with tracing.open() as sink:
            report = await replay(path, chosen, lives, timeout_s=timeout_s, log=_log, trace=sink)
        if as_json:
            print_json(report)
        else:
            for line in _for_people(report):
                click.echo(line)
        return EXIT_OK if report.same else EXIT_PLUGIN

    return run_trio(play)


def _choose(file: Path, name: str | None) -> tuple[str, list[Life]]:
    """The plugin that is meant, and its script.

    Raises:
        click.UsageError: `name` is missing and there are several, or no plugin has it.
        Failed: the file is no trace, or the host had sent that plugin nothing.
    """
    from sliphook.check.replay.script import plugins_of, script_of
    from sliphook_sdk.protocol import nearest

    plugins = plugins_of(TraceFile(file).records())
    names = ", ".join(says(plugin) for plugin in sorted(plugins))
    if not plugins:
        raise Failed(f"{file}: it tells of no plugin, so there is nothing to replay")
    if name is None and len(plugins) > 1:
        raise click.UsageError(f"{file} has several plugins; say which with --as NAME: {names}")
    chosen = next(iter(plugins)) if name is None else name
    if chosen not in plugins:
        near = nearest(chosen, list(plugins))
        hint = f"did you mean {near!r}?" if near else f"there is {names}"
        raise click.UsageError(f"--as: {file} has no plugin {chosen!r}; {hint}")
    lives = script_of(plugins[chosen])
    if not lives:
        raise Failed(
            f"{file}: the host had sent {says(chosen)} nothing, so there is nothing to replay"
        )
    return chosen, lives


def _log(level: str, message: str) -> None:
    comment(f"{level}: {says(message)}")


def _for_people(report: ReplayReport) -> Iterator[str]:
    different = [one for one in report.requests if not one.same]
    yield f"{says(report.plugin)} of the trace, played to {report.path}"
    shown = report.requests if len(report.requests) <= _SHOWN else different
    width = max((len(says(one.what)) for one in shown), default=0)
    for one in shown:
        times = f"{_time(one.recorded_ms):>8} → {_time(one.now_ms):>8}"
        yield f"  {one.number:>5}  {says(one.what):<{width}}  {times}  {_verdict(one)}"
        yield from (f"         {line}" for line in _fields(report, one.number))
    for line in _fields(report, None):
        yield f"  {line}"
    yield f"{len(report.requests) - len(different)} as before, {len(different)} different"


def _fields(report: ReplayReport, number: int | None) -> Iterator[str]:
    for one in report.differences:
        if one.number == number:
            what = "" if number is not None else f"{says(one.what)}: "
            match one.field:
                case "start":
                    yield f"it did not start: {says(str(one.now))}"
                case "death" if one.now is None:
                    yield f"it lives on; before, it died: {says(str(one.recorded))}"
                case "death":
                    yield f"it died, which it had not: {says(str(one.now))}"
                case "missing":
                    yield f"{what}not asked any more; before: {_value(one.recorded)}"
                case "extra":
                    yield f"{what}asked for, which it was not before: {_value(one.now)}"
                case _:
                    yield f"{what}{says(one.field)}: {_value(one.recorded)} → {_value(one.now)}"


def _verdict(one: Compared) -> str:
    if one.recorded is None:
        return f"{one.now}; the trace does not tell of its end"
    return "as before" if one.same else "DIFFERENT"


def _value(value: Any) -> str:
    return quote(msgspec.json.encode(value), _VALUE_CHARS)


def _time(elapsed_ms: float | None) -> str:
    from sliphook.trace.render import duration

    return "" if elapsed_ms is None else duration(elapsed_ms)
