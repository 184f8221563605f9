"""Pure: whether a subscription can be chosen at all, or stands behind another for ever.

A plugin takes part in a fire once, by the first of its subscriptions that matches. So one that
stands behind a wider one is never asked, and a pattern that no value can have asks for nothing.
Both are found here by computation, not by comparing texts: the set of values of each field is
known (`domain`), a `match` is a set of patterns for each field, and patterns are finite automata.
"""

from __future__ import annotations

from functools import cache
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    Optional,
    Union,
    get_args,
    get_origin,
)

import msgspec

from .globs import NULL_FITS, Globs
from .limits import MAX_REACH_STEPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .catalogue import Entry
    from .shapes import Payload

TOOL_NAME_CHARS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
MAX_TOOL_NAME_CHARS: Final = 64


class TooManySteps(Exception):
    """The patterns overlap in too many ways to tell within `MAX_REACH_STEPS`."""


class Claim(NamedTuple):
    """The part of a subscription that decides what it is chosen for, defaults filled in.

    Attributes:
        match: patterns by field; a field fits if any of its patterns does.
        subagents: it is chosen for child agents too.
    """

    match: Mapping[str, Sequence[str]]
    subagents: bool


class Domain(NamedTuple):
    """The values that a string field of a payload can have.

    Attributes:
        words: all of them, or None if there are too many to list.
        chars: the characters that they consist of; None is any character.
        least: the least number of characters.
        most: the largest number of characters, or None.
        nullable: null is a value too, and no pattern fits it.
    """

    words: Optional[tuple[str, ...]]
    chars: Optional[str]
    least: int
    most: Optional[int]
    nullable: bool


@cache
def domain(payload: type[Payload], field: str) -> Domain:
    """The values of a string field."""
    infos = {info.encode_name: info for info in msgspec.structs.fields(payload)}
    nullable, words = _type_of(infos[field].type)
    nullable = nullable and field not in NULL_FITS  # there every word is harder to fit than null
    if words is None and field == "tool_name":
        return Domain(None, TOOL_NAME_CHARS, 1, MAX_TOOL_NAME_CHARS, nullable)
    return Domain(words, None, 0, None, nullable)


def why_never(entry: Entry, field: str, pattern: str) -> Optional[str]:
    """Why no value of `field` can fit `pattern`, as words after "which"; None if one can.

    Args:
        entry: the hook or event.
        field: one of its `match_fields`.
        pattern: one pattern.
    """
    values = domain(entry.payload, field)
    if values.words is not None:
        fits = Globs([pattern]).fits
        if any(map(fits, values.words)):
            return None
        return f"can fit nothing: {field} is one of {', '.join(values.words)}"
    text = pattern.replace("*", "")
    if values.chars is not None:
        odd = next((char for char in text if char != "?" and char not in values.chars), None)
        if odd is not None:
            return (
                f"can fit no name of a tool, which has no {odd!r}; "
                "patterns know `*` and `?` alone, and several of them are a list"
            )
    if (not pattern and values.least) or (values.most is not None and len(text) > values.most):
        return f"can fit no name of a tool, which has {values.least} to {values.most} characters"
    return None


