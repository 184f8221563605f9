"""`--trace`: every message on stderr as it passes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TextIO

from .record import TraceRecord
from .redact import Redactor
from .render import Style, render_line
from .writer import CLOSE_S, RecordWriter

__all__ = ["LiveTrace"]


class LiveTrace:
    """The live view. A terminal that is slow or gone loses records, never the host's time.

    Args:
        stream: Where the lines go, by its descriptor; colour where it is a terminal and `NO_COLOR` is not set.
        redactor: Hides secrets.
    """

    def __init__(self, stream: TextIO, redactor: Redactor | None = None) -> None:
        self._fd = stream.fileno()
        self._encoding = stream.encoding
        self._style = Style(colour=stream.isatty() and not os.environ.get("NO_COLOR"), unicode=_can_show_arrows(stream.encoding))
        self._redactor = redactor or Redactor()
        self._writer = RecordWriter(self._write, name="sliphook-trace-live")

    def record(self, record: TraceRecord) -> None:
        """Queue one record. Never blocks, never raises."""
        self._writer.record(record)

    def close(self, timeout_s: float = CLOSE_S) -> str | None:
        """Show what is left.

        Returns:
            A line for people where records were not shown: how many. None where all were.
        """
        lost = self._writer.close(timeout_s)
        return f"{lost} record{'s' if lost != 1 else ''} of the trace could not be shown" if lost else None

    def _write(self, batch: Sequence[TraceRecord]) -> int:
        lines = [self._line(record) for record in batch]
        left = memoryview(b"".join(lines))
        try:
            while left:
                left = left[os.write(self._fd, left) :]
        except OSError:
            return len(lines)
        return 0

    def _line(self, record: TraceRecord) -> bytes:
        text = render_line(self._redactor.record(record), self._style)
        return f"{text}\n".encode(self._encoding, "backslashreplace")


def _can_show_arrows(encoding: str) -> bool:
    try:
        "→←·".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
