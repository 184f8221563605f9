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
_ONE_KIND: Final = bytes.maketrans(b"{}", b"[]")
_STEPS: Final = bytes.maketrans(b"[]", b"\x01\xff")
_NOT_BRACKETS: Final = bytes(set(range(256)) - set(b"[{]}"))
_NOT_MARKS: Final = bytes(set(range(256)) - set(b'"[{]}'))
_TWO_BYTES: Final = b'"\\\b\t\n\f\r'
_SIX_BYTES: Final = bytes(set(range(0x20)) - set(_TWO_BYTES))
_LARGE: Final = 256 * 1024
"""A text of so many bytes nearly always has some brackets."""
_FEW_BRACKETS: Final = 200_000
"""So many are counted up and down in Python, at 20 ns each."""
_MAX_BRACKETS: Final = 1_000_000
"""Of all rounds together; each takes a level away, at 2 to 5 ns a bracket."""
_MAX_STRINGS: Final = 100_000
"""With brackets in them; they are cut out one by one."""


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

    It is looked through by passes in C: 1 ns a byte, and 4 to 5 if it has many brackets or digits.
    If those are too many to be looked through in 20 ms, it counts as too deep: that is a million
    brackets that are no part of strings, less if many of them are deep, or 100,000 strings with
    brackets between them. A text of no more than `MAX_MESSAGE_VALUES` never has so many.
    """
    if len(body) <= min(2 * levels, MAX_HOST_DIGITS):
        return None
    # not `count`, which takes several times as long if there are many
    deep = len(body) > _LARGE or len(body.translate(None, _NOT_BRACKETS)) > 2 * levels
    if deep and _is_deeper(with_quotes_of_strings(body), levels):
        return f"is nested deeper than {levels} levels"
    wide = _TOO_MANY in body.translate(_ALL_ZEROS)
    if wide and _has_long_number(with_quotes_of_strings(body)):
        return f"has a number of more than {MAX_HOST_DIGITS} digits"
    return None


def _is_deeper(bare: bytes, levels: int) -> bool:
    marks = bare.translate(_ONE_KIND, _NOT_MARKS)
    if marks.count(b'"') > 2 * _MAX_STRINGS:
        # two quotes with nothing between them tell nothing of what is before and behind
        marks = marks.replace(b'""', b"")
        if marks.count(b'"') > 2 * _MAX_STRINGS:
            return True
    left = b"".join(marks.split(b'"')[::2])
    taken, looked = 0, 0
    while taken + len(left) // 2 > levels:
        if len(left) <= _FEW_BRACKETS:
            return taken + max(accumulate(array("b", left.translate(_STEPS)))) > levels
        looked += len(left)
        if looked > _MAX_BRACKETS:
            return True
        # the innermost ones: exactly one level of what is left
        left = left.replace(b"[]", b"")
        taken += 1
    return False


def _has_long_number(bare: bytes) -> bool:
    zeros = bare.translate(_ALL_ZEROS)
    looked, in_string = 0, 0
    while (at := zeros.find(_TOO_MANY, looked)) >= 0:
        in_string ^= bare.count(b'"', looked, at) % 2
        if not in_string:
            return True
        looked = bare.find(b'"', at)
    return False
