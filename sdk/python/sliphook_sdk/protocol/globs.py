"""The meaning of `match`, for both sides: the fields it may name, and what a pattern fits."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .payloads import Payload


class Globs:
    """The patterns of one field, of which any must fit the whole text.

    `*` is any text, `?` any character, case counts. No pattern takes longer than its length times
    the length of the text: each part between two stars is searched for once, from the left, without
    backtracking.
    """

    __slots__ = ("_exact", "_parted")

    def __init__(self, globs: Sequence[str]) -> None:
        self._exact = frozenset(glob for glob in globs if "*" not in glob and "?" not in glob)
        self._parted = tuple(_parts(glob) for glob in globs if glob not in self._exact)

    def fits(self, text: str) -> bool:
        """True if any of the patterns fits."""
        return text in self._exact or any(_fits(parts, text) for parts in self._parted)


class _Part(NamedTuple):
    """The text between two stars.

    `?` at its ends are only counted, since searching for them would take longer than the bound of
    `Globs`.
    """

    before: int
    core: re.Pattern[str]
    behind: int
    length: int

    def begins(self, text: str) -> int:
        """The end of the part at the beginning of the text; -1 if it is not there."""
        found = self.core.match(text, self.before)
        return found.end() + self.behind if found is not None else -1

    def next(self, text: str, at: int) -> int:
        """The end of its first occurrence from `at` on; -1 if there is none."""
        begin = at + self.before
        found = self.core.search(text, begin) if begin <= len(text) else None
        return found.end() + self.behind if found is not None else -1


def _parts(glob: str) -> tuple[_Part, ...]:
    return tuple(_part(text) for text in glob.split("*"))


def _part(text: str) -> _Part:
    rest = text.lstrip("?")
    core = rest.rstrip("?")
    # DOTALL: `?` is any character, a line feed too
    pattern = re.compile(
        "".join("." if char == "?" else re.escape(char) for char in core), re.DOTALL
    )
    return _Part(len(text) - len(rest), pattern, len(rest) - len(core), len(text))


def _fits(parts: tuple[_Part, ...], text: str) -> bool:
    first, *rest = parts
    if len(text) < sum(part.length for part in parts):
        return False
    if not rest:
        return first.begins(text) == len(text)
    at = first.begins(text)
    *middle, last = rest
    for part in middle:
        if at < 0:
            return False
        at = part.next(text, at)
    start = len(text) - last.length
    return 0 <= at <= start and last.begins(text[start:]) == last.length


@cache
def string_fields(payload: type[Payload]) -> tuple[str, ...]:
    """The fields of a payload that `match` may name."""
    return tuple(
        info.encode_name for info in msgspec.structs.fields(payload) if _is_string(info.type)
    )


def _is_string(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _is_string(get_args(annotation)[0])
    if get_origin(annotation) is Union:
        return any(_is_string(arg) for arg in get_args(annotation))
    return annotation is str or (
        get_origin(annotation) is Literal
        and all(isinstance(arg, str) for arg in get_args(annotation))
    )
