"""The tables of docs/hermes.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sliphook.adapters.dialects.toolnames import HERMES
from sliphook.bridges.hermes.catalogue import ABILITY_ROWS, API_ROWS, CATALOGUE_ROWS, Mapping
from sliphook.bridges.hermes.reasons import BY_HAND, NEW_MESSAGE, REASONS, Why


def hermes_tables() -> dict[str, Callable[[], str]]:
    """The generated parts of docs/hermes.md."""
    return {
        "hermes catalogue": lambda: _rows("hook or event", CATALOGUE_ROWS),
        "hermes abilities": lambda: _rows("ability", ABILITY_ROWS),
        "hermes apis": lambda: _rows("API", API_ROWS),
        "hermes kinds": _kinds,
        "hermes interrupts": _interrupts,
    }


def _rows(first: str, rows: Iterable[Mapping]) -> str:
    lines = [f"| {first} | from | how | |", "|---|---|---|---|"]
    lines += [f"| `{row.what}` | {row.seam} | {row.how} | {row.note} |" for row in rows]
    return "\n".join(lines)


def _kinds() -> str:
    found: dict[str, list[str]] = {}
    for name, kind in HERMES.kinds.items():
        found.setdefault(kind, []).append(f"`{name}`")
    found["mcp"] = [f"all that begin with `{HERMES.mcp_prefix}`"]
    lines = ["| `tool_kind` | tools |", "|---|---|"]
    lines += [f"| `{kind}` | {', '.join(names)} |" for kind, names in found.items()]
    return "\n".join(lines)


def _interrupts() -> str:
    lines = ["| Hermes says | `reason` | `invalidation_reason` |", "|---|---|---|"]
    for message, why in REASONS.items():
        said = f"`{message}`" if message is not None else "nothing: Ctrl+C in the terminal"
        lines.append(_interrupt(said, why))
    lines.append(_interrupt("`received signal N`", ("signal", "signal_N")))
    lines.append(_interrupt("`Interrupted via TUI (ID)`", BY_HAND))
    lines.append(_interrupt("any other text", NEW_MESSAGE))
    return "\n".join(lines)


def _interrupt(said: str, why: Why) -> str:
    return f"| {said} | `{why[0]}` | `{why[1]}` |"
