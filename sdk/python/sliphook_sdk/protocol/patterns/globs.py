"""The meaning of `match`, for both sides: the fields it may name, and what a pattern fits."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec

from sliphook_sdk.protocol.describe import is_matchable
from sliphook_sdk.protocol.limits import MAX_MATCHED_CHARS
from sliphook_sdk.protocol.shapes import Payload

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sliphook_sdk.protocol.catalogue import Entry

NULL_FITS: Final = frozenset({"tool_kind"})
"""The fields of which null fits every pattern; of all others it fits none.

A guard that matches one is asked if the agent does not say, rather than passed by.
"""

_GROUP_STATES = 1_024
"""States of the patterns that are followed together: numbers of 128 bytes."""


_KNOWN_TEXTS = 64


class Globs:
    """The patterns of one field, of which any must fit the whole text.

    `*` is any text, `?` any character, case counts. A text of more than `MAX_MATCHED_CHARS`
    characters fits: who asked for less is asked rather than passed by.

    The time is linear in the text: all patterns are followed at once, a bit for each place in each
    of them, and nothing is tried twice.
    """

    __slots__ = ("_exact", "_groups", "_known")

    def __init__(self, globs: Sequence[str]) -> None:
        self._exact = frozenset(glob for glob in globs if "*" not in glob and "?" not in glob)
        self._groups = _groups([glob for glob in globs if glob not in self._exact])
        # most texts come again, such as the name of a tool before and after its call
        self._known: dict[str, bool] = {}

    def fits(self, text: str) -> bool:
        """True if any of the patterns fits."""
        if text in self._exact or len(text) > MAX_MATCHED_CHARS:
            return True
        if not self._groups:
            return False
        known = self._known.get(text)
        if known is None:
            known = any(group.fits(text) for group in self._groups)
            if len(self._known) >= _KNOWN_TEXTS:
                self._known.clear()
            self._known[text] = known
        return known


class _Group:
    """Some patterns as one number of bits.

    A bit stands for a place in a pattern: so much of it has been read. A character moves each bit
    whose pattern goes on with it, and leaves where they are those at a star.
    """

    __slots__ = ("_any", "_ends", "_moves", "_stars", "_starts")

    def __init__(self, globs: Iterable[str]) -> None:
        self._starts = self._ends = self._stars = self._any = 0
        self._moves: dict[str, int] = {}
        bit = 1
        for glob in globs:
            self._starts |= bit
            for char in glob:
                if char == "*":
                    self._stars |= bit
                    continue
                if char == "?":
                    self._any |= bit
                else:
                    self._moves[char] = self._moves.get(char, 0) | bit
                bit <<= 1
            self._ends |= bit
            bit <<= 1
        for char, moves in self._moves.items():
            self._moves[char] = moves | self._any

    def fits(self, text: str) -> bool:
        at = self._starts
        moves, stars, otherwise = self._moves, self._stars, self._any
        for char in text:
            at = (at & moves.get(char, otherwise)) << 1 | at & stars
            if not at:
                return False
        return bool(at & self._ends)


def _groups(globs: Iterable[str]) -> tuple[_Group, ...]:
    groups: list[list[str]] = []
    room = 0
    for glob in globs:
        if len(glob) >= room:
            groups.append([])
            room = _GROUP_STATES
        groups[-1].append(glob)
        room -= len(glob) + 1
    return tuple(map(_Group, groups))


@cache
def match_fields(entry: Entry) -> tuple[str, ...]:
    """The fields of an entry's payload that `match` may name.

    They hold names and words: no text that a model or a person writes, and no id that is new each
    time. What is told inside an interrupt is chosen by the entry's own fields alone: a few words,
    and the names of tools.
    """
    common = _names(Payload) if entry.in_interrupt else frozenset[str]()
    return tuple(
        info.encode_name
        for info in msgspec.structs.fields(entry.payload)
        if _is_string(info.type) and is_matchable(info.type) and info.encode_name not in common
    )


@cache
def unmatchable_fields(entry: Entry) -> tuple[str, ...]:
    """The other fields that hold a string."""
    return tuple(
        info.encode_name
        for info in msgspec.structs.fields(entry.payload)
        if _is_string(info.type) and info.encode_name not in match_fields(entry)
    )


def why_unmatchable(entry: Entry) -> str:
    """Why `match` may not name one of the `unmatchable_fields`, for people."""
    if entry.in_interrupt:
        fields = ", ".join(match_fields(entry))
        return f"{entry.name} is told inside an interrupt, where only {fields} can be looked at"
    return "it is free text, an id that is new each time, or a kind that may not be known"


@cache
def words_of(payload: type[Payload], field: str) -> tuple[str, ...]:
    """The words of which a field of a payload is one; empty if it may be any text."""
    types = {info.encode_name: info.type for info in msgspec.structs.fields(payload)}
    return _words(types[field])


def _names(payload: type[Payload]) -> frozenset[str]:
    return frozenset(info.encode_name for info in msgspec.structs.fields(payload))


def _words(annotation: Any) -> tuple[str, ...]:
    if get_origin(annotation) is Annotated:
        return _words(get_args(annotation)[0])
    args = get_args(annotation)
    if get_origin(annotation) is Union:
        some = [arg for arg in args if arg is not type(None)]
        return _words(some[0]) if len(some) == 1 else ()
    is_words = get_origin(annotation) is Literal and all(isinstance(arg, str) for arg in args)
    return args if is_words else ()


def _is_string(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _is_string(get_args(annotation)[0])
    if get_origin(annotation) is Union:
        return any(_is_string(arg) for arg in get_args(annotation))
    return annotation is str or bool(_words(annotation))
