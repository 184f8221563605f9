"""The table of docs/performance.md, from what `--json` gave: one column a run."""

from __future__ import annotations

from typing import Any

from .table import short


def as_markdown(runs: list[dict[str, Any]]) -> str:
    """The rows that all runs have in common; a promise is kept where each run says so."""
    titles = [f"run {number}" for number in range(1, len(runs) + 1)] if len(runs) > 1 else ["measured"]
    lines = [_line("what", "must be", *titles, ""), _line("---", *["---:"] * (len(runs) + 1), "---")]
    by_run = [{row["what"]: row for row in run["rows"]} for run in runs]
    for what in by_run[0]:
        rows = [found[what] for found in by_run if what in found]
        measured = [row for row in rows if row["kept"] is not None]
        if len(measured) < len(runs):
            lines.append(_line(what, "", *["not measured"] * len(runs), ""))
            continue
        first = measured[0]
        limit = f"{'≤' if first['sense'] == 'most' else '≥'} {short(first['limit'])} {first['yardstick']}"
        kept = sum(row["kept"] for row in measured)
        verdict = "kept" if kept == len(runs) else "**missed**" if not kept else f"**kept in {kept} of {len(runs)}**"
        lines.append(_line(what, limit, *(short(row["measured"]["value"]) for row in measured), verdict))
    cores = " and ".join(sorted({f"{run['cores']} cores, {run['system']}, Python {run['python']}" for run in runs}))
    return "\n".join([*lines, "", f"On {cores}."])


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
