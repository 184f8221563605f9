"""The benchmark still runs: every part once, with tiny counts.

What it measures does not matter here.
"""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any, Literal

import pytest
import trio
from rich.console import Console

from tests.bench.__main__ import PARTS, measure
from tests.bench.markdown import as_markdown
from tests.bench.measuring import PROC, TINY, Contestant, Measured, measured, quantile, ratio
from tests.bench.peer_calls import HAS_MCP
from tests.bench.table import Row, Skipped, as_data, show
from tests.bench.workshop import Workshop

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None, reason="no C compiler; the floor's child and most plugins are in C"
)

PART_S = 480.0
ROWS = {
    "hook": 13,
    "at-once": 2,
    "told": 1,
    "interrupts": 2,
    "memory": 2,
    "starts": 2,
    "help": 1,
    "attached": 8,
    "long": 2,
    "mcp": 4,
    "served": 2,
}


@pytest.mark.parametrize("part", ROWS)
async def test_every_part_gives_its_rows(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    with trio.fail_after(PART_S):
        rows, contestants = await measure(TINY, [part], lambda part: None)
    assert len(rows) == ROWS[part]
    if PROC and HAS_MCP:
        assert [row.what for row in rows if isinstance(row, Skipped)] == []
    for row in rows:
        # with so few plugins what memory grows by may be less than what two starts differ by
        if isinstance(row, Row) and "memory" not in row.what:
            assert row.measured.value > 0, row
    assert len(contestants) == (22 + HAS_MCP + bool(shutil.which("node")) if part == "hook" else 0)
    assert json.loads(json.dumps(as_data(rows, contestants)))["rows"][0]["what"] == rows[0].what
    page = io.StringIO()
    show(rows, contestants, Console(file=page, width=200))
    assert rows[-1].what.split(",")[0] in page.getvalue()
    assert capsys.readouterr().out == ""


def test_every_part_is_tried_here() -> None:
    assert set(ROWS) == {"hook", *PARTS}


def test_a_ratio_is_taken_round_by_round() -> None:
    # a machine twice as slow in the second round: both rounds say 2
    assert ratio([20.0, 40.0], [10.0, 20.0]) == Measured(value=2.0, low=2.0, high=2.0, best=2.0)


@pytest.mark.parametrize(
    ("count", "share", "value"),
    [(100, 0.99, 99), (100, 0.5, 50), (10, 0.99, 10), (3, 0.0, 1), (1, 1.0, 1)],
)
def test_a_quantile_is_one_of_the_values_and_not_the_one_after(
    count: int, share: float, value: int
) -> None:
    assert quantile(range(count, 0, -1), share) == value


@pytest.mark.parametrize(
    ("value", "sense", "kept"),
    [(2.0, "most", True), (2.1, "most", False), (2.0, "least", True), (1.9, "least", False)],
)
def test_a_verdict_is_the_median_against_the_limit(
    value: float, sense: Literal["most", "least"], kept: bool
) -> None:
    assert Row("it", measured([0.1, value, 9.0]), "x", 2.0, sense).kept is kept


async def test_a_contestant_with_a_small_share_still_runs() -> None:
    async def once() -> None:
        pass

    one = Contestant("it", once, share=0.01)
    await one.run(10)
    assert len(one.rounds_us[0]) == 1


@pytest.mark.parametrize("kind", ["sync", "coroutine"])
def test_copies_of_a_plugin_are_programs(kind: str, tmp_path: Path) -> None:
    (path,) = Workshop(tmp_path).python(kind, ["one"])
    assert path.read_text().startswith("#!")
    assert path.stat().st_mode & 0o111 == 0o111


def run_of(value: float) -> dict[str, Any]:
    async def once() -> None: ...

    contestants = [
        Contestant("floor", once, rounds_us=[[10.0]]),
        Contestant("a hook", once, rounds_us=[[10.0 * value]]),
    ]
    return as_data(
        [Row("one hook", measured([value]), "x floor", 2.5), Skipped("memory", "needs /proc")],
        contestants,
    )


def test_the_page_s_tables_have_a_column_a_run() -> None:
    lines = as_markdown([run_of(2.3451), run_of(2.5), run_of(3.0)]).splitlines()
    assert lines[:4] == [
        "| what | must be | run 1 | run 2 | run 3 |  |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
        "| one hook | ≤ 2.5 x floor | 2.35 | 2.5 | 3 | **kept in 2 of 3** |",
        "| memory |  | not measured | not measured | not measured |  |",
    ]
    assert lines[7:10] == [
        "| one `pre_tool_call`, p50 in floors | run 1 | run 2 | run 3 |",
        "| --- | ---: | ---: | ---: |",
        "| a hook | 2.35 | 2.5 | 3 |",
    ]


@pytest.mark.parametrize(
    ("value", "line"),
    [(2.0, "≤ 2.5 x floor | 2 | kept |"), (9.0, "≤ 2.5 x floor | 9 | **missed** |")],
)
def test_a_single_run_s_verdict(value: float, line: str) -> None:
    assert as_markdown([run_of(value)]).splitlines()[2] == f"| one hook | {line}"
