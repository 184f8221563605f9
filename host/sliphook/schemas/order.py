"""Pure: the order of the parts of a schema, and how many are nested for one value."""

from __future__ import annotations

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
    done: dict[int, bool] = {}  # False while those beside it are visited
    for start in parts:
        if id(start) in done:
            continue
        if not start.in_place and start.target is None:
            done[id(start)] = True
            order.append(start)
            continue
        done[id(start)] = False
        stack = [(start, iter(start.beside()))]
        while stack:
            part, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                stack.pop()
                done[id(part)] = True
                order.append(part)
                _nest(part)
            elif id(following) not in done:
                done[id(following)] = False
                stack.append((following, iter(following.beside())))
            elif not done[id(following)]:
                raise SchemaError(
                    "leads back to itself without going into a property or an item, which never"
                    " ends",
                    part.path(*(["$ref"] if part.target is not None else [])),
                )
    return order


def _nest(part: SchemaPart) -> None:
    part.height = 1 + max((one.height for one in part.beside()), default=0)
    lazy = part.every.keys() & LAZY
    most = MAX_UNEVALUATED_HEIGHT if lazy else MAX_HEIGHT
    if part.height > most:
        raise SchemaError(
            f"nests {part.height} schemas and references for one value; at most {most} are allowed",
            part.path(*sorted(lazy)),
        )
