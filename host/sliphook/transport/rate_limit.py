"""At most so many in a span of time, and how many there were beyond."""

from __future__ import annotations

from collections import deque

import trio


class RateLimit:
    """Counts what is let through and what is not.

    Args:
        count: so many are let through,
        span_s: in so many seconds.

    Attributes:
        left_out: how many were not let through since `take_left_out`.
    """

    def __init__(self, count: int, span_s: float) -> None:
        self._count = count
        self._span_s = span_s
        self._moments: deque[float] = deque()
        self.left_out = 0

    def allows(self) -> bool:
        """Whether one more is let through now; it is counted either way."""
        now = trio.current_time()
        while self._moments and now - self._moments[0] >= self._span_s:
            self._moments.popleft()
        if len(self._moments) >= self._count:
            self.left_out += 1
            return False
        self._moments.append(now)
        return True

    def take_left_out(self) -> int:
        """How many were left out; they are forgotten then."""
        left_out, self.left_out = self.left_out, 0
        return left_out
