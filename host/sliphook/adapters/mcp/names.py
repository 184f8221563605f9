"""Pure: the names and descriptions that a server's tools have here, and which are left out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec

from sliphook.errors import SliphookError
from sliphook.schemas import SchemaError, TooManySchemas
from sliphook_sdk.protocol.limits import MAX_MESSAGE_VALUES, MAX_SCHEMA_PARTS, MAX_TOOLS
from sliphook_sdk.protocol.weight import Weight

from .sent_schemas import sent_schema
from .transports.bounds import MAX_DESCRIPTION_CHARS

MAX_NAME_CHARS: Final = 64
MAX_ALL_BYTES: Final = 384 * 1024
"""Of all tools, which go in one message with some more for each."""
_MOST_VALUES: Final = MAX_MESSAGE_VALUES - 1_000
_MORE_VALUES: Final = 16
"""Of a tool in that message, beside its schema, at most."""
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
    left_out: dict[str, None] = {}
    budget = _Budget()
    for tool in offered:
        name = fitted_name(prefix + tool.name) if tool.name else ""
        text = f"[{server}] {tool.description or ''}".strip()[:MAX_DESCRIPTION_CHARS]
        try:
            _refuse(tool, name, fitted)
            fitted[name] = budget.spend(Fitted(name, tool.name, text, tool.schema))
        except _LeftOut as why:
            if len(left_out) < _MOST_LINES:
                left_out[f"{tool.name[:MAX_NAME_CHARS]!r}: {why}"] = None
    return list(fitted.values()), list(left_out)


class _LeftOut(SliphookError):
    """A tool cannot be offered; str() says why."""


class _Budget:
    """What the tools of a plugin may come to, all together."""

    def __init__(self) -> None:
        self._bytes = self._parts = self._values = 0

    def spend(self, tool: Fitted) -> Fitted:
        """The next tool, with its schema as the host reads it; it counts.

        Raises:
            _LeftOut: it is not taken.
        """
        if tool.schema.get("type", "object") != "object":
            raise _LeftOut("its schema must describe an object")
        try:
            schema, parts = sent_schema(tool.schema, MAX_SCHEMA_PARTS - self._parts)
        except TooManySchemas:
            raise _LeftOut(
                f"with it the tools have more than {MAX_SCHEMA_PARTS:,} schemas in them"
            ) from None
        except SchemaError as error:
            raise _LeftOut(f"its schema cannot be used: {error}") from None
        sent = tool._replace(schema=schema)
        body = msgspec.json.encode([[[sent]]])  # as deep as in that message
        weight = Weight(_MOST_VALUES)
        weight.add(body)
        if weight.excess is not None:
            raise _LeftOut(weight.excess)
        if self._bytes + len(body) > MAX_ALL_BYTES:
            raise _LeftOut(f"with it the tools have more than {MAX_ALL_BYTES:,} bytes")
        if self._values + weight.values + _MORE_VALUES > _MOST_VALUES:
            raise _LeftOut(f"with it the tools have more than {_MOST_VALUES:,} values")
        self._bytes += len(body)
        self._parts += parts
        self._values += weight.values + _MORE_VALUES
        return sent


def fitted_name(name: str) -> str:
    """A name that models take: 1 to 64 of `[A-Za-z0-9_-]`, with `_` for all else; may be empty."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name[:MAX_NAME_CHARS])


def _refuse(tool: Offered, name: str, taken: dict[str, Fitted]) -> None:
    if not name:
        raise _LeftOut("it has no name")
    if name in taken:
        other = taken[name].name[:MAX_NAME_CHARS]
        raise _LeftOut(f"its name here, {name}, is that of {other!r} too")
    if len(taken) == MAX_TOOLS:
        raise _LeftOut(f"a plugin has at most {MAX_TOOLS} tools")
