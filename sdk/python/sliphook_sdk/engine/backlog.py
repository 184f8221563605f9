"""Pure: calls that wait for a thread, and whether each gets its own thread.

If several calls come in one read, it is not known how long their handlers will take. Quick handlers
are done soonest in one thread: several threads would take the interpreter from each other at every
reply that one of them writes. Slow handlers need a thread each, or a quick one waits behind them.
So the thread that has read the calls runs them one after the other, and an idle thread watches. If
fewer than `BRISK` calls start within `WATCH_S`, each call gets its own thread until the backlog is
empty: every thread that takes a call wakes another one.
"""

from __future__ import annotations

from collections import deque
from typing import Final, TypeVar

T = TypeVar("T")

WATCH_S: Final = 0.002
"""How long a backlog is watched before it is judged."""
BRISK: Final = 8
"""A backlog from which this many items start while it is watched stays with one thread."""


class Backlog(deque[T]):
    """Waiting items, the oldest first. Not locked.

    Attributes:
        spread: each item gets its own thread; reset when the backlog is empty.
    """

    def __init__(self) -> None:
        super().__init__()
        self.spread = False
        self._started = 0
        self._is_watched = False
        self._watched_since_s: float | None = None  # None: the next watch begins anew
        self._started_before = 0

    def needs_thread(self) -> bool:
        """True if an idle thread must be woken, to take an item or to watch."""
        return bool(self) and not self._is_watched

    def take(self) -> T:
        """Remove the oldest item, which starts now."""
        item = self.popleft()
        self._started += 1
        if not self:
            self.spread = False
            self._watched_since_s = None
        return item

    def begin_watch(self, now_s: float) -> bool:
        """Called by an idle thread; True if it shall watch.

        Then it waits for `WATCH_S`, or until there is something to read, and calls `end_watch`.
        """
        if self._is_watched or self.spread or not self:
            return False
        self._is_watched = True
        if self._watched_since_s is None:  # else the last thread was woken early: its time counts
            self._watched_since_s = now_s
            self._started_before = self._started
        return True

    def end_watch(self, now_s: float) -> None:
        """Judge the backlog, if it has been watched for `WATCH_S`.

        If this thread was woken early, the next watch continues this one. So frequent messages do
        not put the judgement off.
        """
        self._is_watched = False
        if self._watched_since_s is None or now_s - self._watched_since_s < WATCH_S:
            return
        self._watched_since_s = None
        if self._started - self._started_before < BRISK:
            self.spread = True
