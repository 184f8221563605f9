"""Pure: how large a value is, and whether the items of a list are all different."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, cast

MAX_VALUES: Final = 50_000
"""The most values in what is checked; to count them takes 3 ms."""
MAX_DEPTH: Final = 128
"""The deepest nesting, as in a message."""
MAX_BITS: Final = 1024
"""The longest integer: 308 digits, as many as the largest float has."""
_WIDE_BITS: Final = 64
_LARGE: Final = 1e18
_SMALL: Final = 1e-18


class Size(NamedTuple):
    """How large a value is.

    Attributes:
        values: the values in it, itself among them.
        chars: characters of texts and of the names of properties.
        depth: levels below it.
        wide: there are numbers that take long to compare.
    """

    values: int
    chars: int
    depth: int
    wide: bool


class TooLarge(Exception):
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
            kind = cast("type[object]", type(one))
            if kind is str:
                chars += len(one)
            elif kind is dict:
                _fits(values + len(below) + len(one), most)
                chars += sum(len(name) for name in one if type(name) is str)
                below.extend(one.values())
            elif kind is list or kind is tuple:
                _fits(values + len(below) + len(one), most)
                below.extend(one)
            elif kind is int:
                bits = one.bit_length()
                wide = wide or bits > _WIDE_BITS
                if bits > MAX_BITS:
                    raise TooLarge("a number has more than 308 digits")
            elif kind is float:
                wide = wide or not (one == 0 or _SMALL < abs(one) < _LARGE)
        if not below:
            return Size(values, chars, depth, wide)
        values += len(below)
        depth += 1
        if depth > MAX_DEPTH:
            raise TooLarge(f"they are nested deeper than {MAX_DEPTH} levels")
        level = below


def _fits(values: int, most: int) -> None:
    if values > most:
        raise TooLarge(f"there are more than {most:,} values; send fewer")


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

    Numbers as text: texts are hashed with a secret of the process, so nobody can choose a thousand
    that share one place of a table.
    """
    kind = cast("type[object]", type(value))
    if kind is str:
        return value
    if kind is list or kind is tuple:
        return tuple(map(_key, value))
    if kind is dict:
        return frozenset((name, _key(one)) for name, one in value.items())
    if kind is float and value.is_integer():
        value = int(value)
    return (kind is bool, repr(value))
