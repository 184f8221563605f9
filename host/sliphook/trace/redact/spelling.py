r"""Pure: a text without the escapes of JSON and of `quote`, and where each byte of that stood.

JSON has many spellings of one text, and JSON in JSON doubles the backslashes at each level; what is
shown to people was escaped by `quote` besides, or by `repr`. So a secret is not searched for in all
its spellings: the text and the secret are brought to one form.

`stripped` leaves out every backslash and turns a control character into the letter of its escape;
`\n`, `\\n` and a line feed all become `n`. `decoded` turns each `\uXXXX`, `\xXX` and `\UXXXXXXXX`
into its character; if those are escaped so too, another pass finds the next level.

Both look at each byte once and forget it. So if a text holds a secret, the form of the text holds
the form of the secret, whatever stands before and behind it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import accumulate
from typing import Final, NamedTuple

from .occurrences import Pause, go_on

PIECE: Final = 16 * 1024
"""Bytes that one C call works on: it keeps the interpreter's lock, for less than a millisecond."""

LEVELS: Final = 4
r"""How often `\uXXXX` and the like are decoded; more is needed only if escapes are escaped so."""

_SHORT_ESCAPES: Final = bytes.maketrans(b"\b\f\n\r\t", b"bfnrt")
# a run of backslashes is entered at its beginning alone, and once: else the time were quadratic
_UNIT: Final = re.compile(
    rb"((?<!\\)\\++(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}"
    # `quote` may have cut JSON inside of an escape: what is left of it stands for nothing
    rb"|[uxU][0-9a-fA-F]{0,7}(?=\xe2\x80\xa6)))"
)
_WHOLE: Final = {b"u": 5, b"x": 3, b"U": 9}
"""The bytes of a whole unit behind its backslashes."""
_UNIT_BYTES: Final = 12
_BEGINNINGS: Final = (rb"\u", rb"\x", rb"\U")


class Piece(NamedTuple):
    """A part of a text, and what a form makes of it.

    Attributes:
        start: where it begins in the text.
        length: its bytes in the form.
        source: makes what tells which part of it, from its beginning, became a byte of the form.
    """

    start: int
    length: int
    source: Callable[[], Callable[[int], tuple[int, int]]]


def stripped(text: bytes) -> bytes:
    """The text without backslashes, control characters as the letters of their escapes."""
    return b"".join(
        text[at : at + PIECE].translate(_SHORT_ESCAPES, b"\\") for at in range(0, len(text), PIECE)
    )


def stripped_pieces(text: bytes) -> Iterator[Piece]:
    """What `stripped` does to each part of the text."""
    for at in range(0, len(text), PIECE):
        piece = text[at : at + PIECE]
        yield Piece(at, len(piece) - piece.count(b"\\"), partial(_source_of_stripped, piece))


def decoded(text: bytes, pause: Pause = go_on) -> bytes:
    r"""The text with one level of `\uXXXX` and the like decoded as UTF-8, half a pair by itself."""
    if not any(beginning in text for beginning in _BEGINNINGS):
        return text
    forms: list[bytes] = []
    for start, end in pieces(text):
        pause()
        forms += _parts(text[start:end])[1]
    return b"".join(forms)


def decoded_pieces(text: bytes) -> Iterator[Piece]:
    """What `decoded` does to each part of the text."""
    for start, end in pieces(text):
        plain, form = _parts(text[start:end])
        yield Piece(start, sum(map(len, form)), partial(_source_of_decoded, plain, form))


def _parts(piece: bytes) -> tuple[list[bytes], list[bytes]]:
    """The piece in parts, of which every second one is a unit, and what becomes of each."""
    parts = _UNIT.split(piece)
    form = parts.copy()
    # without the backslashes, of which there may be thousands: what is cached is short
    form[1::2] = [_character(unit.lstrip(b"\\")) for unit in parts[1::2]]
    return parts, form


def pieces(text: bytes) -> Iterator[tuple[int, int]]:
    r"""Pieces of the text, none of which ends inside an escape or, if it can, a run of `\`."""
    start = 0
    while start < len(text):
        end = min(start + PIECE, len(text))
        cut = text.rfind(b"\\", end - _UNIT_BYTES + 1, end) if end < len(text) else -1
        if cut >= 0:
            run_start = start + len(text[start:cut].rstrip(b"\\"))
            end = run_start if run_start > start else cut
        yield start, end
        start = end


def sources(
    spans: list[tuple[int, int]], parts: Iterable[Piece], pause: Pause = go_on
) -> list[tuple[int, int]]:
    """The parts of a text that became `spans` of a form; no span may be empty."""
    source_of: dict[int, tuple[int, int]] = {}
    remaining = iter(parts)
    begin = end = 0  # of a piece in the form
    piece: Piece | None = None
    source: Callable[[int], tuple[int, int]] | None = None
    for at in sorted({at for first, behind in spans for at in (first, behind - 1)}):
        while at >= end:
            pause()
            piece = next(remaining)
            begin, end, source = end, end + piece.length, None
        assert piece is not None, "a place in a text lies in one of its pieces"
        source = source or piece.source()
        first, behind = source(at - begin)
        source_of[at] = piece.start + first, piece.start + behind
    return [(source_of[first][0], source_of[behind - 1][1]) for first, behind in spans]


def _source_of_stripped(piece: bytes) -> Callable[[int], tuple[int, int]]:
    ends = list(accumulate(map(len, piece.split(b"\\"))))

    def source(at: int) -> tuple[int, int]:
        place = at + bisect_right(ends, at)  # so many backslashes stand before it
        return place, place + 1

    return source


def _source_of_decoded(parts: list[bytes], form: list[bytes]) -> Callable[[int], tuple[int, int]]:
    starts = list(accumulate(map(len, parts), initial=0))
    form_starts = list(accumulate(map(len, form), initial=0))

    def source(at: int) -> tuple[int, int]:
        number = bisect_right(form_starts, at) - 1
        if number % 2:
            return starts[number], starts[number + 1]
        place = at + starts[number] - form_starts[number]
        return place, place + 1

    return source


@lru_cache(maxsize=1_024)
def _character(digits: bytes) -> bytes:
    if len(digits) != _WHOLE[digits[:1]]:
        return b""
    return chr(int(digits[1:], 16)).encode("utf-8", "surrogatepass")
