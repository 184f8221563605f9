"""Pure: whether a subscription can be chosen at all, or stands behind another for ever.

A plugin takes part in a fire once, by the first of its subscriptions that matches. So one that
stands behind a wider one is never asked. That is found here by computation, not by comparing texts:
the values of each field are known (`domains`), a `match` is a set of patterns for each field, and
patterns are finite automata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Optional

from sliphook_sdk.protocol.limits import MAX_REACH_STEPS

from .domains import values_of
from .globs import Globs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sliphook_sdk.protocol.catalogue import Entry

    from .domains import Domain, Values


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
            field: _Field(values_of(entry.payload, field), field, claims)
            for field in sorted({field for claim in claims for field in claim.match})
        }

    @property
    def steps_left(self) -> int:
        """Of `max_steps`."""
        return self._budget.left

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
        self.left = steps

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise TooManySteps


class _Field:
    """What all claims say of one field."""

    def __init__(self, values: Values, name: str, claims: Sequence[Claim]) -> None:
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
        mine = ["*"] if own is None else own
        found: set[frozenset[int]] = set()
        for values in self.values.domains:
            found |= self._fitting_in(values, mine, named, budget)
            if frozenset() in found:
                return {frozenset()}
        return _least(found, budget)

    def _fitting_in(
        self, values: Domain, own: Sequence[str], named: frozenset[int], budget: _Budget
    ) -> set[frozenset[int]]:
        def fit(value: str) -> frozenset[int]:
            # 32 characters of a text cost as much as a step
            budget.spend((1 + len(self._wild)) * (1 + len(value) // 32))
            wild = (number for number, one in self._wild.items() if one.fits(value))
            return named.intersection([*self._exact.get(value, ()), *wild])

        if values.words is not None:
            mine = Globs(own)
            return {fit(word) for word in values.words if mine.fits(word)}
        if values.holds:
            own = list(_with(values.holds, own, budget))
        # usually the plainest values show it
        for pattern in own:
            for text in ("", "q"):
                value = pattern.replace("*", text).replace("?", "q")
                if values.has(value) and not fit(value):
                    return {frozenset()}
        others = {number: self._patterns[number] for number in sorted(named)}
        return set(_walk(values, own, others, budget))


def _with(char: str, globs: Iterable[str], budget: _Budget) -> Iterator[str]:
    """Patterns that fit what the given ones fit, as far as it has that character."""
    for glob in globs:
        if char in glob:
            yield glob
        for at, one in enumerate(glob if char not in glob else ""):
            if one in "*?":
                budget.spend(1 + len(glob) // 32)
                yield f"{glob[:at]}{'*' + char + '*' if one == '*' else char}{glob[at + 1 :]}"


_Spots = frozenset[tuple[int, int]]
_ANY: Final = "\0"
"""Stands for every character that no pattern names."""


def _walk(
    values: Domain,
    own: Sequence[str],
    others: Mapping[int, Sequence[str]],
    budget: _Budget,
) -> Iterator[frozenset[int]]:
    """Run the automata of all patterns side by side over all values; as `_Field.fitting`."""
    numbers = list(others)
    sets = [own, *others.values()]
    named = {char for patterns in sets for glob in patterns for char in glob} - {"*", "?"}
    chars = _among(named, values.chars)
    first = chars if values.first is None else _among(named, values.first)
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
            for char in chars if length > 1 else first:
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


def _among(named: set[str], chars: Optional[str]) -> list[str]:
    """The characters to try, of some or of all."""
    found = sorted(named if chars is None else named.intersection(chars))
    return found if chars is not None and len(found) == len(chars) else [*found, _ANY]


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
