"""Pure: cuts a plugin's stderr into lines that are safe to show, and keeps the last for reports."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from sliphook.quoting import quote
from sliphook.transport.rate_limit import RateLimit

TAIL_LINES = 20
LINE_CHARS = 1_000
LINES_PER_SECOND = 100
LINES_OF_A_PIECE = 200
"""If a piece has more lines, only the last ones are cleaned; the others count as left out."""


class StderrTail:
    """Takes any bytes, and keeps the last lines.

    Args:
        clean: removes secrets from a line; None if there are none.
    """

    def __init__(self, clean: Callable[[bytes], bytes] | None = None) -> None:
        self._clean = clean
        self._rest = b""
        # True after a long line was cut: the rest of it is dropped, because `clean` would not find
        # a secret that lies across the cut.
        self._skipping = False
        self._kept: deque[str] = deque(maxlen=TAIL_LINES)
        self._limit = RateLimit(LINES_PER_SECOND, 1.0)

    @property
    def lines(self) -> tuple[str, ...]:
        """The last lines, oldest first, every control character escaped."""
        return tuple(self._kept)

    def feed(self, data: bytes, now_s: float) -> list[tuple[str, str]]:
        """Take a piece of the stream; returns what to log, as pairs of level and text.

        A line has the level "stderr". At most `LINES_PER_SECOND` lines are returned. A "warning"
        before the next line, or at the end of the stream, says how many were left out.
        """
        if self._skipping:
            _, ended, data = data.partition(b"\n")
            self._skipping = not ended
        *complete, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > 4 * LINE_CHARS:  # no character takes more than four bytes
            complete.append(self._rest)
            self._rest = b""
            self._skipping = True
        return self._take(complete, now_s)

    def close(self, now_s: float) -> list[tuple[str, str]]:
        """End the stream, which completes its last line; returns the same as `feed`."""
        rest, self._rest = self._rest, b""
        said = self._take([rest] if rest else [], now_s)
        self._say_left_out(said)
        return said

    def _take(self, lines: list[bytes], now_s: float) -> list[tuple[str, str]]:
        said: list[tuple[str, str]] = []
        for line in lines[-LINES_OF_A_PIECE:]:
            line = line.rstrip(b"\r")
            text = quote(line if self._clean is None else self._clean(line), LINE_CHARS)
            # also if the limit keeps it out of the log: the report of a crash needs the last lines
            self._kept.append(text)
            if self._limit.allows(now_s):
                self._say_left_out(said)
                said.append(("stderr", text))
        self._limit.leave_out(max(0, len(lines) - LINES_OF_A_PIECE))
        return said

    def _say_left_out(self, said: list[tuple[str, str]]) -> None:
        left_out = self._limit.take_left_out("lines on stderr")
        if left_out is not None:
            said.append(("warning", left_out))
