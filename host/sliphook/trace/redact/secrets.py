"""Pure: finds any of many secrets in a text from which the escapes were taken (see `spelling`).

The time hardly depends on how many secrets there are, as long as none is found: of each secret a
few pieces of four bytes are kept in a set, and a text is first looked at in steps of four bytes.
Only where a step is such a piece is a secret looked for. Those that are too short for a whole step
to lie inside are in `short_secrets`, numbers in `number_secrets`.
"""

from __future__ import annotations

import contextlib
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import compress, islice
from typing import Final, NamedTuple

from .number_secrets import NumberSecrets
from .occurrences import HEAD, WINDOW, Found, Pause, Secret, found_at, go_on, occurrences
from .short_secrets import STEP, ShortSecrets, begun, step_at
from .spelling import decoded, stripped

SHORT: Final = 4
"""A shorter secret (`1`, `yes`) is found only as a whole JSON string, not inside other text."""

LINE: Final = 8
"""Shorter lines of a secret tell little of it, and often occur in other text."""

LINES: Final = 128
"""So many long lines of one secret are secrets of their own; a key of 8,192 bits has 100."""

ALL_LINES: Final = 1_024
"""The same for all secrets together. The host's loop adds them: so many take about 10 ms."""

_CHARS: Final = 64
"""Each so many characters of a secret count as one more text in `texts_in`."""

_PLACES: Final = 64
_LEAST_PLACES: Final = 4
"""So many places of a text are looked at in the time in which one secret is searched for: in a
window of the text, and in a short one."""

SEARCHED: Final = 16
"""If more secrets would have to be searched for one by one, the text counts as one of them.

Tokens that only begin alike are told apart by other pieces; so these are `aaa…ab`, each of another
length.
"""

_ATTEMPTS: Final = 8
"""Places in a secret that are tried for pieces that no other secret has."""

_NUMBER_CHARS: Final = 40
"""A longer number stands nowhere by chance, and is found inside of a longer one, too."""

_LONG_LINE: Final = re.compile(rf"[^\r\n]{{{LINE},}}")
_HALF: Final = re.compile("[\ud800-\udfff]")
_BYTE: Final = re.compile("[\udc80-\udcff]")
_PAIR: Final = re.compile("[\U00010000-\U0010ffff]")
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


class _Piece(NamedTuple):
    """A step that some secrets have.

    Attributes:
        secrets: those.
        places: where in them it stands, and how long their heads are; each pair once.
    """

    secrets: list[Secret]
    places: list[tuple[int, int]]


