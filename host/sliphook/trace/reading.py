"""Pure: from the bytes of a trace file to its records. Lines that are no records are reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from sliphook.errors import SliphookError
from sliphook.quoting import quote
from sliphook.wire.decoding import DECODE_ERRORS

from .bodies import HEADER
from .line_format import FORMAT, UnknownKind, decode_line
from .record import TraceRecord

__all__ = ["MAX_LINE_BYTES", "NotATrace", "TraceReader", "Trouble", "records_of"]

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
"""The longest line that a trace can have: the longest message in base64, with room to spare."""

_PATIENCE: Final = 20
"""A file that begins with so many lines without a record is no trace."""

_LATEST_S: Final = 2e11
"""Some thousand years. No clock shows more, and the views can compute with less."""

Trouble = Callable[[int, str], None]
"""Called with a line that is no record: its number, from 1, and why it is none."""


class NotATrace(SliphookError):
    """The file is no trace; str() says why, in words that follow the file's name."""


class TraceReader:
    """Takes the bytes of a file in pieces of any size.

    Args:
        trouble: Called for each line that is no record.

    Raises:
        NotATrace: (both methods) the file has a format that is not known here.
    """

    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble
        self._rest = bytearray()
        self._line = 0
        self._skipping = False

    def feed(self, data: bytes) -> Iterator[TraceRecord]:
        """The records that are complete now; the beginning of a line waits for its rest."""
        end = data.rfind(b"\n") + 1
        if not end:
            self._keep(data)
            return
        whole = bytes(self._rest) + data[:end]
        self._rest.clear()
        # Not `splitlines`, which also splits at a CR: in this format only LF ends a record.
        for line in whole.split(b"\n")[:-1]:
            self._line += 1
            if self._skipping:
                self._skipping = False
            elif record := self._read(line):
                yield record
        self._keep(data[end:])

    def close(self) -> Iterator[TraceRecord]:
        """The record of the last line, if the file ends without a line break."""
        line, self._rest = bytes(self._rest), bytearray()
        if line:
            self._line += 1
            if record := self._read(line):
                yield record
        self._skipping = False

    def _keep(self, data: bytes) -> None:
        if self._skipping:
            return
        self._rest += data
        if len(self._rest) > MAX_LINE_BYTES:
            self._trouble(self._line + 1, f"it is over {MAX_LINE_BYTES:,} bytes long")
            self._rest.clear()
            # What follows up to the next LF is dropped: a file without any would fill the memory.
            self._skipping = True

    def _read(self, line: bytes) -> TraceRecord | None:
        if not line.strip():
            return None
        try:
            record = decode_line(line)
        # Not reported: later versions may add kinds without a change of `FORMAT`.
        except UnknownKind:
            return None
        except ValueError as error:
            self._trouble(self._line, str(error))
            return None
        if not _is_sane(record):
            self._trouble(self._line, "it is no record: its times are none")
            return None
        if record.kind == "header":
            _check_format(record)
        return record


def records_of(pieces: Iterable[bytes], trouble: Trouble) -> Iterator[TraceRecord]:
    """The records of a whole file.

    Args:
        pieces: Its bytes, in order.
        trouble: Called for each line that is no record, if the file has at least one record.

    Raises:
        NotATrace: nothing in it is a record.
    """
    held: list[tuple[int, str]] = []
    found = False

    def hold(line: int, why: str) -> None:
        if found:
            trouble(line, why)
            return
        # Held back until there is a record: a file that is no trace deserves one error, not many.
        held.append((line, why))
        if len(held) >= _PATIENCE:
            raise NotATrace(f"is no trace: line {held[0][0]}: {held[0][1]}")

    reader = TraceReader(hold)
    for record in _all(reader, pieces):
        if not found:
            found = True
            for line, why in held:
                trouble(line, why)
        yield record
    if not found:
        raise NotATrace(f"is no trace: line {held[0][0]}: {held[0][1]}" if held else "is empty")


def _is_sane(record: TraceRecord) -> bool:
    """True if the views can compute with the record's times."""
    return (
        0 <= record.wall_s < _LATEST_S
        and abs(record.mono_s) < _LATEST_S
        and abs(record.elapsed_ms or 0.0) < _LATEST_S
    )


def _check_format(header: TraceRecord) -> None:
    try:
        known = HEADER.decode(header.body or b"")
    except DECODE_ERRORS:
        return
    if known.format != FORMAT:
        written = quote(known.sliphook, 20)
        raise NotATrace(
            f"has the format {known.format}, written by sliphook {written};"
            f" this sliphook reads the format {FORMAT}"
        )


def _all(reader: TraceReader, pieces: Iterable[bytes]) -> Iterator[TraceRecord]:
    for piece in pieces:
        yield from reader.feed(piece)
    yield from reader.close()
