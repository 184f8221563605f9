"""Values to JSON that the host takes: UTF-8 whatever the author's strings hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from sliphook_sdk.protocol import limits
from sliphook_sdk.protocol.nesting import too_deep


def to_json(value: Any, *, unknown: Callable[[Any], Any] | None = None) -> bytes:
    r"""Encode a value.

    A lone surrogate, as names of files may hold, becomes its escape in text: `\udc80`.

    Args:
        value: what msgspec encodes.
        unknown: makes something encodable of what is not; None raises.

    Raises:
        TypeError: there is something in it that JSON cannot hold.
        ValueError: so is there.
        RecursionError: it holds itself.
    """
    try:
        return msgspec.json.encode(value, enc_hook=unknown)
    except UnicodeEncodeError:
        return msgspec.json.encode(_escaped(msgspec.to_builtins(value, enc_hook=unknown)))


def check_limits(body: bytes) -> None:
    """Check that the host takes a message: one beyond the protocol's limits would cost the connection.

    Args:
        body: the message as JSON.

    Raises:
        ValueError: it is too large or too deep; the text says by how much.
    """
    if len(body) >= limits.MAX_MESSAGE_BYTES:  # the newline behind it counts too
        raise ValueError(
            f"it has {len(body):,} bytes, and a message may have {limits.MAX_MESSAGE_BYTES:,}"
        )
    if too_deep(body):
        raise ValueError(f"it is nested too deep, and a message may have {limits.MAX_DEPTH} levels")


def _escaped(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {
            _escaped(key): _escaped(item)
            for key, item in cast("dict[object, object]", value).items()
        }
    if isinstance(value, (list, tuple)):
        return [_escaped(item) for item in cast("Sequence[object]", value)]
    return value
