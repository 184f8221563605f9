"""Pure: the order of the parts of a schema, and how many are nested for one value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from .errors import SchemaError
from .keywords import LAZY
from .parts import SchemaPart

MAX_HEIGHT: Final = 48
"""The most schemas nested for one value: each takes a part of the C stack."""
MAX_UNEVALUATED_HEIGHT: Final = 12
"""The same if the library has to find out which properties or items were evaluated."""


def in_order(parts: list[SchemaPart]) -> list[SchemaPart]:
    """The parts, each behind those beside it; says how many are nested for one value.

    Raises:
        SchemaError: a part leads back to itself for the same value, or too many are nested.
    """
    order: list[SchemaPart] = []
    for part in behind_first(parts, SchemaPart.beside, _endless):
        _nest(part)
        order.append(part)
    return order


def behind_first(
    parts: Iterable[SchemaPart],
    leads_to: Callable[[SchemaPart], Iterable[SchemaPart]],
    returns: Callable[[SchemaPart, SchemaPart], None],
) -> Iterator[SchemaPart]:
    """Each part once, behind all those that it leads to.

    Args:
        parts: where to begin; those that they lead to come as well.
        leads_to: the parts that one leads to.
        returns: gets a part, and the one on the way to it that it leads back to.
    """
    done: dict[int, bool] = {}  # False while those behind it are visited
    for start in parts:
        if id(start) in done:
            continue
        done[id(start)] = False
        stack = [(start, iter(leads_to(start)))]
        while stack:
            part, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                stack.pop()
                done[id(part)] = True
                yield part
            elif id(following) not in done:
                done[id(following)] = False
                stack.append((following, iter(leads_to(following))))
            elif not done[id(following)]:
                returns(part, following)


def _endless(part: SchemaPart, _: SchemaPart) -> None:
    raise SchemaError(
        "leads back to itself without going into a property or an item, which never ends",
        part.path(*(["$ref"] if part.target is not None else [])),
    )


def _nest(part: SchemaPart) -> None:
    part.height = 1 + max((one.height for one in part.beside()), default=0)
    lazy = part.every.keys() & LAZY
    most = MAX_UNEVALUATED_HEIGHT if lazy else MAX_HEIGHT
    if part.height > most:
        raise SchemaError(
            f"nests {part.height} schemas and references for one value; at most {most} are allowed",
            part.path(*sorted(lazy)),
        )
