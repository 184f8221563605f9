"""Keeps secrets out of the trace, wherever in a message they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from .record import TraceRecord

__all__ = ["REDACTED", "Redactor"]

REDACTED: Final = "[redacted]"

_SHORT: Final = 4
"""Below this many characters (`1`, `yes`) a secret is hidden only where it is a whole JSON string: anywhere else it would eat the trace."""

_LINE: Final = 8
"""Shorter lines of a secret say little of it, and often stand elsewhere."""

_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")
_ESCAPES: Final = {"\b": b"b", "\f": b"f", "\n": b"n", "\r": b"r", "\t": b"t"}


class Redactor:
    """Replaces secrets in records.

    A secret is found as plain text, in any string of a message however deep, and inside JSON that is itself a JSON string, in every
    way that JSON can escape it. It is not found where it was encoded otherwise: base64, a URL, split over two strings.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: tuple[str, ...] = ()
        self._literals: tuple[tuple[bytes, bytes], ...] = ()
        self._escaped: re.Pattern[bytes] | None = None
        self._bare: re.Pattern[bytes] | None = None
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Hide these from now on, too. Empty ones are ignored; of one with several lines each long line is hidden for itself, too."""
        given = [secret for secret in secrets if secret]
        lines = (line for secret in given for line in secret.splitlines() if len(line) >= _LINE)
        known = {*self._secrets, *given, *lines}
        if len(known) == len(self._secrets):
            return
        ordered = tuple(sorted(known, key=len, reverse=True))  # the longest first: one secret may be the beginning of another
        self._literals = tuple(_literal(secret) for secret in ordered)
        self._escaped = re.compile(b"|".join(_any_spelling(secret) for secret in ordered)) if ordered else None
        numbers = [re.escape(secret.encode()) for secret in ordered if _NUMBER.fullmatch(secret)]
        self._bare = re.compile(rb"(?<=[:,\[ ])(?:" + b"|".join(numbers) + rb")(?=[,\]} ])") if numbers else None
        self._secrets = ordered

    def data(self, data: bytes) -> bytes:
        """`data` with every secret replaced. JSON stays JSON, unless a secret stood where no string is."""
        if self._escaped is None:
            return data
        if self._bare is not None:
            data = self._bare.sub(f'"{REDACTED}"'.encode(), data)  # a number as it stands in JSON: what takes its place is a string
        if b"\\" in data or self._bare is not None:
            return self._escaped.sub(REDACTED.encode(), data)
        for secret, replacement in self._literals:  # nothing is escaped: the quick way
            data = data.replace(secret, replacement)
        return data

    def text(self, text: str) -> str:
        """`text` with every secret replaced."""
        if self._escaped is None:
            return text
        return self.data(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def record(self, record: TraceRecord) -> TraceRecord:
        """`record` with every secret replaced; `size` still tells what went over the wire."""
        if self._escaped is None:
            return record
        body = None if record.body is None else self.data(record.body)
        method, verdict, note = (None if text is None else self.text(text) for text in (record.method, record.verdict, record.note))
        request_id = self.text(record.id) if isinstance(record.id, str) else record.id
        if (body, method, verdict, note, request_id) == (record.body, record.method, record.verdict, record.note, record.id):
            return record
        return msgspec.structs.replace(record, body=body, method=method, verdict=verdict, note=note, id=request_id)


def _literal(secret: str) -> tuple[bytes, bytes]:
    plain = secret.encode("utf-8", "surrogateescape")
    if len(secret) < _SHORT:
        return b'"' + plain + b'"', f'"{REDACTED}"'.encode()
    return plain, REDACTED.encode()


def _any_spelling(secret: str) -> bytes:
    r"""A pattern of `secret`, plain and escaped; as each level of JSON inside JSON doubles the backslashes, it takes any number."""
    pattern = b"".join(_any_spelling_of_char(char) for char in secret)
    if _NUMBER.fullmatch(secret) and len(secret) >= _SHORT:
        return rb"(?<![0-9])" + pattern + rb"(?![0-9])"  # in the middle of a longer number it stands by chance
    return rb'(?<=")' + pattern + rb'(?=\\*")' if len(secret) < _SHORT else pattern


def _any_spelling_of_char(char: str) -> bytes:
    units = char.encode("utf-16-be", "surrogatepass")
    unicode = b"".join(rb"\\+u(?i:" + units[i : i + 2].hex().encode() + b")" for i in range(0, len(units), 2))
    if char == "\\":
        plain = rb"\\+"
    elif char in '"/':
        plain = rb"\\*" + char.encode()
    else:
        plain = re.escape(char.encode("utf-8", "surrogateescape"))
    short = rb"|\\+" + _ESCAPES[char] if char in _ESCAPES else b""
    return b"(?:" + plain + short + b"|" + unicode + b")"
