"""Pure: values to JSON that the host accepts, valid UTF-8 for any string of the author."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import msgspec

from sliphook_sdk.protocol import limits
from sliphook_sdk.protocol.weight import weigh


def to_json(value: Any, *, unknown: Callable[[Any], Any] | None = None) -> bytes:
    r"""Encode a value.

    A lone surrogate, which a file name may contain, becomes its escape as text: `\udc80`. A text or
    a number of a class of its own, such as numpy's `float64`, is written as what it is.

    Args:
        value: anything that msgspec encodes.
        unknown: converts a value that msgspec cannot encode; if None, such a value raises.

    Raises:
        TypeError: the value contains something that JSON cannot hold.
        ValueError: the same.
        RecursionError: the value contains itself.
    """
    hook = partial(_plain, unknown)
    try:
        return msgspec.json.encode(value, enc_hook=hook)
    except UnicodeEncodeError:
        return msgspec.json.encode(_escaped(msgspec.to_builtins(value, enc_hook=hook)))


def _plain(unknown: Callable[[Any], Any] | None, value: object) -> Any:
    """What msgspec, which takes exact types alone, cannot encode, as something that it can."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if unknown is None:
        raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")
    return unknown(value)


def check_limits(body: bytes, method: str) -> None:
    """Check that a message keeps the protocol's limits; beyond them the host refuses it.

    Args:
        body: the message as JSON.
        method: the method; for an answer that of the host's request.

    Raises:
        ValueError: the message is too large, or has too much in it; the text says by how much, and
            what to do instead.
    """
    limit = limits.message_limit(method)
    weight = weigh(body)
    # the newline after the body counts too
    why = weight.excess or limit.why_not(len(body) + 1, weight.values)
    if why is not None:
        raise ValueError(why)


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
