"""Pure: what a server may send, whatever it comes over."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Final

from sliphook_sdk.protocol.weight import Weight, weigh

MAX_MESSAGE_BYTES: Final = 16 * 1024 * 1024
"""The longest message of a server."""
MAX_DESCRIPTION_CHARS: Final = 4_000
"""Of a tool, so much is used."""
MOST_VALUES: Final = 100_000
"""Values in one message; to decode so many takes about 0.1 s, and nothing else is done then."""
MOST_PER_SECOND: Final = 1_000
"""Messages that are read in a second; the others wait where they are."""
MOST_RUBBISH: Final = 100
"""Messages that are none of MCP, after which the connection ends."""
TOO_LONG: Final = f"it sent a message of more than {MAX_MESSAGE_BYTES // 2**20} MiB"

WHOLE_STEP_BYTES: Final = 256 * 1024
"""Looked through for halves in 6 ms at worst."""
_LINE_ENDS: Final = b"\r\n"
_FIRST: Final = rb"[89abAB][0-9a-fA-F]{2}"
_SECOND: Final = rb"[c-fC-F][0-9a-fA-F]{2}"
_HALF: Final = re.compile(
    # begins with a literal, which `re` finds quickly
    rb"\\u[dD](?:%b(?!\\u[dD]%b)|(?<!\\u[dD]%b\\u[dD])%b)" % (_FIRST, _SECOND, _FIRST, _SECOND)
)
"""Half a character alone, as an escape of JSON, where no backslash is escaped."""
_AROUND: Final = 12
"""What tells of half a character: its own escape, and the one before it or behind it."""
_BACKSLASH: Final = b"\0\0"
"""Stands for an escaped backslash meanwhile: no JSON holds this byte."""
_BACK: Final = bytes.maketrans(b"\0", b"\\")


def whole_characters(body: bytes) -> bytes:
    """JSON in which U+FFFD stands for each half of a character, and for what is no UTF-8.

    Servers in JavaScript write these when they cut a text, and the SDK drops such a message. A
    byte order mark at the beginning is dropped.
    """
    return b"".join(whole_pieces(body))


def whole_pieces(body: bytes) -> Iterator[bytes]:
    """The same in pieces, some of them empty: each is a step of `WHOLE_STEP_BYTES`."""
    if not body.isascii():
        decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        mended: list[bytes] = []
        for at in range(0, len(body), WHOLE_STEP_BYTES):
            mended.append(decoder.decode(body[at : at + WHOLE_STEP_BYTES]).encode())
            yield b""
        body = b"".join([*mended, decoder.decode(b"", True).encode()])
    if b"\\" not in body or b"\0" in body:
        yield body
        return
    at, before = 0, b""
    while at < len(body):
        piece = body[at : at + WHOLE_STEP_BYTES]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:  # an escape is not torn from its backslash
            piece = body[at : at + WHOLE_STEP_BYTES + 1]
        end = at + len(piece)
        # all in C, and nothing becomes longer: a message may have millions of escapes
        plain = (piece + body[end : end + _AROUND]).replace(b"\\\\", _BACKSLASH)
        whole = _HALF.sub(rb"\\ufffd", before + plain)
        yield whole[len(before) : len(before) + len(piece)].translate(_BACK)
        before = (before + plain[: len(piece)])[-_AROUND:]
        at = end


def too_heavy(body: bytes) -> str | None:
    """Why a whole message is not decoded, or None."""
    return _said(weigh(body, MOST_VALUES))


def _said(weight: Weight) -> str | None:
    return weight.excess and f"it sent a message that is too large: {weight.excess}"


class PerSecond:
    """Counts what came in the second that runs.

    Args:
        most: how many may come in a second.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._begun_s = 0.0
        self._count = 0

    def pause_s(self, count: int, now_s: float) -> float:
        """How long to read nothing, after so many more."""
        since_s = now_s - self._begun_s
        if since_s >= 1.0:
            self._begun_s, self._count, since_s = now_s, 0, 0.0
        self._count += count
        return 1.0 - since_s if self._count >= self._most else 0.0


class EventWeight:
    """Weighs the events of a stream (`text/event-stream`), and makes their characters whole.

    Attributes:
        lines: how many lines have ended.
    """

    def __init__(self) -> None:
        self.lines = 0
        self._ended = bytearray()
        self._line = bytearray()
        self._bytes = 0
        self._weight = Weight(MOST_VALUES)
        self._ended_with_cr = False

    def add(self, piece: bytes) -> str | None:
        """Take the next bytes; why they must not be decoded, or None."""
        if self._ended_with_cr and piece.startswith(b"\n"):
            self._ended += b"\n"
            piece = piece[1:]
        self._ended_with_cr = piece.endswith(b"\r")
        for part in piece.splitlines(keepends=True):
            self._line += part
            if self._bytes + len(self._line) > MAX_MESSAGE_BYTES:
                return TOO_LONG
            if part[-1] in _LINE_ENDS and (why := self._end_line()) is not None:
                return why
        return None

    def ended(self) -> bytes:
        """The lines that have ended since this was asked, with whole characters."""
        ended = bytes(self._ended)
        self._ended.clear()
        return ended

    def rest(self) -> bytes:
        """The line that has not ended, at the end of the stream."""
        return whole_characters(bytes(self._line))

    def _end_line(self) -> str | None:
        line = whole_characters(bytes(self._line))
        self._line.clear()
        self._ended += line
        self.lines += 1
        if not line.strip(_LINE_ENDS):
            self._bytes = 0
            self._weight = Weight(MOST_VALUES)
        elif line.startswith(b"data:"):
            self._bytes += len(line)
            self._weight.add(line[5:])
        return _said(self._weight)
