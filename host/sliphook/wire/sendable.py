"""Pure: what a message to a plugin never holds, so that small readers in any language take it.

That is nesting without end, and numbers that no double can hold. Models write such values, and so
do agents; what a plugin writes is bounded where it is read.
"""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import Any, Final

from sliphook_sdk.protocol.limits import (
    MAX_DEPTH,
    MAX_HOST_DIGITS,
    MAX_HOST_MESSAGE_BYTES,
    MAX_MESSAGE_VALUES,
)
from sliphook_sdk.protocol.names import split_at_quotes

from . import envelope

_ALL_ZEROS: Final = bytes.maketrans(b"123456789", b"000000000")
_TOO_MANY: Final = b"0" * (MAX_HOST_DIGITS + 1)
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NOT_BRACKETS: Final = bytes(set(range(256)) - set(b"[{]}"))


def encode_value(value: Any) -> bytes:
    """What `envelope.encode` makes of a value that stands somewhere in a message.

    Raises:
        TypeError: as there, or the value is too large or too deep, or has too long a number. The
            caller's fault.
    """
    body = envelope.encode(value)
    excess = too_much_of(body) or excess_of(body, MAX_DEPTH)
    if excess is not None:
        raise TypeError(f"{type(value).__name__} cannot be encoded: it {excess}")
    return body


def too_much_of(body: bytes) -> str | None:
    """What a JSON text that `envelope.encode` has written has too much of, as a verb, or None.

    It is looked through as in `excess_of`.
    """
    if len(body) > MAX_HOST_MESSAGE_BYTES:
        return f"has {len(body):,} bytes, over {MAX_HOST_MESSAGE_BYTES:,}"
    if _values_in(body) < MAX_MESSAGE_VALUES:
        return None
    bare = body.replace(rb"\\", b"").replace(rb"\"", b"") if b"\\" in body else body
    # each string is one of the values: more of them are not cut apart
    too_many = bare.count(b'"') > 2 * MAX_MESSAGE_VALUES
    if too_many or _values_in(b'""'.join(bare.split(b'"')[::2])) >= MAX_MESSAGE_VALUES:
        return f"has more than {MAX_MESSAGE_VALUES:,} values"
    return None


def _values_in(text: bytes) -> int:
    """As `weight.Weight` counts them, less one; more if there are strings in the text."""
    empty = text.count(b"[]") + text.count(b"{}")
    return sum(map(text.count, (b",", b":", b"[", b"{"))) - empty


def excess_of(body: bytes, levels: int) -> str | None:
    """What a JSON text that `envelope.encode` has written does too much of, as a verb, or None.

    It is looked through by passes in C, and its strings are told from the rest only if the text
    goes too far with them: 1 ns a byte, and 4 then.
    """
    deep = body.count(b"[") + body.count(b"{") > levels
    wide = _TOO_MANY in body.translate(_ALL_ZEROS)
    if not deep and not wide:
        return None
    outside = b'""'.join(split_at_quotes(body)[::2])
    steps = array("b", outside.translate(_STEPS, _NOT_BRACKETS))
    if max(accumulate(steps), default=0) > levels:
        return f"is nested deeper than {levels} levels"
    if _TOO_MANY in outside.translate(_ALL_ZEROS):
        return f"has a number of more than {MAX_HOST_DIGITS} digits"
    return None