class Secrets:
    """The known secrets.

    `add` may be called in one thread while another one searches.
    """

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._known: set[bytes] = set()
        self._numbers = NumberSecrets()
        self._short = ShortSecrets()
        self._by_head: dict[bytes, list[Secret]] = {}
        self._by_step: dict[int, _Piece] = {}
        self._steps: set[int] = set()
        self._heads: list[bytes] = []
        self._first_steps: set[int] = set()
        self._lines_left = ALL_LINES

    def __bool__(self) -> bool:
        return bool(self._given)

    def add(self, secrets: Iterable[str]) -> None:
        """Search for these too, and for each of their long lines; an empty one is ignored."""
        new = [secret for secret in secrets if secret and secret not in self._given]
        if not new:
            return
        for secret in new:
            self._add_forms(secret)
            if "\n" in secret or "\r" in secret:
                lines = islice(_LONG_LINE.finditer(secret), min(LINES, self._lines_left))
                for line in lines:
                    self._lines_left -= 1
                    self._add_forms(line[0])
        self._heads.sort()
        # last: who sees the secret in here finds it, too
        self._given.update(new)

    def find(self, text: bytes, pause: Pause = go_on) -> Iterator[Found]:
        """Every secret in the text, in no order; they may overlap."""
        yield from self._short.find(text, pause)
        nearby: dict[Secret, list[int]] = {}
        left = len(text)  # places that may be looked at, though it were quicker to search
        view = memoryview(text)
        for at in range(0, len(text), WINDOW):
            pause()
            window = view[at : at + WINDOW]
            steps = window[: len(window) // STEP * STEP].cast("I")
            if self._steps.isdisjoint(steps):
                continue
            few = max(_LEAST_PLACES, _PLACES * len(window) // WINDOW)
            seen: dict[int, list[int]] = {}
            places = zip(range(at, len(text), STEP), steps, strict=False)
            for place, step in compress(places, map(self._steps.__contains__, steps)):
                seen.setdefault(step, []).append(place)
            for step, at_step in seen.items():
                piece = self._by_step[step]
                looks = len(at_step) * len(piece.places)
                if looks <= max(left, few * len(piece.secrets)):
                    left -= looks
                    yield from self._around(text, at_step, piece.places, pause)
                    continue
                for secret in piece.secrets:
                    windows = nearby.setdefault(secret, [])
                    if windows[-1:] != [at]:
                        windows.append(at)
        if len(nearby) > SEARCHED:
            # all of it: to search takes long if both the text and the secrets repeat themselves
            yield Found(0, len(text), next(iter(nearby)))
            return
        for secret, windows in nearby.items():
            pause()
            yield from occurrences(secret, text, windows)
        yield from self._numbers.find(text, pause)

    def _around(
        self,
        text: bytes,
        at_step: Iterable[int],
        places: Iterable[tuple[int, int]],
        pause: Pause,
    ) -> Iterator[Found]:
        for offset, length in places:
            pause()
            for start in (at - offset for at in at_step if at >= offset):
                for secret in self._by_head.get(text[start : start + length], ()):
                    yield found_at(secret, text, start)

    def beginning_before(self, text: bytes, end: int) -> Found | None:
        """The beginning of a secret that the text ends with at `end`, where it was cut."""
        window = text[max(0, end - HEAD + 1) : end]
        for start in begun(window, 0, self._first_steps):
            part = window[start:]
            at = bisect_left(self._heads, part)
            if at < len(self._heads) and self._heads[at].startswith(part):
                return Found(end - len(part), end, Secret(part))
        return None

    def _add_forms(self, secret: str) -> None:
        number = len(secret) <= _NUMBER_CHARS and _NUMBER.fullmatch(secret) is not None
        begins_escaped, ends_escaped = secret[0] in '\b\f\n\r\t\\"/', secret[-1] == "\\"
        for text in _forms(secret):
            # what is left of `a\\\\` is too common to be hidden wherever it stands
            short = len(secret) < SHORT or len(text) < SHORT
            if not text or text in self._known:
                continue
            self._known.add(text)
            if short and number:
                self._enter(Secret(text, bare=True))
            self._enter(
                Secret(
                    b'"' + text + b'"' if short else text,
                    short,
                    number and not short,
                    False,
                    begins_escaped,
                    ends_escaped,
                )
            )

    def _enter(self, secret: Secret) -> None:
        head = secret.head
        if not secret.whole and not secret.bare:
            self._heads.append(head)
            self._first_steps.add(step_at(head, 0))
        if secret.number or secret.bare:
            self._numbers.add(secret)
            return
        if len(head) < ShortSecrets.END:
            self._short.add(secret)
            return
        self._by_head.setdefault(head, []).append(secret)
        first = self._rare_steps(head)
        for offset in range(first, first + STEP):
            step = step_at(head, offset)
            piece = self._by_step.setdefault(step, _Piece([], []))
            if secret not in piece.secrets[-1:]:
                piece.secrets.append(secret)
            if (offset, len(head)) not in piece.places:
                piece.places.append((offset, len(head)))
            self._steps.add(step)

    def _rare_steps(self, head: bytes) -> int:
        """Where four pieces in a row have few other secrets to them: tokens often begin alike."""
        last = len(head) - ShortSecrets.END
        tried: dict[int, int] = {}
        for first in range(0, last + 1, max(1, last // _ATTEMPTS)):
            steps = [step_at(head, first + ahead) for ahead in range(STEP)]
            tried[first] = self._load(steps)
            if not tried[first]:
                return first
        return min(tried, key=tried.__getitem__)

    def _load(self, steps: Iterable[int]) -> int:
        return sum(len(self._by_step[step].secrets) for step in steps if step in self._by_step)


def texts_in(secret: str) -> int:
    """What a secret counts as where secrets are bounded: itself, its lines, and its length."""
    lines = min(LINES, secret.count("\n") + secret.count("\r"))
    return 1 + lines + len(secret) // _CHARS


def _forms(secret: str) -> set[bytes]:
    r"""The secret as `stripped` gives it, from plain text and if each character was escaped."""
    plain = secret.encode("utf-8", "surrogatepass")
    if secret.isascii() and secret.isprintable() and "\\" not in secret:
        return {plain}
    encoded = {plain}
    if _HALF.search(secret):
        # names of files that are no UTF-8 have these in Python, in place of their bytes
        with contextlib.suppress(UnicodeEncodeError):
            encoded.add(secret.encode("utf-8", "surrogateescape"))
        # a byte as `quote` shows it, decoded
        shown = _BYTE.sub(lambda found: chr(ord(found[0]) - 0xDC00), secret)
        encoded.add(shown.encode("utf-8", "surrogatepass"))
    paired = _PAIR.sub(lambda found: _halves(found[0]), secret)
    encoded.add(paired.encode("utf-8", "surrogatepass"))
    return {form for text in encoded for form in (stripped(text), stripped(decoded(text)))}


@lru_cache(maxsize=1_024)
def _halves(character: str) -> str:
    """A character as the pair that it is in JSON, each half by itself."""
    units = character.encode("utf-16-be")
    return chr(int.from_bytes(units[:2], "big")) + chr(int.from_bytes(units[2:], "big"))
