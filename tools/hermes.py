"""The tables of docs/hermes.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sliphook.bridges.hermes.catalogue import ABILITY_ROWS, CATALOGUE_ROWS, Mapping
from sliphook.bridges.hermes.reasons import NEW_MESSAGE, REASONS


def hermes_tables() -> dict[str, Callable[[], str]]:
    """The generated parts of docs/hermes.md."""
    return {
        "hermes catalogue": lambda: _rows("hook or event", CATALOGUE_ROWS),
        "hermes abilities": lambda: _rows("ability", ABILITY_ROWS),
        "hermes interrupts": _interrupts,
    }


def _rows(first: str, rows: Iterable[Mapping]) -> str:
    lines = [f"| {first} | from | how | |", "|---|---|---|---|"]
    lines += [f"| `{row.what}` | {row.seam} | {row.how} | {row.note} |" for row in rows]
    return "\n".join(lines)


def _interrupts() -> str:
    lines = ["| Hermes says | `reason` | `invalidation_reason` |", "|---|---|---|"]
    for message, (reason, why) in REASONS.items():
        said = f"`{message}`" if message is not None else "nothing: Ctrl+C in the terminal"
        lines.append(f"| {said} | `{reason}` | `{why}` |")
    lines.append("| `received signal N` | `signal` | `signal_N` |")
    reason, why = NEW_MESSAGE
    lines.append(f"| any other text | `{reason}` | `{why}` |")
    return "\n".join(lines)
