"""Pure: the names and descriptions that a server's tools have here, and which are left out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec

from sliphook.schemas import SchemaError, TooManySchemas, check_schema
from sliphook_sdk.protocol.limits import MAX_SCHEMA_BYTES, MAX_SCHEMA_PARTS, MAX_TOOLS

MAX_DESCRIPTION_CHARS: Final = 4_000
MAX_NAME_CHARS: Final = 64
MAX_ALL_BYTES: Final = 256 * 1024
_MOST_LINES: Final = 20


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


def fit(
    server: str, offered: Iterable[Offered], prefix: str = ""
) -> tuple[list[Fitted], list[str]]:
    """The tools that can be offered, and a line for each that cannot; the lines may be quoted.

    Args:
        server: the server's name, for the model.
        offered: its tools.
        prefix: stands before the name of each.
    """
    fitted: dict[str, Fitted] = {}
    left_out: list[str] = []
    budget = _Budget()
    for tool in offered:
        name = fitted_name(prefix + tool.name) if tool.name else ""
        why = _why_not(tool, name, fitted) or budget.why_not(tool.schema)
        if why is None:
            text = f"[{server}] {tool.description or ''}".strip()[:MAX_DESCRIPTION_CHARS]
            fitted[name] = Fitted(name, tool.name, text, tool.schema)
        elif len(left_out) < _MOST_LINES:
            left_out.append(f"{tool.name[:MAX_NAME_CHARS]!r}: {why}")
    return list(fitted.values()), left_out


class _Budget:
    """What the schemas of a plugin may come to, all together."""

    def __init__(self) -> None:
        self._bytes = self._parts = 0

    def why_not(self, schema: dict[str, Any]) -> str | None:
        """Why the next schema is not taken, or None; then it counts."""
        sent = msgspec.json.encode(schema)
        size = len(sent)
        if size > MAX_SCHEMA_BYTES:
            return f"its schema has {size:,} bytes; at most {MAX_SCHEMA_BYTES:,} are allowed"
        if self._bytes + size > MAX_ALL_BYTES:
            return f"with it the schemas have more than {MAX_ALL_BYTES:,} bytes"
        if schema.get("type", "object") != "object":
            return "its schema must describe an object"
        try:
            # as the host reads it: an infinite number has become null
            self._parts += check_schema(msgspec.json.decode(sent), MAX_SCHEMA_PARTS - self._parts)
        except TooManySchemas:
            return f"with it the tools have more than {MAX_SCHEMA_PARTS:,} schemas in them"
        except SchemaError as error:
            return f"its schema cannot be used: {error}"
        self._bytes += size
        return None


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
    return None
