"""A summary of a trace as tables, with a bar for the time that answers took."""

from __future__ import annotations

import heapq
import math
import shutil
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sliphook.quoting import quote
from sliphook.trace.render import count, duration, size

_T = TypeVar("_T")

if TYPE_CHECKING:
    from sliphook.trace.views.summary import MethodSummary, PluginSummary, TraceSummary

__all__ = ["show_summary"]

_BAR_CHARS: Final = 18
_WIDE: Final = 100
"""A terminal with so many columns has room for the bars."""

_LEAST_MS: Final = 0.1
"""The left end of the bars; a process hardly answers faster."""

_NAME_CHARS: Final = 64

_PLUGINS: Final = 50
_ROWS: Final = 50
"""Of a plugin. A table takes 1.5 ms and a row 0.5, and a trace may have any number of names."""


def show_summary(summary: TraceSummary) -> None:
    """Print it on stdout, a table for each plugin."""
    console = Console(
        highlight=False, width=max(80, min(140, shutil.get_terminal_size((120, 24)).columns))
    )
    console.print(Text(_heading(summary), style="bold"))
    longest_ms = max(
        (row.max_ms for plugin in summary.plugins for row in plugin.rows if row.max_ms is not None),
        default=_LEAST_MS,
    )
    plugins = _most_used(
        summary.plugins, _PLUGINS, lambda plugin: sum(row.count for row in plugin.rows)
    )
    for plugin in plugins:
        console.print()
        life = _life(plugin)
        console.print(
            Text.assemble(
                (quote(plugin.name, _NAME_CHARS), "bold cyan"), "  " if life else "", life
            )
        )
        if plugin.rows:
            rows = _most_used(plugin.rows, _ROWS, lambda row: row.count)
            console.print(_table(rows, longest_ms, bars=console.width >= _WIDE))
            if len(rows) < len(plugin.rows):
                console.print(_rest(len(plugin.rows) - len(rows), "thing", "  "))
    if len(plugins) < len(summary.plugins):
        console.print()
        console.print(_rest(len(summary.plugins) - len(plugins), "plugin"))
    if console.width >= _WIDE and any(
        row.max_ms is not None for plugin in summary.plugins for row in plugin.rows
    ):
        console.print()
        scale = f"{duration(_LEAST_MS)} to {duration(max(longest_ms, _LEAST_MS))}"
        console.print(
            Text(
                "The bars: ━ to the p50, ─ to the p99, · to the longest;"
                f" their scale is logarithmic, {scale}.",
                style="dim",
            )
        )


def _most_used(all_of: Sequence[_T], most: int, used: Callable[[_T], int]) -> Sequence[_T]:
    """At most so many, those that are used most, in the order of the trace."""
    if len(all_of) <= most:
        return all_of
    chosen = heapq.nlargest(most, range(len(all_of)), key=lambda at: used(all_of[at]))
    return [all_of[at] for at in sorted(chosen)]


def _rest(number: int, what: str, indent: str = "") -> Text:
    return Text(f"{indent}and {count(number, f'other {what}')} used less; --json has all", "dim")


def _heading(summary: TraceSummary) -> str:
    words = [
        count(summary.records, "record"),
        f"{summary.seconds:,.1f} s",
        count(len(summary.plugins), "plugin"),
        count(summary.sessions, "session"),
        count(summary.turns, "turn"),
    ]
    if summary.lost:
        words.append(f"{count(summary.lost, 'record')} lost")
    return " · ".join(words)


def _life(plugin: PluginSummary) -> Text:
    """What happened to its processes; what did not happen is left out."""
    said = [
        (count(plugin.starts, "start"), plugin.starts > 1, ""),
        (count(plugin.deaths, "death"), plugin.deaths, "red"),
        (count(plugin.restarts, "restart"), plugin.restarts, "yellow"),
        (f"{count(plugin.dropped, 'message')} lost: its queue was full", plugin.dropped, "red"),
        (count(plugin.late, "late answer"), plugin.late, "yellow"),
        (f"{plugin.refused:,} refused or stray", plugin.refused, "red"),
        (
            count(plugin.stderr_lines, "line on stderr", "lines on stderr"),
            plugin.stderr_lines,
            "dim",
        ),
    ]
    return Text(", ").join(Text(words, style=style) for words, worth, style in said if worth)


def _table(rows: Sequence[MethodSummary], longest_ms: float, *, bars: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("  what", overflow="fold", min_width=25)
    for title, width in (("count", 6), ("p50", 7), ("p99", 7), ("max", 7)):
        table.add_column(title, justify="right", no_wrap=True, min_width=width)
    if bars:
        table.add_column("", no_wrap=True, min_width=_BAR_CHARS)
    table.add_column("bytes", justify="right", no_wrap=True, min_width=9)
    table.add_column("", overflow="fold")
    for row in rows:
        times = (
            Text("" if value is None else duration(value))
            for value in (row.p50_ms, row.p99_ms, row.max_ms)
        )
        bar = [_bar(row, longest_ms)] if bars else []
        table.add_row(
            Text(f"  {quote(row.what, _NAME_CHARS)}"),
            f"{row.count:,}",
            *times,
            *bar,
            size(row.bytes),
            _faults(row),
        )
    return table


def _faults(row: MethodSummary) -> Text:
    said = [
        (f"{row.timeouts:,} timed out", row.timeouts, "red"),
        (f"{row.failures:,} failed", row.failures, "red"),
        (f"{row.cancelled:,} cancelled", row.cancelled, "yellow"),
    ]
    return Text(", ").join(Text(words, style=style) for words, number, style in said if number)


def _bar(row: MethodSummary, longest_ms: float) -> Text:
    if row.p50_ms is None or row.p99_ms is None or row.max_ms is None:
        return Text("")
    p50, p99, longest = (
        _chars(value, longest_ms) for value in (row.p50_ms, row.p99_ms, row.max_ms)
    )
    return Text.assemble(
        ("━" * p50, "green"), ("─" * (p99 - p50), "yellow"), ("·" * (longest - p99), "dim")
    )


def _chars(value_ms: float, longest_ms: float) -> int:
    decades = math.log10(max(longest_ms, 10 * _LEAST_MS) / _LEAST_MS)
    part = math.log10(max(value_ms, _LEAST_MS) / _LEAST_MS) / decades
    return 1 + round(part * (_BAR_CHARS - 1))
