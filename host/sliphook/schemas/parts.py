"""Pure: a schema as parts: every schema in it, what it says, and which parts it leads to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .errors import SchemaError
from .keywords import LAZY, is_object
from .patterns import Expression


class SchemaPart:
    """One schema inside of a schema.

    The empty collections are shared by all parts, as most have none: they are replaced, not
    changed.

    Attributes:
        raw: as it is written.
        above: the part that holds it; None for the whole schema.
        place: where it is in `above`, as in `("properties", "city")`.
        base: the address that its references are relative to: an `$id`, or empty.
        values: the keywords that hold no schema.
        named: `properties`.
        listed: `prefixItems`, or a list of `items`.
        every: schemas for every item or property, by keyword.
        patterns: `patternProperties`, by expression.
        pattern: `pattern`.
        in_place: schemas for the same value, with the keyword and the place in it.
        refers: the text of `$ref`.
        target: the part that `$ref` leads to.
        number: its place under `$defs` if something refers to it, else -1.
        height: how many schemas are nested, at most, for one value.
        weight, text, members, asks, inner, written: see `work.py` and `writing.py`.
    """

    values: dict[str, Any]
    named: dict[str, SchemaPart] = {}  # noqa: RUF012 - see above
    listed: list[SchemaPart] = []  # noqa: RUF012
    every: dict[str, SchemaPart] = {}  # noqa: RUF012
    patterns: dict[str, tuple[Expression, SchemaPart]] = {}  # noqa: RUF012
    pattern: Expression | None = None
    in_place: list[tuple[tuple[str, str], SchemaPart]] = []  # noqa: RUF012
    refers: str | None = None
    target: SchemaPart | None = None
    number = -1
    height = 1
    weight = 0.0
    text = 0.0
    members = 0.0
    asks = False
    inner: dict[str, Any]
    written: dict[str, Any] | bool

    def __init__(
        self,
        raw: dict[str, Any] | bool,
        above: SchemaPart | None,
        place: tuple[str, ...],
        base: str,
    ) -> None:
        self.raw = raw
        self.above = above
        self.place = place
        self.base = base
        self.values = {}

    def path(self, *more: str) -> str:
        """Where it is, for people."""
        places: list[str] = []
        part: SchemaPart | None = self
        while part is not None:
            places[:0] = part.place
            part = part.above
        return ".".join([*places, *more])

    def wrong(self, keyword: str, why: str) -> SchemaError:
        """The error for one of its keywords."""
        return SchemaError(why, self.path(keyword))

    def is_leaf(self) -> bool:
        """True if it leads to no other part."""
        return not (
            self.in_place
            or self.named
            or self.every
            or self.listed
            or self.patterns
            or self.pattern is not None
            or self.refers is not None
        )

    def beside(self) -> list[SchemaPart]:
        """The parts that are taken for the same value."""
        found = [part for _, part in self.in_place] if self.in_place else []
        if self.target is not None:
            found.append(self.target)
        return found

    def below(self) -> Iterator[SchemaPart]:
        """The parts that are taken for one value inside: once for each value."""
        yield from self.named.values()
        yield from self.listed

    def looped(self) -> Iterator[SchemaPart]:
        """The parts that are taken for many values inside, but for `true`, `false` and `{}`."""
        for part in self.every.values():
            if part.values or not part.is_leaf():
                yield part
        for _, part in self.patterns.values():
            yield part

    def loops(self) -> bool:
        """True if it goes through all items or properties of a value."""
        if not (self.every or self.patterns):  # as most do not
            return False
        return bool(self.every.keys() & LAZY) or any(True for _ in self.looped())

    def raw_object(self) -> dict[str, Any]:
        """As it is written; empty for `true` and `false`."""
        return self.raw if is_object(self.raw) else {}
