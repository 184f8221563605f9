"""Pure: how large a value is, and whether the items of a list are all different."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from sliphook.errors import SliphookError

MAX_VALUES: Final = 50_000
"""The most values in what is checked, a list or an object counted as five: to count takes 4 ms."""
MAX_DEPTH: Final = 128
"""The deepest nesting, as in a message."""
MAX_BITS: Final = 1024
"""The longest integer: 308 digits, as many as the largest float has."""
_kind: Callable[[object], Any] = type
_CONTAINER: Final = 5
_WIDE_BITS: Final = 64
_LARGE: Final = 1e18
_SMALL: Final = 1e-18


class Size(NamedTuple):
    """How large a value is.

    Attributes:
        values: the values in it, itself among them; a list or an object counts for several.
        chars: characters of texts and of the names of properties.
        depth: levels below it.
        wide: there are numbers that take long to compare.
    """

    values: int
    chars: int
    depth: int
    wide: bool


class TooLarge(SliphookError):
    """There is too much to be checked; str() is for the model."""


def measure(value: Any, most: int = MAX_VALUES) -> Size:
    """Count what is in a value, level by level, in time proportional to `most`.

    Raises:
        TooLarge: there are more values than `most`, more levels or longer numbers than allowed.
    """
    values, chars, depth, wide = 1, 0, 0, False
    level: list[Any] = [value]
    while True:
        below: list[Any] = []
        for one in level:
            kind = _kind(one)
            if kind is str:
                chars += len(one)
            elif kind is dict or kind is list or kind is tuple:
                values += _CONTAINER + len(one)
                if values > most:
                    raise TooLarge("there are too many values; send fewer")
                if kind is dict:
                    chars += sum(map(len, one))
                    below.extend(one.values())
                else:
                    below.extend(one)
            elif kind is int:
                bits = one.bit_length()
                if bits > _WIDE_BITS:
                    wide = True
                    if bits > MAX_BITS:
                        raise TooLarge("a number has more than 308 digits")
            elif kind is float:
                wide = wide or not (one == 0 or _SMALL < abs(one) < _LARGE)
        if not below:
            return Size(values, chars, depth, wide)
        depth += 1
        if depth > MAX_DEPTH:
            raise TooLarge(f"they are nested deeper than {MAX_DEPTH} levels")
        level = below


def all_differ(items: list[Any]) -> bool:
    """True if no two items are equal as JSON Schema says: 1 is 1.0, and true is not 1."""
    seen: set[object] = set()
    for item in items:
        key = _key(item)
        if key in seen:
            return False
        seen.add(key)
    return True


def _key(value: Any) -> object:
    """What is equal for equal values.

    Numbers as text: texts are hashed with a secret of the process, so no one can choose a thousand
    that share one place of a table.
    """
    kind = _kind(value)
    if kind is str:
        return value
    if kind is list or kind is tuple:
        return tuple(map(_key, value))
    if kind is dict:
        return frozenset((name, _key(one)) for name, one in value.items())
    if kind is float and value.is_integer():
        value = int(value)
    return (kind is bool, repr(value))
