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
        clean: removes secrets from a line, of which it keeps so many bytes at most; None if there
            are none.

    Attributes:
        taken: how many lines it has kept so far.
    """

    def __init__(self, clean: Callable[[bytes, int], bytes] | None = None) -> None:
        self.taken = 0
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
        text = self._rest + data
        # from the end: of a flood of short lines no more are made than are looked at
        *complete, self._rest = text.rsplit(b"\n", LINES_OF_A_PIECE + 1)
        passed_over = 0
        if len(complete) > LINES_OF_A_PIECE:
            passed_over = complete.pop(0).count(b"\n") + 1
        if len(self._rest) > 4 * LINE_CHARS:  # no character takes more than four bytes
            complete.append(self._rest)
            self._rest = b""
            self._skipping = True
        said = self._take(complete, now_s)
        self._limit.leave_out(passed_over)
        return said

    def close(self, now_s: float) -> list[tuple[str, str]]:
        """End the stream, which completes its last line; returns the same as `feed`.

        Another stream may follow.
        """
        rest, self._rest = self._rest, b""
        self._skipping = False
        said = self._take([rest] if rest else [], now_s)
        self._say_left_out(said)
        return said

    def _take(self, lines: list[bytes], now_s: float) -> list[tuple[str, str]]:
        said: list[tuple[str, str]] = []
        for number, line in enumerate(lines):
            allowed = self._limit.allows(now_s)
            # the last ones even if the limit keeps them out of the log: the report of a crash needs
            # them
            if not allowed and number < len(lines) - TAIL_LINES:
                continue
            text = quote(self._cleaned(line.rstrip(b"\r")), LINE_CHARS)
            self._kept.append(text)
            self.taken += 1
            if allowed:
                self._say_left_out(said)
                said.append(("stderr", text))
        return said

    def _cleaned(self, line: bytes) -> bytes:
        # cut first: what is not shown is not searched
        longest = 4 * (LINE_CHARS + 1)
        if self._clean is None:
            return line[:longest]
        # bytes that are not UTF-8 as `quote` shows them, so that it adds no secret
        return self._clean(line.decode("utf-8", "backslashreplace").encode(), longest)

    def _say_left_out(self, said: list[tuple[str, str]]) -> None:
        left_out = self._limit.take_left_out("lines on stderr")
        if left_out is not None:
            said.append(("warning", left_out))
