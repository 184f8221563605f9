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
from sliphook_sdk.protocol.names import with_quotes_of_strings

from . import envelope

_ALL_ZEROS: Final = bytes.maketrans(b"123456789", b"000000000")
_TOO_MANY: Final = b"0" * (MAX_HOST_DIGITS + 1)
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NOT_MARKS: Final = bytes(set(range(256)) - set(b'"[{]}'))
_TWO_BYTES: Final = b'"\\\b\t\n\f\r'
_SIX_BYTES: Final = bytes(set(range(0x20)) - set(_TWO_BYTES))
_ROUNDS: Final = 8
"""Each takes away a level at least: most values have no more."""


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


def bytes_in_json(text: str) -> int:
    """How many bytes `envelope.encode` makes of a text, which it takes three times as long to do.

    Args:
        text: has no lone surrogates.
    """
    data = text.encode()
    # what is escaped has as much more
    once = len(data) - len(data.translate(None, _TWO_BYTES))
    five_times = len(data) - len(data.translate(None, _SIX_BYTES))
    return len(data) + once + 5 * five_times + 2


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
    goes too far with them: 1 ns a byte, and 4 then, however many strings there are.
    """
    deep = body.count(b"[") + body.count(b"{") > levels
    wide = _TOO_MANY in body.translate(_ALL_ZEROS)
    if not deep and not wide:
        return None
    bare = with_quotes_of_strings(body)
    if deep and _is_deeper(bare, levels):
        return f"is nested deeper than {levels} levels"
    if wide and _has_long_number(bare):
        return f"has a number of more than {MAX_HOST_DIGITS} digits"
    return None


def _is_deeper(bare: bytes, levels: int) -> bool:
    # two quotes with nothing between them tell nothing of what is before and behind
    marks = bare.translate(None, _NOT_MARKS).replace(b'""', b"")
    brackets = b"".join(marks.split(b'"')[::2])
    left = brackets
    for done in range(_ROUNDS):
        # there are as many levels as rounds, two for each, and what is left
        if len(left) // 2 + 2 * done <= levels:
            return False
        left = left.replace(b"{}", b"").replace(b"[]", b"")
    return max(accumulate(array("b", brackets.translate(_STEPS))), default=0) > levels


def _has_long_number(bare: bytes) -> bool:
    zeros = bare.translate(_ALL_ZEROS)
    looked, in_string = 0, 0
    while (at := zeros.find(_TOO_MANY, looked)) >= 0:
        in_string ^= bare.count(b'"', looked, at) % 2
        if not in_string:
            return True
        looked = bare.find(b'"', at)
    return False
