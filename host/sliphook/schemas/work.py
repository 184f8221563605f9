"""Pure: how long each part of a schema takes, and which parts ask whether there is time left.

The library checks a value without a pause. So a part that goes through many values, or does much,
asks before it begins (`writing.py`). What lies between two questions takes a time that is known
before, as it is small or in proportion to the length of the value.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from .keywords import LAZY, is_list, is_object
from .order import behind_first
from .parts import SchemaPart
from .patterns import Expression
from .reading import ReadSchema

# Microseconds, measured with jsonschema-rs 0.61 on two cores at 2.5 GHz, rounded up.
_KEYWORD: Final = 0.05
_QUESTION: Final = 1.0
_MOST: Final = 20.0
"""More than this is never done without asking."""
_MEMBER: Final = 0.01
"""A member of an object, for each keyword that looks into it: the library lists them anew."""
_UNEVALUATED: Final = 1.5
"""An item or property, for each schema that may have evaluated it."""
_CHAR: Final = 0.0002
_MULTIPLE: Final = 3.0
"""One `multipleOf`, which is calculated with fractions."""
_TINY_MULTIPLE: Final = 15.0
"""The same of a number that is below `_TINY`: its fraction has hundreds of digits."""
_TINY: Final = 1e-18
_ENUM_BYTE: Final = 0.01
_SMALL: Final = 8
"""An expression of so few states is tried in a time that does not depend on them."""
_SMALL_CHAR: Final = 0.006
_STATE_CHAR: Final = 0.05
"""One state at one character, if there are too many to be known before."""
_BACKTRACKING: Final = 1_500.0
"""One expression that backtracks, on the longest text that is tried."""

_COUNTING: Final = frozenset({"minLength", "maxLength", "enum", "const"})
_LOOKING: Final = frozenset(
    {"required", "dependentRequired", "dependencies", "minProperties", "maxProperties"}
)


class Stretch(NamedTuple):
    """What a part does to one value before it, or another part, asks again; in microseconds.

    Attributes:
        once: for any value.
        entry: for each item or property.
        char: for each character of a text.
        short: for a text, if expressions backtrack.
        key_char: for each character of the names of properties.
        text: for each character of all texts in the whole.
        members: for each value in the whole.
        compares: it compares all items with each other.
    """

    once: float
    entry: float
    char: float
    short: float
    key_char: float
    text: float
    members: float
    compares: bool


def find_work(read: ReadSchema) -> None:
    """Set `weight`, `text`, `members` and `asks` of every part."""
    for part in behind_first((read.root, *read.parts), _taken_with, _asks):
        _weigh(part)
        part.asks = (
            part.asks
            or part is read.root
            or part.weight > _MOST
            or part.pattern is not None
            or part.values.get("uniqueItems") is True
            or part.loops()
        )


def stretch_of(part: SchemaPart) -> Stretch:
    """What a part that asks does until the next question; all parts are weighed before."""
    entry, text, members = _KEYWORD * (1 + 2 * len(part.patterns)), part.text, part.members
    for other in part.looped():
        seen = _seen(other)
        entry += seen.weight
        text += seen.text
        members += seen.members
    if part.every.keys() & LAZY:
        entry += _UNEVALUATED * part.height
    tried = [part.pattern] if part.pattern is not None else []
    return Stretch(
        once=part.weight,
        entry=entry,
        char=sum(_char(one) for one in tried if not one.backtracks),
        short=sum(_BACKTRACKING for one in tried if one.backtracks),
        key_char=sum(_char(one) for one, _ in part.patterns.values()),
        text=text,
        members=members,
        compares=part.values.get("uniqueItems") is True,
    )


def _taken_with(part: SchemaPart) -> list[SchemaPart]:
    """Those that it is taken with for one value, and those inside."""
    return [] if part.is_leaf() else [*part.beside(), *part.below()]


def _asks(_: SchemaPart, returned_to: SchemaPart) -> None:
    # so that no way round passes without a question
    returned_to.asks = True


class _Seen(NamedTuple):
    """What a part costs the one that leads to it."""

    weight: float
    text: float
    members: float


_ASKED: Final = _Seen(_QUESTION, 0.0, 0.0)


def _seen(part: SchemaPart) -> _Seen:
    return _ASKED if part.asks else _Seen(part.weight, part.text, part.members)


def _weigh(part: SchemaPart) -> None:
    values = part.values
    part.weight = _KEYWORD * (1 + len(values))
    if values.keys() & _COUNTING:
        part.text = _CHAR
        part.weight += sum(
            _ENUM_BYTE * _bytes(values[key]) for key in ("enum", "const") if key in values
        )
    if "multipleOf" in values:
        part.weight += _MULTIPLE if values["multipleOf"] >= _TINY else _TINY_MULTIPLE
    if values.keys() & _LOOKING:
        part.members = _MEMBER * len(values.keys() & _LOOKING)
        part.weight += _KEYWORD * len(values.get("required", ()))
        for key in ("dependentRequired", "dependencies"):
            part.weight += _KEYWORD * sum(1 + len(names) for names in values.get(key, {}).values())
    if part.is_leaf():
        return
    if part.named or part.every or part.patterns:
        part.members += _MEMBER * 3
        part.weight += _KEYWORD * len(part.named)
    for other in part.beside():
        seen = _seen(other)
        part.weight += seen.weight
        part.text += seen.text
        part.members += seen.members
    # the values inside are different ones: their texts together are no longer than the whole
    below = [_seen(other) for other in part.below()]
    part.weight += sum(seen.weight for seen in below)
    part.text += max((seen.text for seen in below), default=0.0)
    part.members += max((seen.members for seen in below), default=0.0)


def _bytes(value: Any) -> int:
    """The length of values to compare with; texts are found by their hash."""
    if type(value) is str or (is_list(value) and all(type(one) is str for one in value)):
        return 0
    return len(msgspec.json.encode(value)) if is_list(value) or is_object(value) else 0


def _char(pattern: Expression) -> float:
    one = _SMALL_CHAR if pattern.weight <= _SMALL else _STATE_CHAR * pattern.weight
    return one * (1 + len(pattern.also))
