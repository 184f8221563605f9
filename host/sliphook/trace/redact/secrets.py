"""Pure: finds any of many secrets in a text from which the escapes were taken (see `spelling`).

The time hardly depends on how many secrets there are, as long as none is found: of each secret a
few pieces of four bytes are kept in a set, and a text is first looked at in steps of four bytes.
Only secrets of which a piece was seen are searched for. Of those that are too short for a whole
step to lie inside, the first four bytes are kept, and a text is looked at in steps from each of
its first four bytes.
"""

from __future__ import annotations

import contextlib
import re
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from .spelling import decoded, stripped

SHORT: Final = 4
"""A shorter secret (`1`, `yes`) is found only as a whole JSON string, not inside other text."""

LINE: Final = 8
"""Shorter lines of a secret tell little of it, and often occur in other text."""

LINES: Final = 128
"""So many long lines of one secret are secrets of their own; a key of 8,192 bits has 100."""

ALL_LINES: Final = 1_024
"""The same for all secrets together. The host's loop adds them: so many take about 10 ms."""

HEAD: Final = 256
"""Bytes that a text and a long secret must share; what follows is hidden as far as it agrees."""

_STEP: Final = 4
_SEARCHED: Final = 2 * _STEP - 1
"""Wherever a secret of so many bytes lies, one whole step of the text is inside of it."""

_FEW: Final = 32
"""So many short secrets are searched for one by one, which is quicker then."""

_WINDOW: Final = 32 * 1024
_COMPARED: Final = 64

_ATTEMPTS: Final = 8
"""Places in a secret that are tried for pieces that no other secret has."""

_NUMBER_CHARS: Final = 40
"""A longer number stands nowhere by chance, and is found inside of a longer one, too."""

_LONG_LINE: Final = re.compile(rf"[^\r\n]{{{LINE},}}")
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")


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


class Found(NamedTuple):
    """A secret in a text, without the quotes of a short one."""

    start: int
    end: int
    secret: Secret


class Secrets:
    """The known secrets.

    `add` may be called in one thread while another one searches.
    """

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._known: set[bytes] = set()
        self._short: list[Secret] = []  # no whole step of a text lies inside of these
        self._shortest: list[Secret] = []  # those of them that are shorter than a step
        self._by_begin: dict[int, list[Secret]] = {}
        self._by_step: dict[int, list[Secret]] = {}
        self._steps: set[int] = set()
        self._heads: list[bytes] = []
        self._first_bytes: set[bytes] = set()
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

    def find(self, text: bytes) -> Iterator[Found]:
        """Every secret in the text, in no order; they may overlap."""
        windows = range(0, len(text), _WINDOW)
        for secret in self._short_ones(text):
            yield from _occurrences(secret, text, windows)
        nearby: dict[Secret, list[int]] = {}
        view = memoryview(text)
        for at in windows:
            window = view[at : at + _WINDOW]
            steps = window[: len(window) // _STEP * _STEP].cast("I")
            if not self._steps.isdisjoint(steps):
                for step in self._steps.intersection(steps):
                    for secret in self._by_step[step]:
                        nearby.setdefault(secret, []).append(at)
        for secret, places in nearby.items():
            yield from _occurrences(secret, text, places)

    def _short_ones(self, text: bytes) -> Iterable[Secret]:
        """The short secrets that may be in the text."""
        if len(self._short) <= _FEW:
            return self._short
        view = memoryview(text)
        begun: set[int] = set()
        for at in range(0, len(text), _WINDOW):
            for first in range(at, at + _STEP):
                window = view[first : first + _WINDOW]
                steps = window[: len(window) // _STEP * _STEP].cast("I")
                begun |= self._by_begin.keys() & steps
        return [*self._shortest, *(one for step in begun for one in self._by_begin[step])]

    def beginning_before(self, text: bytes, end: int) -> Found | None:
        """The beginning of a secret that the text ends with at `end`, where it was cut."""
        for start in range(max(0, end - HEAD + 1), end - SHORT + 1):
            if text[start : start + SHORT] in self._first_bytes:
                part = text[start:end]
                at = bisect_left(self._heads, part)
                if at < len(self._heads) and self._heads[at].startswith(part):
                    return Found(start, end, Secret(part))
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
        head = secret.text[:HEAD]
        if not secret.whole and not secret.bare:
            self._heads.append(head)
            self._first_bytes.add(head[:SHORT])
        if len(head) < _SEARCHED:
            self._short.append(secret)
            if len(head) < _STEP:
                self._shortest.append(secret)
            else:
                self._by_begin.setdefault(_number(head, 0), []).append(secret)
            return
        for step in set(self._rare_steps(head)):
            self._by_step.setdefault(step, []).append(secret)
            self._steps.add(step)

    def _rare_steps(self, head: bytes) -> Sequence[int]:
        """Four pieces in a row, with few other secrets to them: tokens often begin alike."""
        last = len(head) - _SEARCHED
        tried: list[Sequence[int]] = []
        for at in range(0, last + 1, max(1, last // _ATTEMPTS)):
            tried.append([_number(head, at + ahead) for ahead in range(_STEP)])
            if self._steps.isdisjoint(tried[-1]):
                return tried[-1]
        return min(tried, key=self._load)

    def _load(self, steps: Iterable[int]) -> int:
        return sum(len(self._by_step.get(step, ())) for step in steps)


def _occurrences(secret: Secret, text: bytes, windows: Iterable[int]) -> Iterator[Found]:
    """Each place of the secret that lies in one of these windows, or across its bounds."""
    is_number = secret.number or secret.bare
    head = secret.text[:HEAD]
    at = 0
    for window in windows:
        at, end = max(at, window - HEAD), window + _WINDOW + HEAD
        if is_number:
            for found in _alone(head).finditer(text, at, end):
                yield Found(found.start(), at := found.end(), secret)
            continue
        while (at_head := text.find(head, at, end)) >= 0:
            at = behind = _end(secret.text, text, at_head)
            if secret.whole:
                yield Found(at_head + 1, behind - 1, secret)
                at = behind - 1  # its closing quote may open another string
            else:
                yield Found(at_head, behind, secret)


@lru_cache(maxsize=1_024)
def _alone(number: bytes) -> re.Pattern[bytes]:
    """Finds a number where its digits do not go on, as they would be there by chance.

    Not in Python: a text may be full of them.
    """
    # begins with the number, which `re` finds quickly
    literal = re.escape(number)
    return re.compile(rb"%b(?<![0-9]%b)(?<![0-9]\.%b)(?!\.?[0-9])" % ((literal,) * 3))


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


def _forms(secret: str) -> set[bytes]:
    r"""The secret as `stripped` gives it, from plain text and if each character was a `\uXXXX`."""
    plain = secret.encode("utf-8", "surrogatepass")
    if secret.isascii() and secret.isprintable() and "\\" not in secret:
        return {plain}
    encoded = {plain}
    # names of files that are no UTF-8 have surrogates in Python, in place of their bytes
    with contextlib.suppress(UnicodeEncodeError):
        encoded.add(secret.encode("utf-8", "surrogateescape"))
    units = secret.encode("utf-16-be", "surrogatepass")
    if len(units) > 2 * len(secret):  # a character that is a pair in JSON
        halves = (chr(int.from_bytes(units[at : at + 2], "big")) for at in range(0, len(units), 2))
        encoded.add("".join(halves).encode("utf-8", "surrogatepass"))
    return {form for text in encoded for form in (stripped(text), stripped(decoded(text)))}


def _number(text: bytes, at: int) -> int:
    return int.from_bytes(text[at : at + _STEP], sys.byteorder)
