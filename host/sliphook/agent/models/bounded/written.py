r"""Pure: text that grows by parts, and JSON with halves of characters in it.

A character beyond U+FFFF is two escapes in JSON (`\ud83d\ude00`). Servers that cut an answer
between them send each half in a chunk of its own, and a model may write one half alone. msgspec
takes neither. Here the halves of one text are joined, and one that stays alone becomes U+FFFD.
"""

from __future__ import annotations

import contextlib
import io
import re
from typing import Final, TypeVar

import msgspec

from sliphook.wire.decoding import DECODE_ERRORS

from .limits import (
    MAX_ANSWER_CHARS,
    MAX_ARGUMENTS_CHARS,
    MAX_EVENT_OBJECTS,
    TooMuch,
    outside_strings,
)

_T = TypeVar("_T")

UNKNOWN: Final = "\ufffd"

_BASE: Final = 0x10F000
"""A half stands in a decoded text as one of the 2,048 private characters from here on."""
_PLACES: Final = re.compile("[\U0010f000-\U0010f7ff]")
_PLACED: Final = re.compile("([\U0010f000-\U0010f3ff])([\U0010f400-\U0010f7ff])|" + _PLACES.pattern)
_PAIR: Final = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
# begins with a literal, which `re` finds quickly; pairs in a row are one match
_ESCAPES: Final = re.compile(rf"\\u(?:{_PAIR[3:]}(?:{_PAIR})*|([dD][89a-fA-F][0-9a-fA-F]{{2}}))")
_HAS_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")
_CLASH: Final = re.compile(r"\\u[dD][bB][fF][cCdD]")
_MAX_ESCAPES: Final = 4_000
_MAX_CHARS: Final = 128 * 1024
"""Of a text in which halves are looked for, as it takes several steps. Beyond these numbers it is
taken as broken."""
_BACKSLASH: Final = "\0\0"
"""Stands for an escaped backslash meanwhile: no JSON text holds this character."""


def decode(decoder: msgspec.json.Decoder[_T], data: str) -> tuple[_T, bool] | tuple[None, bool]:
    """What `data` says, and whether it has halves of characters, which `Written` joins.

    None if it is no JSON of that shape.

    Raises:
        TooMuch: it could become too many objects. The server's fault.
    """
    # counted before: an object of two bytes takes a hundred in memory
    if data.count("{") > MAX_EVENT_OBJECTS < outside_strings(data).count("{"):
        raise TooMuch(f"more than {MAX_EVENT_OBJECTS:,} objects in one event")
    try:
        return decoder.decode(data), False
    except DECODE_ERRORS:
        repaired, marked = _with_places(data)
    if repaired is not None:
        with contextlib.suppress(*DECODE_ERRORS):
            return decoder.decode(repaired), marked
    return None, False


def without_halves(data: str) -> str | None:
    """JSON with U+FFFD for every half that stands alone; None if it has none."""
    repaired, marked = _with_places(data)
    return _PLACES.sub(UNKNOWN, repaired) if repaired is not None and marked else repaired


def _with_places(data: str) -> tuple[str | None, bool]:
    """`data` with a private character for every half that stands alone, and True.

    None if it has none. If it has such characters of its own, those stay what they are: every half
    becomes U+FFFD, and the second value is False.
    """
    if len(data) > _MAX_CHARS or "\0" in data or _HAS_HALF.search(data) is None:
        return None, False
    data = data.replace(r"\\", _BACKSLASH)
    clash = _PLACES.search(data) is not None or _CLASH.search(data) is not None
    parts: list[str] = []
    at = 0
    for number, found in enumerate(_ESCAPES.finditer(data)):
        if number == _MAX_ESCAPES:
            return None, False
        if (half := found[1]) is not None:
            parts.append(data[at : found.start()])
            parts.append(UNKNOWN if clash else chr(_BASE + int(half, 16) - 0xD800))
            at = found.end()
    if not parts:
        return None, False
    return "".join([*parts, data[at:]]).replace(_BACKSLASH, r"\\"), not clash


def _joined(found: re.Match[str]) -> str:
    high, low = found[1], found[2]
    if high is None:
        return UNKNOWN
    return chr(0x10000 + ((ord(high) - _BASE) << 10) + (ord(low) - _BASE - 0x400))


class Budget:
    """How much of one answer is kept.

    Attributes:
        left: characters that may still come.

    Raises:
        TooMuch: by `take`, beyond `MAX_ANSWER_CHARS`. The server's fault.
    """

    def __init__(self) -> None:
        self.left = MAX_ANSWER_CHARS

    def take(self, chars: int) -> None:
        """Keep so many characters more."""
        self.left -= chars
        if self.left < 0:
            raise TooMuch(f"more than {MAX_ANSWER_CHARS:,} characters")


class Halves:
    """Joins the halves of a text whose parts come one after another."""

    def __init__(self) -> None:
        self._high = ""

    def add(self, part: str, marked: bool) -> str:
        """What of the text is certain with this part.

        Args:
            part: the next part.
            marked: its event had halves in it, as `decode` says.
        """
        if not part:
            return ""
        if not marked and not self._high:
            return part
        if not marked:
            self._high = ""
            return UNKNOWN + part
        part = self._high + part
        self._high = ""
        if "\U0010f000" <= part[-1] <= "\U0010f3ff":
            self._high, part = part[-1], part[:-1]
        return _PLACED.sub(_joined, part)

    def end(self) -> str:
        """The rest: U+FFFD if the last half stays alone."""
        high, self._high = self._high, ""
        return UNKNOWN if high else ""


def settled(text: str, marked: bool) -> str:
    """A text that comes in one part."""
    halves = Halves()
    return halves.add(text, marked) + halves.end() if marked else text


class Written:
    """A text that is kept until it is whole: linear in its length, however small its parts are.

    Args:
        budget: of the answer.
        limit: the longest; None leaves it to the budget.
        what: the text, for the error.
    """

    def __init__(
        self, budget: Budget, limit: int | None = None, what: str = "the arguments of one call"
    ) -> None:
        self._budget = budget
        self._limit = limit
        self._what = what
        self._halves = Halves()
        self._text = io.StringIO()
        self.length = 0
        self.ends_object = False

    def add(self, part: str, marked: bool) -> None:
        """Take the next part.

        Raises:
            TooMuch: the text or the answer has become too long. The server's fault.
        """
        self._budget.take(len(part))
        self.length += len(part)
        if self._limit is not None and self.length > self._limit:
            raise TooMuch(f"more than {self._limit:,} characters in {self._what}")
        if last := part.rstrip():
            self.ends_object = last[-1] == "}"
        self._text.write(self._halves.add(part, marked))

    def __str__(self) -> str:
        """All of it, whole: no part may come behind."""
        self._text.write(self._halves.end())
        return self._text.getvalue()

    def so_far(self) -> str:
        """What has come; more may come behind."""
        return self._text.getvalue()


def arguments(budget: Budget) -> Written:
    """The arguments of one call, still empty."""
    return Written(budget, MAX_ARGUMENTS_CHARS)
