"""Lets few plugins go on in one pass of the loop: fifty may be started, die or write at once."""

from __future__ import annotations

from time import perf_counter
from typing import Final

import trio

STEPS_IN_A_PASS: Final = 4
"""To start or to clean up one plugin takes about 0.5 ms of the loop in one step, to take what it
writes to stderr 3 ms at most, however many secrets are looked for in it."""
READING_S: Final = 0.005
"""For what all plugins write to stdout: a quarter of what the loop may be held.

One more message may follow, and who waited for a turn may get it behind others in the same pass.
"""
LOOKING_S: Final = 0.005
"""For all looks at what has come already, before calls count as late: many may expire at once."""
STRETCH_S: Final = 0.02
"""How long the loop may be held: after that a `SharedTime` begins anew."""


class SharedTime:
    """A time that many share.

    Args:
        time_s: in `STRETCH_S`.

    Attributes:
        left_s: what is left of it; who works subtracts what that took.
    """

    def __init__(self, time_s: float) -> None:
        self._time_s = time_s
        self.renew(perf_counter())

    def renew(self, now_s: float) -> None:
        """Begin anew; `now_s` is of `perf_counter()`."""
        self.left_s, self._since_s = self._time_s, now_s

    def renew_if_due(self, now_s: float) -> bool:
        """Begin anew if the last time is long ago; True if it is."""
        if now_s - self._since_s < STRETCH_S:
            return False
        self.renew(now_s)
        return True


class Pace:
    """What the tasks of a host's plugins pass before they do much without waiting.

    Attributes:
        reading: of the readers. If nothing is left, and none is due, they wait for a turn.
        looking: of the looks at what has come, before calls count as late.
    """

    def __init__(self) -> None:
        self._places = trio.Semaphore(STEPS_IN_A_PASS)
        self._turns = trio.Semaphore(1)
        self.reading, self.looking = SharedTime(READING_S), SharedTime(LOOKING_S)

    async def step(self) -> None:
        """Wait for this task's turn; at once, but for one pass of the loop, if few others wait."""
        # a place is given back when its task runs again, and the next one runs a pass later
        async with self._places:
            pass

    async def reader_turn(self) -> None:
        """Wait for this reader's turn: a pass of the loop, or one for each reader before it."""
        async with self._turns:
            self.reading.renew(perf_counter())  # a pass has begun since
