"""Pure: the names and descriptions that a server's tools have here, and which are left out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec

from sliphook_sdk.protocol.limits import MAX_SCHEMA_BYTES, MAX_TOOLS

MAX_DESCRIPTION_CHARS: Final = 4_000
MAX_NAME_CHARS: Final = 64


class Offered(NamedTuple):
    """A tool as its server lists it."""

    name: str
    description: str | None
    schema: dict[str, Any]


class Fitted(NamedTuple):
    """The same tool under its name here; `name` is what its server calls it."""

    tool_name: str
    name: str
    description: str
    schema: dict[str, Any]


def fit(server: str, offered: Iterable[Offered]) -> tuple[list[Fitted], list[str]]:
    """The tools that can be offered, and a line for each that cannot; the lines may be quoted."""
    fitted: dict[str, Fitted] = {}
    left_out: list[str] = []
    for tool in offered:
        name = fitted_name(tool.name)
        why = _why_not(tool, name, fitted)
        if why is None:
            text = f"[{server}] {tool.description or ''}".strip()[:MAX_DESCRIPTION_CHARS]
            fitted[name] = Fitted(name, tool.name, text, tool.schema)
        else:
            left_out.append(f"{tool.name[:MAX_NAME_CHARS]!r}: {why}")
    return list(fitted.values()), left_out


def fitted_name(name: str) -> str:
    """A name that models take: 1 to 64 of `[A-Za-z0-9_-]`, with `_` for all else; may be empty."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name[:MAX_NAME_CHARS])


def _why_not(tool: Offered, name: str, taken: dict[str, Fitted]) -> str | None:
    if not name:
        return "it has no name"
    if name in taken:
        return f"its name here, {name}, is that of {taken[name].name[:MAX_NAME_CHARS]!r} too"
    if len(taken) == MAX_TOOLS:
        return f"a plugin has at most {MAX_TOOLS} tools"
    size = len(msgspec.json.encode(tool.schema))
    if size > MAX_SCHEMA_BYTES:
        return f"its schema has {size:,} bytes; at most {MAX_SCHEMA_BYTES:,} are allowed"
    return None
