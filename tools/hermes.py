"""The tables of docs/hermes.md."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from sliphook.adapters.dialects.toolnames import HERMES
from sliphook.bridges.hermes.catalogue import ABILITY_ROWS, API_ROWS, CATALOGUE_ROWS, Mapping
from sliphook.bridges.hermes.reasons import BY_HAND, NEW_MESSAGE, REASONS, Why

HEARD: Final = Path(__file__).parent.parent / "tests/bridges/hermes/real/heard.json"
"""Written by a run of `make test-hermes` with SLIPHOOK_HERMES_TABLE=1."""


def hermes_tables() -> dict[str, Callable[[], str]]:
    """The generated parts of docs/hermes.md."""
    return {
        "hermes catalogue": lambda: _rows("hook or event", CATALOGUE_ROWS),
        "hermes abilities": lambda: _rows("ability", ABILITY_ROWS),
        "hermes apis": lambda: _rows("API", API_ROWS),
        "hermes kinds": _kinds,
        "hermes interrupts": _interrupts,
        "hermes heard": _heard,
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


def _heard() -> str:
    lines = [
        "| where | what a person does | while | the plugin hears, and when |",
        "|---|---|---|---|",
    ]
    for row in json.loads(HEARD.read_text(encoding="utf-8")):
        told = (f"`{said.partition(' ')[0]}`{_detail(said)} {ms} ms" for said, ms in row["heard"])
        lines.append(f"| {row['where']} | {row['did']} | {row['when']} | {', '.join(told)} |")
    return "\n".join(lines)


def _detail(said: str) -> str:
    detail = said.partition(" ")[2]
    return f" ({detail})" if detail else ""
