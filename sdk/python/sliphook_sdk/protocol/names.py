"""Whether a JSON text has a name twice in one object: decoders keep the last one without a word.

`{"decision":"deny","decision":"allow"}` would be an allow, so a message with such an object is
refused. Nearly all of the work is passes in C; Python goes through the objects, not the names.
"""

from __future__ import annotations

import re
from itertools import compress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Optional, Union

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

# what stands for the two escapes that hide where a string ends: JSON has no such bytes in strings.
# As long as the escapes, which takes half of the time.
_BACKSLASH: Final = b"\x00\x00"
_QUOTE: Final = b"\x01\x01"
_HIDDEN: Final = re.compile(rb"[\\\x00\x01]")
_NOT_STRUCTURE: Final = bytes(set(range(256)) - set(b'{}":'))
_STRINGS: Final = msgspec.json.Decoder(list[str])
_IS_NAME: Final = bytes.maketrans(b'k"', b"\x01\x00")


class DoubledName(NamedTuple):
    """A name that its object already has.

    Attributes:
        name: as its author reads it, without escapes.
        level: how many objects that one is inside of, itself counted.
    """

    name: str
    level: int


def split_at_quotes(text: bytes) -> list[bytes]:
    """The text cut at the quotes of its strings: what is outside and inside of them, by turns.

    Escapes stay, but for those of a backslash and of a quote, which become two bytes each.

    Args:
        text: does not end inside an escape.
    """
    return with_quotes_of_strings(text).split(b'"')


def with_quotes_of_strings(text: bytes) -> bytes:
    """The text with no quotes but those at the ends of strings: of the others see `_HIDDEN`."""
    if b"\\" in text:
        # pairs of backslashes first: the quote in `\\"` ends a string, the one in `\"` does not
        text = text.replace(rb"\\", _BACKSLASH).replace(rb"\"", _QUOTE)
    return text


def doubled_name(outside: bytes, strings: list[bytes]) -> Optional[DoubledName]:
    """Find the first name that stands twice in one object; of what is no JSON anything or nothing.

    Args:
        outside: the text with a quote for each string.
        strings: the strings, as `split_at_quotes` gives them.
    """
    # k for a name, which has a colon behind it, and a quote for any other string
    marks = outside.translate(None, _NOT_STRUCTURE).replace(b'":', b"k")
    names = _spelt_out(list(compress(strings, marks.translate(_IS_NAME, b"{}:"))))
    if len(set(names)) == len(names):
        return None
    open_objects: list[set[Any]] = []
    at = 0
    for opened in marks.translate(None, b'":').split(b"{")[1:]:
        # up to the first `}` the names are of the object that begins here, then of those around it:
        # an array has no names of its own
        open_objects.append(set())
        for index, run in enumerate(opened.split(b"}")):
            if index and open_objects:
                open_objects.pop()
            if run and open_objects:
                ours, more = open_objects[-1], names[at : at + len(run)]
                new = set(more)
                if len(new) != len(more) or not ours.isdisjoint(new):
                    return _first_doubled(ours, more, len(open_objects))
                ours |= new
                at += len(run)
    return None


def _first_doubled(
    seen: set[Any], names: Sequence[Union[bytes, str]], level: int
) -> Optional[DoubledName]:
    for name in names:
        if name in seen:
            shown = name if isinstance(name, str) else name.decode("utf-8", "replace")
            return DoubledName(shown, level)
        seen.add(name)
    return None


def _spelt_out(names: list[bytes]) -> Union[list[bytes], list[str]]:
    r"""The names without escapes: `"id"` may be written as `"\u0069d"`."""
    joined = b'","'.join(names)
    if _HIDDEN.search(joined) is None:
        return names
    array = b'["%b"]' % joined.replace(_QUOTE, rb"\"").replace(_BACKSLASH, rb"\\")
    try:
        return _STRINGS.decode(array)
    except (msgspec.DecodeError, UnicodeError):
        return names


def doubled_in(text: bytes) -> Optional[DoubledName]:
    """Find the first name that stands twice in one object of a whole text."""
    if b"\\" not in text:
        strings = text.split(b'"')[1::2]
        # true of most small messages: no string is there twice, so no name is
        if len(set(strings)) == len(strings):
            return None
    parts = split_at_quotes(text)
    return doubled_name(b'"'.join(parts[::2]), parts[1::2])
