"""The tables of docs/agents.md, made from the dialects of `sliphook.adapters`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from sliphook.adapters.dialects.dialect import Dialect, DialectEntry, Effect
from sliphook.adapters.dialects.known import DIALECTS
from sliphook_sdk.protocol import CATALOGUE

_SIGNS: Final = {"exact": "exact", "approximate": "about", "impossible": "no"}


def agent_tables() -> dict[str, Callable[[], str]]:
    """The tables by the names of their markers."""
    return {
        "agents": _overview,
        **{f"agent {name}": partial(_table, dialect) for name, dialect in DIALECTS.items()},
    }


def _overview() -> str:
    heads = ["entry", *(dialect.title for dialect in DIALECTS.values())]
    rows = [
        [f"`{ours}`", *(_SIGNS[dialect.entry(ours).how] for dialect in DIALECTS.values())]
        for ours in CATALOGUE
    ]
    seen = ["tried with", *(dialect.seen for dialect in DIALECTS.values())]
    return _lines([heads, ["---"] * len(heads), seen, *rows])


def _table(dialect: Dialect) -> str:
    heads = ["entry", "how", "made of", "limits", "answers"]
    rows = [_row(entry) for entry in dialect.entries]
    return _lines([heads, ["---"] * len(heads), *rows])


def _row(entry: DialectEntry) -> list[str]:
    theirs = ", ".join(f"`{event}`" for event in entry.theirs)
    answers = "; ".join(f"`{name}` {_effect(effect)}" for name, effect in entry.answers.items())
    return [f"`{entry.ours}`", _SIGNS[entry.how], theirs, entry.limits, answers]


def _effect(effect: Effect) -> str:
    words = effect.limits.rstrip(".")
    return f"{_SIGNS[effect.how]} ({words})" if words else _SIGNS[effect.how]


def _lines(rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
