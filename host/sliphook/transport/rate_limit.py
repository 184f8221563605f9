"""Pure: at most so many things in any span of time, and how many were left out."""

from __future__ import annotations

from collections import deque
from itertools import repeat


class RateLimit:
    """A sliding window: lets `count` things through in any `span_s` seconds and counts the others.

    Times are seconds of one clock, which the caller reads; they never go back.

    Args:
        count: things in a window.
        span_s: the length of a window.
    """

    def __init__(self, count: int, span_s: float) -> None:
        self._count = count
        self._span_s = span_s
        self._moments: deque[float] = deque()
        self._left_out = 0

    def allows(self, now_s: float) -> bool:
        """Whether one more is let through now; it is counted either way."""
        return self.let_through(1, now_s) == 1

    def let_through(self, count: int, now_s: float) -> int:
        """How many of `count` things that come together are let through now; all are counted."""
        through = min(count, self.room(now_s))
        self._moments.extend(repeat(now_s, through))
        # these take no place in the window: a steady flood still lets so many through
        self._left_out += count - through
        return through

    def room(self, now_s: float) -> int:
        """How many would be let through now."""
        while self._moments and now_s - self._moments[0] >= self._span_s:
            self._moments.popleft()
        return self._count - len(self._moments)

    def leave_out(self, count: int) -> None:
        """Count `count` things that are left out without being asked for."""
        self._left_out += count

    def take_left_out(self, things: str) -> str | None:
        """Say how many were left out since this was last asked; None if none were.

        Args:
            things: what they are, in the plural: "warnings".
        """
        if not self._left_out:
            return None
        count, self._left_out = self._left_out, 0
        return f"{count:,} {things} were left out: more than {self._count:,} in {self._span_s:g} s"
