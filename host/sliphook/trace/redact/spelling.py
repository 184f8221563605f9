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
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

PIECE: Final = 32 * 1024
"""Bytes that one C call works on: it keeps the interpreter's lock, for less than a millisecond."""

LEVELS: Final = 4
r"""How often `\uXXXX` and the like are decoded; more is needed only if escapes are escaped so."""

_SHORT_ESCAPES: Final = bytes.maketrans(b"\b\f\n\r\t", b"bfnrt")
# a run of backslashes is entered at its beginning alone, and once: else the time were quadratic
_UNIT: Final = re.compile(
    rb"(?<!\\)\\++(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U(00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})"
    # `quote` may have cut JSON inside of an escape: what is left of it stands for nothing
    rb"|[uxU][0-9a-fA-F]{0,7}(?=\xe2\x80\xa6))"
)
_UNIT_BYTES: Final = 12
_BEGINNINGS: Final = (rb"\u", rb"\x", rb"\U")
_BACKSLASHES: Final = re.compile(rb"\\+")


class Edit(NamedTuple):
    """A part of a text that a form replaces by `length` other bytes."""

    start: int
    end: int
    length: int


def stripped(text: bytes) -> bytes:
    """The text without backslashes, control characters as the letters of their escapes."""
    return b"".join(
        text[at : at + PIECE].translate(_SHORT_ESCAPES, b"\\") for at in range(0, len(text), PIECE)
    )


def stripped_edits(text: bytes) -> Iterator[Edit]:
    """What `stripped` takes away."""
    return (Edit(found.start(), found.end(), 0) for found in _BACKSLASHES.finditer(text))


def decoded(text: bytes) -> bytes:
    r"""The text with one level of `\uXXXX` and the like decoded as UTF-8, half a pair by itself."""
    if not any(beginning in text for beginning in _BEGINNINGS):
        return text
    return b"".join(_UNIT.sub(_decode, text[start:end]) for start, end in pieces(text))


def decoded_edits(text: bytes) -> Iterator[Edit]:
    """What `decoded` replaces."""
    for start, end in pieces(text):
        for found in _UNIT.finditer(text[start:end]):
            yield Edit(start + found.start(), start + found.end(), len(_decode(found)))


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


def sources(spans: list[tuple[int, int]], edits: Iterable[Edit]) -> list[tuple[int, int]]:
    """The parts of a text that became `spans` by the edits; no span may be empty."""
    first_of: dict[int, int] = {}
    end_of: dict[int, int] = {}
    remaining = iter(edits)
    edit = next(remaining, None)
    shift = 0  # from a place in the form to the place in the text, behind the edits so far
    for at in sorted({at for start, end in spans for at in (start, end - 1)}):
        while edit is not None and edit.start - shift + edit.length <= at:
            shift = edit.end - (edit.start - shift + edit.length)
            edit = next(remaining, None)
        if edit is not None and edit.start - shift <= at:
            first_of[at], end_of[at] = edit.start, edit.end
        else:
            first_of[at], end_of[at] = at + shift, at + shift + 1
    return [(first_of[start], end_of[end - 1]) for start, end in spans]


def _decode(found: re.Match[bytes]) -> bytes:
    digits = found[1] or found[2] or found[3]
    return _character(digits) if digits else b""


@lru_cache(maxsize=1_024)
def _character(digits: bytes) -> bytes:
    return chr(int(digits, 16)).encode("utf-8", "surrogatepass")
