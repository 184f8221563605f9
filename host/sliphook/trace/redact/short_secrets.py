"""Pure: finds many secrets of a few bytes, in one pass for all of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Set
from itertools import compress
from typing import Final

from .occurrences import FEW, WINDOW, Found, Pause, Secret, found_at, occurrences

STEP: Final = 4


class ShortSecrets:
    """Secrets that are shorter than `END`.

    Of each the first four bytes are kept, and a text is looked at in steps from each of its first
    four bytes; where a step is the beginning of one, what stands there is looked up. So the time
    hardly depends on how many there are, nor on how often a text begins one of them: that is 0.1 to
    0.4 us for each place. Shorter than a step are only single characters in quotes.
    """

    END: Final = 2 * STEP - 1
    """Wherever a longer secret lies, one whole step of the text is inside of it."""

    def __init__(self) -> None:
        self._all: list[Secret] = []
        self._by_text: dict[bytes, list[Secret]] = {}
        self._begins: set[int] = set()
        self._lengths: set[int] = set()
        self._characters: list[Secret] = []

    def add(self, secret: Secret) -> None:
        """Find this one, too."""
        length = len(secret.text)
        self._by_text.setdefault(secret.text, []).append(secret)
        if length < STEP:
            self._characters.append(secret)
        else:
            self._begins.add(step_at(secret.text, 0))
            self._lengths.add(length)
        self._all.append(secret)

    def find(self, text: bytes, pause: Pause) -> Iterator[Found]:
        """Every one of them in the text, in no order; they may overlap."""
        windows = range(0, len(text), WINDOW)
        if len(self._all) <= FEW:
            for secret in self._all:
                yield from occurrences(secret, text, windows)
            return
        for secret in self._characters:
            yield from occurrences(secret, text, windows)
        ends: dict[Secret, int] = {}
        for at in windows:
            pause()
            starts = begun(text, at, self._begins)
            for found in self._looked_up(text, starts) if starts else ():
                if found.start >= ends.get(found.secret, 0):
                    ends[found.secret] = found.end
                    yield found

    def _looked_up(self, text: bytes, starts: list[int]) -> Iterator[Found]:
        for length in sorted(self._lengths):
            pieces = [text[start : start + length] for start in starts]
            known = map(self._by_text.__contains__, pieces)
            for start, piece in compress(zip(starts, pieces, strict=True), known):
                # at the end of the text it may be shorter
                for secret in self._by_text[piece] if len(piece) == length else ():
                    yield found_at(secret, text, start)


def begun(text: bytes, at: int, begins: Set[int]) -> list[int]:
    """Where the window that begins at `at` has one of these steps, in order."""
    view, starts = memoryview(text), list[int]()
    for first in range(at, at + STEP):
        window = view[first : first + WINDOW]
        steps = window[: len(window) // STEP * STEP].cast("I")
        if not begins.isdisjoint(steps):
            seen = map(begins.__contains__, steps)
            starts += compress(range(first, len(text), STEP), seen)
    starts.sort()
    return starts


def step_at(text: bytes, at: int) -> int:
    """The step at that place, as the items of a `memoryview` of integers have it."""
    return int.from_bytes(text[at : at + STEP], sys.byteorder)
