"""The tables of docs/performance.md, from what `--json` gave: one column a run."""

from __future__ import annotations

from typing import Any

from .table import short


def as_markdown(runs: list[dict[str, Any]]) -> str:
    """The promises, and how often the floor each way of asking takes.

    A promise is kept where each run says so.
    """
    titles = (
        [f"run {number}" for number in range(1, len(runs) + 1)] if len(runs) > 1 else ["measured"]
    )
    cores = " and ".join(
        sorted({f"{run['cores']} cores, {run['system']}, Python {run['python']}" for run in runs})
    )
    return "\n".join([*_promises(runs, titles), "", f"On {cores}.", *_contestants(runs, titles)])


def _promises(runs: list[dict[str, Any]], titles: list[str]) -> list[str]:
    lines = [
        _line("what", "must be", *titles, ""),
        _line("---", *["---:"] * (len(runs) + 1), "---"),
    ]
    by_run = [{row["what"]: row for row in run["rows"]} for run in runs]
    for what in by_run[0]:
        rows = [found[what] for found in by_run if what in found]
        measured = [row for row in rows if row["kept"] is not None]
        if len(measured) < len(runs):
            lines.append(_line(what, "", *["not measured"] * len(runs), ""))
            continue
        first = measured[0]
        limit = (
            f"{'≤' if first['sense'] == 'most' else '≥'} {short(first['limit'])} "
            f"{first['yardstick']}"
        )
        kept = sum(row["kept"] for row in measured)
        verdict = (
            "kept"
            if kept == len(runs)
            else "**missed**"
            if not kept
            else f"**kept in {kept} of {len(runs)}**"
        )
        lines.append(
            _line(what, limit, *(short(row["measured"]["value"]) for row in measured), verdict)
        )
    return lines


def _contestants(runs: list[dict[str, Any]], titles: list[str]) -> list[str]:
    if not all(run["contestants"] for run in runs):
        return []
    lines = [
        "",
        _line("one `pre_tool_call`, p50 in floors", *titles),
        _line("---", *["---:"] * len(runs)),
    ]
    for place, one in enumerate(runs[0]["contestants"][1:], 1):
        p50s = [
            run["contestants"][place]["p50_us"] / run["contestants"][0]["p50_us"] for run in runs
        ]
        lines.append(_line(one["name"], *map(short, p50s)))
    return lines


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
