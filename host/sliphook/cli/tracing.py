"""The options that show and save the trace, for every command that starts plugins."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar, cast

import click

from .common import Failed, complain, with_options

if TYPE_CHECKING:
    from sliphook.trace.filter import TraceFilter
    from sliphook.trace.live_sink import LiveTrace
    from sliphook.trace.record import TraceSink

__all__ = ["FilterType", "Tracing", "live_of", "stderr_of", "trace_options"]

_F = TypeVar("_F", bound=Callable[..., Any])

_SIZE: Final = re.compile(r"(\d+)(KB|MB|GB)", re.IGNORECASE)
_UNITS: Final = {"KB": 1000, "MB": 1000**2, "GB": 1000**3}


class FilterType(click.ParamType["TraceFilter"]):
    """The value of `--trace-filter`."""

    name = "filter"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> TraceFilter:
        """The filter that the text describes; a usage error if it is none."""
        from sliphook.trace.filter import FilterError, parse_filter

        try:
            return parse_filter(str(value))
        except FilterError as error:
            self.fail(str(error), param, ctx)


class _SizeType(click.ParamType[int]):
    """A number of bytes, such as `100MB`."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = _SIZE.fullmatch(str(value))
        if found is None or not int(found[1]):
            self.fail(f"{value!r} is no size; say it like 100MB", param, ctx)
        return int(found[1]) * _UNITS[found[2].upper()]


@dataclass(frozen=True)
class Tracing:
    """The values of the trace options.

    Attributes:
        live: show the messages as they pass.
        bodies: show their bodies too.
        wanted: show only these messages; None shows all.
        file: write all messages to this file, or None.
        file_bytes: begin another file at this size; None is the default size.
    """

    live: bool = False
    bodies: bool = False
    wanted: TraceFilter | None = None
    file: Path | None = None
    file_bytes: int | None = None

    @contextlib.contextmanager
    def open(self, write: Callable[[str], object] | None = None) -> Generator[TraceSink | None]:
        """The sink for the host, or None if no trace is wanted.

        At the end, a line on stderr says what was lost.

        Args:
            write: takes the shown lines, from a thread of the trace; None writes them to stderr.
                For a program that draws on the terminal itself.

        Raises:
            Failed: the file cannot be written.
        """
        if not self.live and self.file is None:
            yield None
            return
        from sliphook.plugin.secrets import own_keys
        from sliphook.trace.file_sink import FileTrace
        from sliphook.trace.record import Tee

        sinks: list[FileTrace | LiveTrace] = []
        if self.file is not None:
            try:
                sinks.append(FileTrace(self.file, max_bytes=self.file_bytes))
            except OSError as error:
                raise Failed(
                    f"cannot write the trace to {self.file}: {error.strerror or error}"
                ) from None
        try:
            if self.live:
                sinks.append(_live(self, write))
            for sink in sinks:  # also for commands that run a plugin without a host
                sink.hide(own_keys(os.environ))
            yield sinks[0] if len(sinks) == 1 else Tee(sinks)
        finally:
            for sink in sinks:
                lost = sink.close()
                if lost is not None:
                    with contextlib.suppress(OSError):  # stderr may be the broken stream
                        complain(lost)


class _OrderedLines(io.TextIOBase):
    """A stderr whose lines are shown among those of a live trace, in the order of their making."""

    def __init__(self, live: LiveTrace) -> None:
        super().__init__()
        self._live = live
        self._begun = ""

    def write(self, text: str) -> int:
        """Take text; whole lines are shown.

        Raises:
            OSError: the terminal is too slow, and a line is lost.
        """
        *lines, self._begun = (self._begun + text).split("\n")
        lost = sum(not self._live.say(line) for line in lines)
        if lost:
            raise BlockingIOError(errno.EAGAIN, "the terminal is too slow")
        return len(text)

    def isatty(self) -> bool:
        """Whether colours can be shown."""
        return sys.stderr.isatty()


def stderr_of(sink: TraceSink | None) -> TextIO:
    """Where the program's own lines go: behind the records that a live trace has not shown yet."""
    live = live_of(sink)
    return sys.stderr if live is None else cast("TextIO", _OrderedLines(live))


def live_of(sink: TraceSink | None) -> LiveTrace | None:
    """The live trace, if messages are shown as they pass."""
    from sliphook.trace.live_sink import LiveTrace
    from sliphook.trace.record import Tee

    sinks = sink.sinks if isinstance(sink, Tee) else (sink,)
    return next((one for one in sinks if isinstance(one, LiveTrace)), None)


def _live(tracing: Tracing, write: Callable[[str], object] | None) -> LiveTrace:
    from sliphook.trace.live_sink import LiveTrace

    try:
        return LiveTrace(sys.stderr, write=write, bodies=tracing.bodies, wanted=tracing.wanted)
    except OSError as error:  # no thread for it
        raise Failed(f"cannot show the trace: {error.strerror}") from None


def trace_options(command: _F) -> _F:
    """Add the trace options; the command gets them as one parameter, `tracing: Tracing`."""

    @wraps(command)
    def with_tracing(
        *args: Any,
        trace: bool,
        verbose: bool,
        trace_filter: TraceFilter | None,
        trace_file: Path | None,
        trace_file_size: int | None,
        **others: Any,
    ) -> Any:
        live = trace or verbose or trace_filter is not None
        return command(
            *args,
            tracing=Tracing(live, verbose, trace_filter, trace_file, trace_file_size),
            **others,
        )

    options = (
        click.option("--trace", is_flag=True, help="Show every message on stderr as it passes."),
        click.option(
            "--verbose",
            "-v",
            is_flag=True,
            help="Show the trace with the messages' bodies, and what was sent to no plugin.",
        ),
        click.option(
            "--trace-filter",
            type=FilterType(),
            metavar="KEY=VALUE,…",
            help="Show the trace of some messages only: plugin=, method=, event= (patterns, several"
            " with |).",
        ),
        click.option(
            "--trace-file",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Write every message to FILE as JSON lines, in place of its old content.",
        ),
        click.option(
            "--trace-file-size",
            type=_SizeType(),
            metavar="SIZE",
            help="If FILE grows over SIZE, rename it to FILE.1 and begin a new one; three old files"
            " are kept.  [default: 100MB]",
        ),
    )
    return cast("_F", with_options(with_tracing, *options))
