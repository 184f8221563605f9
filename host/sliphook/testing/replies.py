"""What a fake plugin can answer, beside a usual answer."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

import msgspec


class Misbehaviour(enum.Enum):
    """What a fake plugin does instead of an answer."""

    HANGS = "never answers; the plugin goes on reading"
    CRASHES = "the plugin dies"


HANGS: Final = Misbehaviour.HANGS
"""Never answer this request."""

CRASHES: Final = Misbehaviour.CRASHES
"""Die instead of an answer."""


class After(msgspec.Struct, frozen=True):
    """Answer late: `After(2.0, {"decision": "deny"})`. A cancel ends the wait."""

    seconds: float
    reply: Reply = None


class Fails(msgspec.Struct, frozen=True):
    """Answer an error with this message."""

    message: str
    code: int = -32603


class Raw(msgspec.Struct, frozen=True):
    """Write these bytes instead of an answer."""

    data: bytes


Reply: TypeAlias = (
    "dict[str, Any] | msgspec.Struct | str | list[Any] | Misbehaviour | After | Fails | Raw | None"
)
"""A result as in JSON, a Struct of the protocol such as `ToolResult`, or a misbehaviour."""

Handler: TypeAlias = "Callable[[Any], Reply | Awaitable[Reply]]"
"""Gets the payload, arguments or text of a request and returns the reply; may be async.

An exception is answered as an error.
"""
