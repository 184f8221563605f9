"""`sliphook trace`: a trace file as lines, as a summary, as a picture, or replayed to a plugin."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sliphook.cli.common import EXIT_OK, Failed, comment, json_option, print_json
from sliphook.cli.tracing import FilterType
from sliphook.quoting import quote, visible_json

from .source import TraceFile

if TYPE_CHECKING:
    from sliphook.trace.filter import TraceFilter
    from sliphook.trace.record import TraceRecord


class _Trace(click.Command):
    """`sliphook trace FILE`; if the first word is `replay`, the command in `replay` instead."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        if args and args[0] == "replay":
            from .replay import command as replay

            context: click.Context = replay.make_context(
                "trace replay", args[1:], parent=parent, **extra
            )
            return context
        return super().make_context(info_name, args, parent=parent, **extra)


@click.command(
    "trace",
    cls=_Trace,
    epilog="`sliphook trace replay FILE --plugin PATH` plays the host's side of a trace against a"
    " plugin (see its own --help).",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-v", "--verbose", is_flag=True, help="Show the messages' bodies, too.")
@click.option(
    "--filter",
    "wanted",
    type=FilterType(),
    metavar="KEY=VALUE,…",
    help="Only what fits: plugin=, method=, event= (patterns, several with |).",
)
@click.option(
    "--turn", metavar="N", help="Only the turn with this number, from 1, or whose id begins so."
)
@click.option(
    "-f", "--follow", is_flag=True, help="Go on with what is added to the file, until Ctrl+C."
)
@click.option(
    "--summary",
    is_flag=True,
    help="Count, durations, failures and bytes for each plugin and each thing asked of it.",
)
@click.option(
    "--timeline",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="Draw a picture into OUT, an .svg or an .html.",
)
@click.option(
    "--perfetto",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="Write OUT, a .json for https://ui.perfetto.dev.",
)
@json_option
def command(
    file: Path,
    verbose: bool,
    wanted: TraceFilter | None,
    turn: str | None,
    follow: bool,
    summary: bool,
    timeline: Path | None,
    perfetto: Path | None,
    as_json: bool,
) -> int:
    """Show FILE, which `--trace-file` has written: one line a message, as `--trace` shows them.

    A line of FILE that is no record is named and skipped.
    """
    views = {
        "--follow": follow,
        "--summary": summary,
        "--timeline": timeline,
        "--perfetto": perfetto,
    }
    given = [name for name, value in views.items() if value]
    if len(given) > 1:
        raise click.UsageError(f"{given[0]} and {given[1]} are two views: give one at a time")
    if as_json and (timeline or perfetto):
        raise click.UsageError(f"{given[0]} writes a file, and there is no --json of it")
    if follow and turn is not None:
        raise click.UsageError("--turn looks at a whole file: leave out --follow")
    source = TraceFile(file, wanted, turn)
    if summary:
        _summarize(source.records(), as_json)
    elif timeline is not None:
        _draw(source, timeline)
    elif perfetto is not None:
        from sliphook.trace.views.perfetto import to_perfetto

        if perfetto.suffix.lower() != ".json":
            raise click.UsageError(f"--perfetto: {perfetto} must end in .json")
        _write(perfetto, to_perfetto(source.drawn()))
    elif follow:
        with contextlib.suppress(KeyboardInterrupt):  # the way out that its help names
            _show(source.follow(), verbose=verbose, as_json=as_json, at_once=True)
    else:
        _show(source.records(), verbose=verbose, as_json=as_json, at_once=False)
    return EXIT_OK


def _show(records: Iterable[TraceRecord], *, verbose: bool, as_json: bool, at_once: bool) -> None:
    from sliphook.trace.line_format import encode_line
    from sliphook.trace.live_sink import style_of
    from sliphook.trace.render import render_body, render_line
    from sliphook.trace.subjects import Subjects

    def show(text: str) -> None:
        sys.stdout.write(text)
        if at_once:
            sys.stdout.flush()

    if as_json:
        for record in records:
            show(visible_json(encode_line(record).decode()))
        return
    style = style_of(sys.stdout)
    if sys.stdout.isatty():
        style = style._replace(width=shutil.get_terminal_size().columns)
    subjects = Subjects()
    for record in records:
        line = render_line(record, style, subjects.of(record))
        lines = [line, *(render_body(record, style) if verbose else ()), ""]
        show("\n".join(lines))


def _summarize(records: Iterable[TraceRecord], as_json: bool) -> None:
    from sliphook.trace.views.summary import Summary

    from .summary import show_summary

    summary = Summary()
    for record in records:
        summary.add(record)
    if as_json:
        print_json(summary.result())
    else:
        show_summary(summary.result())


def _draw(source: TraceFile, out: Path) -> None:
    from sliphook.trace.views.timeline import draw_page, draw_svg

    draw = {".svg": draw_svg, ".html": draw_page, ".htm": draw_page}.get(out.suffix.lower())
    if draw is None:
        raise click.UsageError(f"--timeline: {out} must end in .svg or .html")
    _write(out, draw(source.drawn(), source.path.name))


def _write(path: Path, text: str) -> None:
    """Write all of it or nothing: an old picture stays until the new one is complete.

    Raises:
        Failed: it cannot be written.
    """
    from sliphook.files.atomic import write_atomically

    try:
        if path.exists() and not path.is_file():  # a device, a pipe: nothing to be replaced
            path.write_text(text, encoding="utf-8")
        else:
            write_atomically(path, text)
    except OSError as error:
        raise Failed(f"cannot write {path}: {error.strerror or error}") from None
    comment(f"wrote {quote(str(path), 4096)}")  # OUT itself may be /dev/stdout
