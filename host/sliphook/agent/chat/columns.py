"""Pure: names and what they mean, below each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_COLUMN_CHARS: Final = 24
"""The widest first column: a longer name does not move the second one."""


def columns(rows: Iterable[tuple[str, str]]) -> str:
    """The rows as lines, the second column below itself."""
    rows = list(rows)
    width = min(max((len(first) for first, _ in rows), default=0), _COLUMN_CHARS)
    return "\n".join(f"{first:<{width}}  {second}" for first, second in rows)
