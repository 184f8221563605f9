"""The tables of docs/foreign-hooks.md, made from the tables of `sliphook.adapters`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from sliphook.adapters.dialects.hosted.hosted import Hosted, HostedEvent
from sliphook.adapters.dialects.hosted.known import SYSTEMS

_SIGNS: Final = {"exact": "exact", "approximate": "about", "impossible": "no"}
_LONG: Final = ("docker-agent", "agent-code")


def foreign_tables() -> dict[str, Callable[[], str]]:
    """The tables by the names of their markers."""
    return {
        "hooks": _overview,
        **{
            f"hooks of {name}": partial(_long if name in _LONG else _short, system)
            for name, system in SYSTEMS.items()
        },
    }


def _overview() -> str:
    heads = ["system", "made from", "hooks of one event", "matcher", "a hook that fails"]
    rows = [
        [
            system.title,
            system.seen,
            "one after the other" if system.sequential else "side by side",
            system.rule,
            system.failure,
        ]
        for system in SYSTEMS.values()
    ]
    return _lines([heads, ["---"] * len(heads), *rows])


def _long(system: Hosted) -> str:
    heads = ["event", "how", "from", "limits", "stdin beside the common fields", "answers"]
    return _lines([heads, ["---"] * len(heads), *map(_long_row, system.events)])


def _long_row(row: HostedEvent) -> list[str]:
    fields = ", ".join(
        f"`{name}` (no: {_plain(row.missing[name])})" if name in row.missing else f"`{name}`"
        for name in row.fields
    )
    return [*_short_row(row)[:4], fields, _answers(row)]


def _short(system: Hosted) -> str:
    heads = ["event", "how", "from", "limits", "answers"]
    return _lines([heads, ["---"] * len(heads), *map(_short_row, system.events)])


def _short_row(row: HostedEvent) -> list[str]:
    ours = f"`{row.ours}`" if row.ours else ""
    return [f"`{row.theirs}`", _SIGNS[row.how], ours, row.limits, _answers(row)]


def _answers(row: HostedEvent) -> str:
    return "; ".join(
        f"`{name}` {_SIGNS[effect.how]}" + (f" ({_plain(effect.limits)})" if effect.limits else "")
        for name, effect in row.answers.items()
    )


def _plain(words: str) -> str:
    return words.rstrip(".")


def _lines(rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
