"""Pure: a plugin's stderr, cut into lines that are safe to show; the last ones are kept for reports."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from sliphook.quoting import quote

TAIL_LINES = 20
LINE_CHARS = 1_000
LINES_PER_SECOND = 100


class StderrTail:
    """Takes whatever comes and never keeps much of it.

    Args:
        clean: takes secrets out of a line; None: there are none.
    """

    def __init__(self, clean: Callable[[bytes], bytes] | None = None) -> None:
        self._clean = clean
        self._rest = b""
        self._skipping = (
            False  # the rest of a line that was cut: a secret could have been cut in two
        )
        self._kept: deque[str] = deque(maxlen=TAIL_LINES)
        self._second = 0.0
        self._in_second = 0
        self.suppressed = 0

    @property
    def lines(self) -> tuple[str, ...]:
        """The last lines, oldest first, every control character escaped."""
        return tuple(self._kept)

    def feed(self, data: bytes, now_s: float) -> list[str]:
        """Take a piece; returns the lines to log.

        Above `LINES_PER_SECOND` they are counted in `suppressed` instead.
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

    def close(self, now_s: float) -> list[str]:
        """The stream has ended: the last line counts without its end."""
        rest, self._rest = self._rest, b""
        return self._take([rest] if rest else [], now_s)

    def _take(self, lines: list[bytes], now_s: float) -> list[str]:
        if now_s - self._second >= 1.0:
            self._second = now_s
            self._in_second = 0
        shown: list[str] = []
        for line in lines[-TAIL_LINES * 10 :]:
            line = line.rstrip(b"\r")
            text = quote(line if self._clean is None else self._clean(line), LINE_CHARS)
            self._kept.append(text)
            if self._in_second < LINES_PER_SECOND:
                self._in_second += 1
                shown.append(text)
            else:
                self.suppressed += 1
        self.suppressed += max(0, len(lines) - TAIL_LINES * 10)
        return shown
