"""Pure: replaces secrets in texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from .occurrences import Found, Pause, go_on
from .secrets import Secrets
from .spelling import LEVELS, decoded, decoded_pieces, sources, stripped, stripped_pieces

__all__ = ["BEHIND", "REDACTED", "Redactor"]

REDACTED: Final = "[redacted]"

MAX_FOUND: Final = 1_000
FEW_FOUND: Final = 16
BYTES_EACH: Final = 64
"""A text with more secrets than `FEW_FOUND` and one for each so many bytes, or than `MAX_FOUND`, is
replaced as a whole. Each takes 3 to 5 us, and a plugin may write nothing else."""

BEHIND: Final = 4 * 1024
"""Bytes behind a cut that are looked at: a secret across the cut is found, and none of it kept."""

_REDACTED: Final = REDACTED.encode()
_BEFORE_VALUE: Final = frozenset({b":", b",", b"[", b" ", b"\t", b"\r", b"\n"})
_BEHIND_VALUE: Final = frozenset({b",", b"]", b"}", b" ", b"\t", b"\r", b"\n"})

_CUT: Final = "…".encode()
_CUTS: Final = 4
"""How many cuts of a text are checked for the beginning of a secret, from its end."""

_CUT_LEVELS: Final = 2
"""At how many levels they are: as the text is written, and without the escapes of `quote`."""

_RUN: Final = 64
_QUOTE_DEPTH: Final = 64
"""Backslashes before a quote that are repeated for a secret number: JSON in six levels has 63."""


class _Part(NamedTuple):
    """What is replaced, as a part of the text, and by what."""

    start: int
    end: int
    replacement: bytes


class Redactor:
    """Replaces secrets in texts.

    A secret is found as plain text, in any string of a message at any depth, and inside JSON that
    is itself a JSON string, in every way that JSON, `quote` or a `repr` of Python can escape it, so
    also in a line that was quoted for people before. It is not found if it was encoded in another
    way: base64, a URL, split over two strings. Backslashes do not count in the search,
    so that a little more may be hidden than the secret.

    The time is linear in the text, and no single step of it is long: the interpreter's lock can be
    taken over in between.

    Args:
        secrets: these.
        pause: called between the steps.
    """

    def __init__(self, secrets: Iterable[str] = (), pause: Pause = go_on) -> None:
        self._pause = pause
        self._secrets = Secrets()
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Replace these from now on, too.

        Empty ones are ignored. Of one with several lines each long line is a secret, too.
        """
        self._secrets.add(secrets)

    def data(self, data: bytes, limit: int | None = None) -> bytes:
        """`data` with every secret replaced.

        JSON stays JSON, unless a secret was outside of all strings.

        Args:
            data: the text.
            limit: keep no more than so many bytes of it; what is far behind is not looked at.
        """
        kept = len(data) if limit is None else min(limit, len(data))
        if not self._secrets:
            return data[:kept]
        seen = data[: kept + BEHIND]
        most = min(MAX_FOUND, FEW_FOUND + len(seen) // BYTES_EACH)
        found = self._found(seen, most, is_cut=kept < len(data))
        if found is None:
            return _REDACTED
        parts = _apart(
            part for part in _parts(seen, self._each(sorted(found))) if part.start < kept
        )
        if not parts:
            return data[:kept]
        changed = _replaced(seen, parts, kept)
        if any(part.replacement != _REDACTED for part in parts) and (
            _is_json(data[:kept]) and not _is_json(changed)
        ):
            # a list inside of a string: no quote tells the depth
            parts = [
                part if part.replacement == _REDACTED else part._replace(replacement=b"null")
                for part in parts
            ]
            changed = _replaced(seen, parts, kept)
        return changed

    def _found(self, data: bytes, most: int, *, is_cut: bool) -> list[Found] | None:
        """Secrets in `data`, at every level of its escapes; they may overlap.

        None if there are more than `most`.
        """
        text, levels, left = data, list[tuple[bytes, list[Found]]](), most
        for level in range(LEVELS + 1):
            form = stripped(text)
            found = list(islice(self._each(self._secrets.find(form, self._pause)), left + 1))
            if level < _CUT_LEVELS and len(found) <= left:
                found += self._beginnings(form, is_cut=is_cut)
            if len(found) > left:
                return None
            left -= len(found)
            levels.append((text, found))
            text = decoded(text, self._pause)
            if text == levels[-1][0]:
                break
        # from the last to the first, so each is gone through once
        all_found, spans = list[Found](), list[tuple[int, int]]()
        for text, found in reversed(levels):
            if spans:
                spans = sources(spans, decoded_pieces(text), self._pause)
            if found:
                all_found += found
                own = [(one.start, one.end) for one in found]
                spans += sources(own, stripped_pieces(text), self._pause)
        return [
            Found(start, end, one.secret)
            for (start, end), one in zip(spans, all_found, strict=True)
        ]

    def _each(self, found: Iterable[Found]) -> Iterator[Found]:
        for one in found:
            self._pause()
            yield one

    def _beginnings(self, form: bytes, *, is_cut: bool) -> Iterator[Found]:
        """The beginning of a secret at the end of a text, or before a `…`, where it was cut."""
        end = len(form)
        if is_cut:
            found = self._secrets.beginning_before(form, end)
            if found is not None:
                yield found
        for _ in range(_CUTS):
            end = form.rfind(_CUT, 0, end)
            if end < 0:
                break
            found = self._secrets.beginning_before(form, end)
            if found is not None:
                yield found

    def text(self, text: str) -> str:
        """`text` with every secret replaced."""
        if not self._secrets:
            return text
        try:
            # names of files that are no UTF-8 have surrogates in Python; plain `encode` would raise
            data = text.encode("utf-8", errors := "surrogateescape")
        except UnicodeEncodeError:
            data = text.encode("utf-8", errors := "surrogatepass")
        return self.data(data).decode("utf-8", errors)


def _parts(data: bytes, found: Iterable[Found]) -> Iterator[_Part]:
    """What is to be replaced for each secret, in order; of numbers only those that are values."""
    quotes = _Quotes(data)
    for start, end, secret in found:
        is_value = (
            (secret.bare or secret.number)
            and data[max(0, start - 1) : start] in _BEFORE_VALUE
            and data[end : end + 1] in _BEHIND_VALUE
        )
        if secret.bare or is_value:
            if is_value:
                quote = quotes.before(start)
                yield _Part(start, end, quote + _REDACTED + quote if quote else b"null")
            continue
        run = _backslashes_before(data, start)
        if run % 2 or secret.begins_escaped or data[start : start + 1] == b"\\":
            start -= run
        if secret.ends_escaped:
            run = _backslashes_from(data, end)
            end += run - run % 2  # the last of an odd run belongs to what follows
        yield _Part(start, end, _REDACTED)


class _Quotes:
    """Finds the quote before a place in the text; the places must rise, so it looks only once."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._looked = 0
        self._quote = b'"'

    def before(self, at: int) -> bytes:
        """The last quote before `at`, with its backslashes; empty if they are too many."""
        found = self._text.rfind(b'"', self._looked, at)
        self._looked = max(at, self._looked)
        if found >= 0:
            depth = _backslashes_before(self._text, found)
            self._quote = b"\\" * depth + b'"' if depth < _QUOTE_DEPTH else b""
        return self._quote


def _backslashes_before(text: bytes, at: int) -> int:
    start = at
    while start > 0:
        piece = text[max(0, start - _RUN) : start]
        rest = len(piece.rstrip(b"\\"))
        start -= len(piece) - rest
        if rest:
            break
    return at - start


def _backslashes_from(text: bytes, at: int) -> int:
    end = at
    while end < len(text):
        piece = text[end : end + _RUN]
        rest = len(piece.lstrip(b"\\"))
        end += len(piece) - rest
        if rest:
            break
    return end - at


def _apart(parts: Iterable[_Part]) -> list[_Part]:
    """The parts in order; those that overlap become one."""
    apart: list[_Part] = []
    for part in sorted(parts):
        if apart and part.start < apart[-1].end:
            apart[-1] = apart[-1]._replace(end=max(part.end, apart[-1].end))
        else:
            apart.append(part)
    return apart


def _replaced(text: bytes, parts: Iterable[_Part], kept: int) -> bytes:
    """The first `kept` bytes of the text, with the parts replaced."""
    pieces: list[bytes] = []
    at = 0
    for part in parts:
        pieces += (text[at : part.start], part.replacement)
        at = part.end
    return b"".join([*pieces, text[at:kept]])


def _is_json(data: bytes) -> bool:
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
    return True