class Order:
    """The subscriptions of one plugin to one entry, in the order in which they are looked at.

    Args:
        entry: the hook or event.
        claims: each pattern of them fits some value (`why_never`).
        max_steps: what all calls of `in_the_way` together may cost.
    """

    def __init__(
        self, entry: Entry, claims: Sequence[Claim], max_steps: int = MAX_REACH_STEPS
    ) -> None:
        self._claims = claims
        self._budget = _Budget(max_steps)
        self._fields = {
            field: _Field(domain(entry.payload, field), field, claims)
            for field in sorted({field for claim in claims for field in claim.match})
        }

    def in_the_way(self, at: int) -> Optional[int]:
        """The earlier claim because of which claim `at` is never chosen; None if it can be.

        If several share that together, it is the first of them.

        Raises:
            TooManySteps: nothing is known.
        """
        claim = self._claims[at]
        # for a child agent fewer others match, so that is the easier way to be chosen
        rivals = frozenset(
            number for number in range(at) if self._claims[number].subagents or not claim.subagents
        )
        self._budget.spend(1 + at // 8)
        # what may still match a payload that is chosen field by field; the fewer, the better
        left = {rivals}
        for field in self._fields.values():
            named = rivals & field.named
            if not named:
                continue
            own = claim.match.get(field.name)
            if own is None and field.values.nullable:
                fitting = {frozenset[int]()}  # null fits none
            else:
                fitting = field.fitting(own, named, self._budget)
            others = rivals - named
            left = _least(
                (alive & (others | fit) for alive in left for fit in fitting), self._budget
            )
            if frozenset() in left:
                return None
        return min(min(alive) for alive in left) if rivals else None


class _Budget:
    def __init__(self, steps: int) -> None:
        self._left = steps

    def spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise TooManySteps


class _Field:
    """What all claims say of one field."""

    def __init__(self, values: Domain, name: str, claims: Sequence[Claim]) -> None:
        self.values = values
        self.name = name
        self._patterns = {
            number: claim.match[name] for number, claim in enumerate(claims) if name in claim.match
        }
        self.named = frozenset(self._patterns)
        self._exact: dict[str, set[int]] = {}
        self._wild: dict[int, Globs] = {}
        for number, patterns in self._patterns.items():
            wild = [pattern for pattern in patterns if "*" in pattern or "?" in pattern]
            if wild:
                self._wild[number] = Globs(wild)
            for pattern in patterns:
                if pattern not in wild:
                    self._exact.setdefault(pattern, set()).add(number)

    def fitting(
        self, own: Optional[Sequence[str]], named: frozenset[int], budget: _Budget
    ) -> set[frozenset[int]]:
        """For values that fit `own`: the sets of those of `named` that fit too; the least ones."""

        def fit(value: str) -> frozenset[int]:
            budget.spend(1 + len(self._wild))
            wild = (number for number, one in self._wild.items() if one.fits(value))
            return named.intersection([*self._exact.get(value, ()), *wild])

        values = self.values
        if values.words is not None:
            mine = Globs(["*"] if own is None else own)
            return _least((fit(word) for word in values.words if mine.fits(word)), budget)
        # usually the plainest values show it
        for pattern in ["*"] if own is None else own:
            for text in ("", "q"):
                value = pattern.replace("*", text).replace("?", "q")
                possible = values.least <= len(value) <= (values.most or len(value))
                if possible and not fit(value):
                    return {frozenset()}
        others = {number: self._patterns[number] for number in sorted(named)}
        return _least(_walk(values, own, others, budget), budget)


def _type_of(annotation: Any) -> tuple[bool, Optional[tuple[str, ...]]]:
    """Whether null is allowed, and the words of a Literal."""
    if get_origin(annotation) is Annotated:
        return _type_of(get_args(annotation)[0])
    if get_origin(annotation) is Union:
        kinds = [_type_of(arg) for arg in get_args(annotation) if arg is not type(None)]
        words = [kind[1] for kind in kinds]
        every = None if None in words else tuple(word for some in words for word in some or ())
        return type(None) in get_args(annotation), every
    return False, get_args(annotation) if get_origin(annotation) is Literal else None


_Spots = frozenset[tuple[int, int]]
_ANY: Final = "\0"
"""Stands for every character that no pattern names."""


def _walk(
    values: Domain,
    own: Optional[Sequence[str]],
    others: Mapping[int, Sequence[str]],
    budget: _Budget,
) -> Iterator[frozenset[int]]:
    """Run the automata of all patterns side by side over all values; as `_Field.fitting`."""
    numbers = list(others)
    sets = [["*"] if own is None else list(own), *others.values()]
    named = {char for patterns in sets for glob in patterns for char in glob} - {"*", "?"}
    chars = sorted(named if values.chars is None else named & set(values.chars))
    if values.chars is None or len(chars) < len(values.chars):
        chars.append(_ANY)
    layer = {
        tuple(
            _settle({(g, 0) for g in range(len(patterns))}, patterns, budget) for patterns in sets
        )
    }
    seen: set[tuple[_Spots, ...]] = set()
    length = 0
    while layer:
        if length >= values.least:
            seen |= layer
            for state in layer:
                if _accepts(state[0], sets[0]):
                    yield frozenset(
                        number
                        for number, spots, patterns in zip(numbers, state[1:], sets[1:])
                        if _accepts(spots, patterns)
                    )
        if length == values.most:
            return
        length += 1
        following: set[tuple[_Spots, ...]] = set()
        for state in layer:
            for char in chars:
                mine = _move(state[0], sets[0], char, budget)
                if mine:
                    following.add(
                        (
                            mine,
                            *(
                                _move(spots, patterns, char, budget)
                                for spots, patterns in zip(state[1:], sets[1:])
                            ),
                        )
                    )
        layer = following - seen


def _move(spots: _Spots, patterns: Sequence[str], char: str, budget: _Budget) -> _Spots:
    """Where the automaton of some patterns is after one more character."""
    budget.spend(1 + len(spots))
    after: set[tuple[int, int]] = set()
    for glob, at in spots:
        pattern = patterns[glob]
        if at < len(pattern):
            if pattern[at] == "*":
                after.add((glob, at))
            elif pattern[at] in ("?", char):
                after.add((glob, at + 1))
    return _settle(after, patterns, budget)


def _settle(spots: set[tuple[int, int]], patterns: Sequence[str], budget: _Budget) -> _Spots:
    """Add where `*` may be left without a character.

    A pattern of which only `*` is left takes all that may come: no other place matters then.
    """
    budget.spend(len(spots))
    for glob, at in list(spots):
        pattern = patterns[glob]
        while at < len(pattern) and pattern[at] == "*":
            if not pattern[at:].strip("*"):
                return frozenset({(glob, at)})
            at += 1
            spots.add((glob, at))
    return frozenset(spots)


def _accepts(spots: _Spots, patterns: Sequence[str]) -> bool:
    return any(not patterns[glob][at:].strip("*") for glob, at in spots)


def _least(sets: Iterable[frozenset[int]], budget: _Budget) -> set[frozenset[int]]:
    """Those that contain none of the others."""
    least: set[frozenset[int]] = set()
    for one in sorted(set(sets), key=len):
        budget.spend(1 + len(least))
        if not any(other <= one for other in least):
            least.add(one)
    return least
