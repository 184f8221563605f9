"""Pure: what waits for a thread, and whether each of it shall have one of its own.

Where several calls come in one read, nobody knows how long their handlers will take. Quick ones are
through soonest in one thread: several would only take the interpreter from each other, at every
answer that one of them writes. Slow ones need a thread each, or a quick one waits behind them. So
the thread that has read them runs them one after the other, an idle one watches, and where the
backlog hardly moves it is spread: until it is empty, whoever takes from it sees to it that another
thread does so too.
"""

from __future__ import annotations

from collections import deque
from typing import Final, TypeVar

T = TypeVar("T")

WATCH_S: Final = 0.002
"""How long a backlog is watched before it is judged."""
BRISK: Final = 8
"""It moves well where so much of it has begun meanwhile."""


class Backlog(deque[T]):
    """What waits, the oldest first. Not locked.

    Attributes:
        spread: each of it shall have a thread; until it is empty.
    """

    def __init__(self) -> None:
        super().__init__()
        self.spread = False
        self._begun = 0
        self._is_watched = False
        self._since_s: float | None = (
            None  # since when it is judged; None where nobody has begun to
        )
        self._begun_before = 0

    def needs_another(self) -> bool:
        """An idle thread has to be woken, for the rest or to watch it."""
        return bool(self) and not self._is_watched

    def take(self) -> T:
        """The oldest, which begins now."""
        item = self.popleft()
        self._begun += 1
        if not self:
            self.spread = False
            self._since_s = None
        return item

    def watch(self, now_s: float) -> bool:
        """For an idle thread: True where it shall watch, for `WATCH_S` or until there is something to read; then it calls `watched`."""
        if self._is_watched or self.spread or not self:
            return False
        self._is_watched = True
        if self._since_s is None:  # else whoever watched was called away, and what it saw counts
            self._since_s = now_s
            self._begun_before = self._begun
        return True

    def watched(self, now_s: float) -> None:
        """Judge what has been seen.

        Where a thread was woken early the next one goes on, so nothing that comes often puts it
        off.
        """
        self._is_watched = False
        if self._since_s is None or now_s - self._since_s < WATCH_S:
            return
        self._since_s = None
        if self._begun - self._begun_before < BRISK:
            self.spread = True
