"""What a fake plugin may be told to answer, besides the answer itself."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

import msgspec


class Misbehaviour(enum.Enum):
    """In the place of an answer."""

    HANGS = "never answers; the plugin goes on reading"
    CRASHES = "the plugin dies"


HANGS: Final = Misbehaviour.HANGS
"""Never answer this request."""

CRASHES: Final = Misbehaviour.CRASHES
"""Die in the place of answering."""


class After(msgspec.Struct, frozen=True):
    """Answer late: `After(2.0, {"decision": "deny"})`. A cancel is obeyed while it waits."""

    seconds: float
    reply: Reply = None


class Fails(msgspec.Struct, frozen=True):
    """Answer an error, in the words of `message`."""

    message: str
    code: int = -32603


class Raw(msgspec.Struct, frozen=True):
    """Write these bytes in the place of an answer."""

    data: bytes


Reply: TypeAlias = (
    "dict[str, Any] | msgspec.Struct | str | list[Any] | Misbehaviour | After | Fails | Raw | None"
)
"""A result as it stands in JSON, a Struct of the protocol such as `Answer` or `ToolResult`, or how there will be none."""

Handler: TypeAlias = "Callable[[Any], Reply | Awaitable[Reply]]"
"""Takes what the request is about, gives the reply; may be async.

What it raises is answered as an error.
"""
