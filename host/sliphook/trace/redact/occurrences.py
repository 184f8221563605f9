"""Pure: one secret in a text: where it stands, and how far the text agrees with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

HEAD: Final = 256
"""Bytes that a text and a long secret must share; what follows is hidden as far as it agrees."""

WINDOW: Final = 32 * 1024

FEW: Final = 32
"""So many short secrets or numbers are searched for one by one, which is quicker then."""

_COMPARED: Final = 64

Pause = Callable[[], object]
"""Called between two steps of the work, each of which takes up to about a millisecond."""


def go_on() -> None:
    """No pause."""


class Secret(NamedTuple):
    """What is searched for: one form of a secret.

    Attributes:
        text: the form; of a short secret with its quotes.
        whole: it is found only if it is a whole JSON string, and `text` has the quotes.
        number: it is not found inside of a longer number.
        bare: it is found only outside of JSON strings.
        begins_escaped: it may begin with an escape, whose backslashes belong to it.
        ends_escaped: it ends in a backslash.
    """

    text: bytes
    whole: bool = False
    number: bool = False
    bare: bool = False
    begins_escaped: bool = False
    ends_escaped: bool = False

    @property
    def head(self) -> bytes:
        """What is looked for first."""
        return self.text[:HEAD]


class Found(NamedTuple):
    """A secret in a text, without the quotes of a short one."""

    start: int
    end: int
    secret: Secret


def found_at(secret: Secret, text: bytes, start: int) -> Found:
    """The secret whose head begins at `start`."""
    end = _end(secret.text, text, start)
    if secret.whole:
        return Found(start + 1, end - 1, secret)
    return Found(start, end, secret)


def occurrences(secret: Secret, text: bytes, windows: Iterable[int]) -> Iterator[Found]:
    """Each place of the secret that lies in one of these windows, or across its bounds."""
    head, at = secret.head, 0
    for window in windows:
        at, end = max(at, window - HEAD), window + WINDOW + HEAD
        while (start := text.find(head, at, end)) >= 0:
            found = found_at(secret, text, start)
            yield found
            at = found.end  # the closing quote of a short one may open another string


def _end(secret: bytes, text: bytes, start: int) -> int:
    """How far the text agrees with the secret whose head begins at `start`."""
    length = min(HEAD, len(secret))
    while length < len(secret):
        wanted = secret[length : length + _COMPARED]
        given = text[start + length : start + length + _COMPARED]
        if wanted != given:
            return start + length + _shared(wanted, given)
        length += len(wanted)
    return start + length


def _shared(one: bytes, other: bytes) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
