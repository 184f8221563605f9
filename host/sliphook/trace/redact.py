"""Replaces secrets in records, at any place in a message."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from .record import TraceRecord

__all__ = ["REDACTED", "Redactor"]

REDACTED: Final = "[redacted]"

_SHORT: Final = 4
"""A shorter secret (`1`, `yes`) is replaced only as a whole JSON string, not inside other text."""

_CUT: Final = "…".encode()
_CUTS: Final = 4
"""How many cuts of a text are checked for the beginning of a secret, from its end."""

_LINE: Final = 8
"""Shorter lines of a secret tell little of it, and often occur in other text."""

_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_ESCAPES: Final = {"\b": b"b", "\f": b"f", "\n": b"n", "\r": b"r", "\t": b"t"}


class Redactor:
    """Replaces secrets in records.

    A secret is found as plain text, in any string of a message at any depth, and inside JSON that
    is itself a JSON string, in every way that JSON can escape it. It is not found if it was encoded
    in another way: base64, a URL, split over two strings.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: tuple[str, ...] = ()
        self._literals: tuple[tuple[bytes, bytes], ...] = ()
        self._escaped: re.Pattern[bytes] | None = None
        self._bare: re.Pattern[bytes] | None = None
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Replace these from now on, too.

        Empty ones are ignored. Of one with several lines each long line is a secret, too.
        """
        given = [secret for secret in secrets if secret]
        lines = (line for secret in given for line in secret.splitlines() if len(line) >= _LINE)
        known = {*self._secrets, *given, *lines}
        if len(known) == len(self._secrets):
            return
        # The longest first, since one secret may be the beginning of another.
        ordered = tuple(sorted(known, key=len, reverse=True))
        self._literals = tuple(_literal(secret) for secret in ordered)
        self._escaped = (
            re.compile(b"|".join(_any_spelling(secret) for secret in ordered)) if ordered else None
        )
        numbers = [re.escape(secret.encode()) for secret in ordered if _NUMBER.fullmatch(secret)]
        self._bare = (
            re.compile(rb"(?<=[:,\[\s])(?:" + b"|".join(numbers) + rb")(?=[,\]}\s])")
            if numbers
            else None
        )
        self._secrets = ordered

    def data(self, data: bytes) -> bytes:
        """`data` with every secret replaced.

        JSON stays JSON, unless a secret was outside of all strings.
        """
        if self._escaped is None:
            return data
        if _CUT in data:
            data = self._without_beginnings(data)
        if self._bare is not None:
            data = _without_numbers(data, self._bare)
        # A secret number needs the pattern: `replace` would hit its digits in longer numbers, too.
        if b"\\" in data or self._bare is not None:
            return self._escaped.sub(REDACTED.encode(), data)
        for secret, replacement in self._literals:  # nothing is escaped: replace is faster
            data = data.replace(secret, replacement)
        return data

    def _without_beginnings(self, data: bytes) -> bytes:
        """Replace the beginning of a secret before a `…`, at which a text was cut."""
        end = len(data)
        for _ in range(_CUTS):
            end = data.rfind(_CUT, 0, end)
            if end < 0:
                break
            left = max((_left_of(secret, data[:end]) for secret in self._secrets), default=0)
            if left >= _SHORT:
                data = data[: end - left] + REDACTED.encode() + data[end:]
                end -= left
        return data

    def text(self, text: str) -> str:
        """`text` with every secret replaced."""
        if self._escaped is None:
            return text
        # File names that are no UTF-8 have surrogates in Python; plain `encode` would raise.
        return self.data(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def record(self, record: TraceRecord) -> TraceRecord:
        """`record` with every secret replaced; `size` still tells what went over the wire."""
        if self._escaped is None:
            return record
        body = None if record.body is None else self.data(record.body)
        method, verdict, note = (
            None if text is None else self.text(text)
            for text in (record.method, record.verdict, record.note)
        )
        request_id = self.text(record.id) if isinstance(record.id, str) else record.id
        # The same object tells `FileTrace` that nothing was replaced, so the body is still JSON.
        if (body, method, verdict, note, request_id) == (
            record.body,
            record.method,
            record.verdict,
            record.note,
            record.id,
        ):
            return record
        return msgspec.structs.replace(
            record, body=body, method=method, verdict=verdict, note=note, id=request_id
        )


def _left_of(secret: str, data: bytes) -> int:
    """How many bytes of the secret's beginning `data` ends with; 0 if it is the whole secret."""
    whole = secret.encode("utf-8", "surrogateescape")
    return next(
        (
            length
            for length in range(min(len(whole) - 1, len(data)), 0, -1)
            if data.endswith(whole[:length])
        ),
        0,
    )


def _without_numbers(data: bytes, numbers: re.Pattern[bytes]) -> bytes:
    """Replace secret numbers in JSON by strings, with quotes escaped like their neighbours."""

    def hidden(found: re.Match[bytes]) -> bytes:
        before = data[: max(0, data.rfind(b'"', 0, found.start()))]
        quote = b"\\" * (len(before) - len(before.rstrip(b"\\"))) + b'"'
        return quote + REDACTED.encode() + quote

    changed = numbers.sub(hidden, data)
    if changed == data or not _is_json(data) or _is_json(changed):
        return changed
    return numbers.sub(b"null", data)  # a list inside a string: no quote tells the depth


def _is_json(data: bytes) -> bool:
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
    return True


def _literal(secret: str) -> tuple[bytes, bytes]:
    plain = secret.encode("utf-8", "surrogateescape")
    if len(secret) < _SHORT:
        return b'"' + plain + b'"', f'"{REDACTED}"'.encode()
    return plain, REDACTED.encode()


def _any_spelling(secret: str) -> bytes:
    r"""A pattern of `secret`, plain and escaped; JSON in JSON doubles `\`, so any number fits."""
    pattern = b"".join(_any_spelling_of_char(char) for char in secret)
    if _NUMBER.fullmatch(secret) and len(secret) >= _SHORT:
        # In a longer number the digits are there by chance.
        return rb"(?<![0-9])(?<![0-9]\.)" + pattern + rb"(?!\.?[0-9])"
    # In JSON inside a string, the closing quote is escaped, with any number of backslashes.
    return rb'(?<=")' + pattern + rb'(?=\\*")' if len(secret) < _SHORT else pattern


def _any_spelling_of_char(char: str) -> bytes:
    # JSON escapes a character above U+FFFF as two units; hex digits may have either case.
    units = char.encode("utf-16-be", "surrogatepass")
    unicode = b"".join(
        rb"\\+u(?i:" + units[i : i + 2].hex().encode() + b")" for i in range(0, len(units), 2)
    )
    if char == "\\":
        plain = rb"\\+"
    elif char in '"/':
        plain = rb"\\*" + char.encode()
    else:
        plain = re.escape(char.encode("utf-8", "surrogateescape"))
    short = rb"|\\+" + _ESCAPES[char] if char in _ESCAPES else b""
    return b"(?:" + plain + short + b"|" + unicode + b")"
