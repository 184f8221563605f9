"""The table: a row a promise, with its verdict."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from sliphook_sdk.spin_wait import processors

from .measuring import Contestant, Measured


@dataclass(frozen=True)
class Row:
    """One promise and what was measured.

    Attributes:
        what: what was done.
        measured: how often the yardstick it took.
        yardstick: by what it is divided, or the unit.
        limit: what it may be.
        sense: whether `limit` is the most or the least.
        absolute: the measured thing itself with its unit, for people.
    """

    what: str
    measured: Measured
    yardstick: str
    limit: float
    sense: Literal["most", "least"] = "most"
    absolute: str = ""

    @property
    def kept(self) -> bool:
        """The promise is kept, judged by the median."""
        return (
            self.measured.value <= self.limit
            if self.sense == "most"
            else self.measured.value >= self.limit
        )


@dataclass(frozen=True)
class Skipped:
    """A promise that cannot be measured here, and why."""

    what: str
    why: str


def as_data(rows: list[Row | Skipped], contestants: list[Contestant]) -> dict[str, Any]:
    """All of it, for programs."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": processors(),
        "contestants": [
            {
                "name": one.name,
                "p50_us": one.p50_us(),
                "p99_us": one.p99_us(),
                "rounds_p50_us": one.medians_us(),
            }
            for one in contestants
        ],
        "rows": [
            {**asdict(row), "kept": row.kept}
            if isinstance(row, Row)
            else {**asdict(row), "kept": None}
            for row in rows
        ],
    }


def show(rows: list[Row | Skipped], contestants: list[Contestant], console: Console) -> None:
    """All of it, for people."""
    if contestants:
        console.print(_contestants(contestants))
        floor = sorted(contestants[0].medians_us())
        console.print(
            f"The floor's p50 lay between {floor[0]:.0f} and {floor[-1]:.0f} us from round "
            "to round. "
            "Ratios are taken within a round; the range is that of nine rounds of ten.\n"
        )
    table = Table(title="What is promised", title_justify="left")
    for heading, justify in (
        ("what", "left"),
        ("measured", "right"),
        ("range", "right"),
        ("must be", "right"),
        ("", "left"),
    ):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for row in rows:
        if isinstance(row, Skipped):
            table.add_row(row.what, "", "", row.why, "not measured")
            continue
        number = row.measured
        sign = "<=" if row.sense == "most" else ">="
        table.add_row(
            row.what + (f"\n[dim]{row.absolute}[/dim]" if row.absolute else ""),
            f"{short(number.value)} {row.yardstick}",
            f"{short(number.low)} – {short(number.high)}",
            f"{sign} {short(row.limit)}",
            "[green]kept[/green]" if row.kept else "[red]missed[/red]",
        )
    console.print(table)
    counted = [row for row in rows if isinstance(row, Row)]
    console.print(
        f"{sum(row.kept for row in counted)} of {len(counted)} kept on {processors()} cores, "
        f"Python {platform.python_version()}."
    )


def _contestants(contestants: list[Contestant]) -> Table:
    table = Table(title="One pre_tool_call, in turns", title_justify="left")
    for heading in ("", "p50 us", "p99 us", "x floor"):
        table.add_column(heading, justify="right" if heading else "left")
    floor = contestants[0].p50_us()
    for one in contestants:
        p50 = one.p50_us()
        table.add_row(one.name, f"{p50:,.1f}", f"{one.p99_us():,.1f}", short(p50 / floor))
    return table


def short(number: float) -> str:
    """Three digits that matter."""
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"
