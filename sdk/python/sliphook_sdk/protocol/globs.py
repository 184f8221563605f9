"""What `match` means: which fields it may name, and what a pattern fits. Both sides go by this."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .payloads import Payload


class Globs:
    """One field's patterns, of which any must fit the whole text: `*` is any text, `?` any character, case counts.

    No pattern takes longer than its length times the text's: a part between two stars is looked for once, from the left, and
    nothing is taken back.
    """

    __slots__ = ("_exact", "_parted")

    def __init__(self, globs: Sequence[str]) -> None:
        self._exact = frozenset(glob for glob in globs if "*" not in glob and "?" not in glob)
        self._parted = tuple(_parts(glob) for glob in globs if glob not in self._exact)

    def fits(self, text: str) -> bool:
        """True where any of the patterns fits."""
        return text in self._exact or any(_fits(parts, text) for parts in self._parted)


def _parts(glob: str) -> tuple[tuple[re.Pattern[str], int], ...]:
    """The texts between the stars, in which `?` stands for any character, each with its length."""
    return tuple(
        (re.compile("".join("." if char == "?" else re.escape(char) for char in part), re.DOTALL), len(part)) for part in glob.split("*")
    )


def _fits(parts: tuple[tuple[re.Pattern[str], int], ...], text: str) -> bool:
    (first, _), *rest = parts
    if not rest:
        return first.fullmatch(text) is not None
    begun = first.match(text)
    if begun is None:
        return False
    at = begun.end()
    *middle, (last, length) = rest
    for part, _ in middle:
        found = part.search(text, at)
        if found is None:
            return False
        at = found.end()
    return last.fullmatch(text, max(at, len(text) - length)) is not None


@cache
def string_fields(payload: type[Payload]) -> tuple[str, ...]:
    """The fields of a payload that `match` may name."""
    return tuple(info.encode_name for info in msgspec.structs.fields(payload) if _is_string(info.type))


def _is_string(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _is_string(get_args(annotation)[0])
    if get_origin(annotation) is Union:
        return any(_is_string(arg) for arg in get_args(annotation))
    return annotation is str or (get_origin(annotation) is Literal and all(isinstance(arg, str) for arg in get_args(annotation)))
