"""Pure: whether a Python value is exactly what JSON can carry, and if not, where it is not."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from enum import Enum
from typing import Any, cast

import msgspec

from sliphook.errors import SliphookError
from sliphook.quoting import quote
from sliphook_sdk.protocol.limits import MAX_DEPTH
from sliphook_sdk.protocol.names import doubled_in

from . import envelope
from .sendable import excess_of, too_much_of

_PLAIN = (str, bool, int, type(None))


class NotPlainJson(SliphookError):
    """The value is not what JSON can carry; str() says where, and what is there, in one line."""


def plain(value: Any) -> Any:
    """The copy of `plain_with_text`; the same errors."""
    return plain_with_text(value)[0]


def plain_with_text(value: Any) -> tuple[Any, bytes]:
    """A copy of `value` that is the same to Python and to a reader of its JSON; and that JSON.

    A tuple becomes a list, and a lone surrogate U+FFFD. All else must be there already: JSON has no
    NaN and no infinity, no bytes, dates and Decimals, no keys but strings.

    Raises:
        NotPlainJson: It has something else in it, is larger or nested deeper than a message may be,
            or has a number that no double can hold.
    """
    body = b"null"
    try:
        body = envelope.encode(value)
        excess = too_much_of(body) or excess_of(body, MAX_DEPTH)
        if excess is not None:
            raise NotPlainJson(f"$ {excess}")
        copy = msgspec.json.decode(body)
    except TypeError as error:
        copy, why = None, str(error)
    else:
        why = "it cannot be read back"
    # what msgspec turns into something else (a date into a text, NaN into null) is not equal
    if copy == value:
        return copy, body
    odd = next(_odd_parts(value, "$", 0), None)
    if odd is not None:
        raise NotPlainJson(odd)
    if copy is None and value is not None:
        raise NotPlainJson(quote(why, 200))
    return copy, body


def not_as_written(value: Any, body: bytes) -> str | None:
    """What `envelope.encode` has written otherwise without a word, and where; None if nothing.

    That is a number that JSON does not have, which became null, and a key that stands twice: 1 and
    "1".

    Args:
        value: what was encoded.
        body: the text.
    """
    doubled = doubled_in(body)
    if doubled is not None:
        return f"it has the key '{quote(doubled.name, 40)}' twice"
    if b"null" not in body:
        return None
    # what is in a `Raw` was written as JSON
    builtins = msgspec.to_builtins(value, str_keys=True, enc_hook=lambda _: None)
    try:
        # in C, and so a third of the time of a walk
        json.dumps(builtins, allow_nan=False)
    except (ValueError, RecursionError):
        return next(_odd_parts(builtins, "$", 0), None)
    return None


def copied(value: Any) -> Any:
    """A copy of what `plain` has made: what is done to it is not done to the original."""
    return msgspec.json.decode(envelope.encode(value))


def _odd_parts(value: object, path: str, depth: int) -> Iterator[str]:
    """Say what in `value` is no JSON, in order."""
    if depth > MAX_DEPTH:
        yield f"{quote(path, 80)} is nested deeper than {MAX_DEPTH} levels"
    elif isinstance(value, dict):
        for key, item in cast("dict[object, object]", value).items():
            if isinstance(key, str):
                yield from _odd_parts(item, f"{path}.{key}", depth + 1)
            else:
                kind = _an(type(key).__name__)
                yield f"{quote(path, 80)} has the key {quote(repr(key), 40)}, {kind}, not a str"
    elif isinstance(value, list | tuple):
        for index, item in enumerate(cast("list[object]", value)):
            yield from _odd_parts(item, f"{path}[{index}]", depth + 1)
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield f"{quote(path, 80)} is {value}, which JSON does not have"
    elif type(value) not in _PLAIN and not isinstance(value, Enum):
        kind = type(value).__name__
        yield f"{quote(path, 80)} is {_an(kind)}, which JSON does not have"


def _an(kind: str) -> str:
    return f"{'an' if kind[:1] in 'aeiouAEIOU' else 'a'} {kind}"
