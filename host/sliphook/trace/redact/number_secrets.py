"""Pure: finds secrets that are numbers where their digits do not go on.

Inside of a longer number they would stand by chance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .occurrences import FEW, HEAD, Found, Pause, Secret

_STEP: Final = 4 * 1024
"""Bytes of which all numbers are looked up in one step of the work."""

_BEGIN: Final = re.compile(
    rb"[-0-9](?<![0-9].)(?<![0-9]\..)(?:(?<=[0-9])|(?=[0-9]))"
    rb"(?=([0-9]*(?:\.[0-9]+)?)((?:[eE][+-]?[0-9]+)?))"
)
"""The first character of a number: its digits end where the first group does, or the second."""


class NumberSecrets:
    """The numbers of a text are looked up, so the time hardly depends on how many are secret.

    That takes 0.5 us for each number of the text.
    """

    def __init__(self) -> None:
        self._by_text: dict[bytes, Secret] = {}

    def add(self, secret: Secret) -> None:
        """Find this one, too: a number of fewer than `HEAD` bytes."""
        self._by_text[secret.text] = secret

    def find(self, text: bytes, pause: Pause) -> Iterator[Found]:
        """Every one of them in the text, in order; some may lie inside of others."""
        numbers = list(self._by_text)  # others may be added meanwhile
        if len(numbers) <= FEW and not any(number in text for number in numbers):
            return
        for window in range(0, len(text), _STEP):
            pause()
            # no number lies across both bounds
            for begin in _BEGIN.finditer(text, window, window + _STEP + HEAD):
                start = begin.start()
                if start >= window + _STEP:
                    break
                for end in sorted({begin.end(1), begin.end(2)}):
                    secret = self._by_text.get(text[start:end])
                    if secret is not None and not _goes_on(text, end):
                        yield Found(start, end, secret)


def _goes_on(text: bytes, end: int) -> bool:
    return text[end : end + 1] == b"." and text[end + 1 : end + 2].isdigit()
