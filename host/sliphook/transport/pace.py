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
"""How long the loop may be held: after that both begin anew."""


class Pace:
    """What the tasks of a host's plugins pass before they do much without waiting.

    Attributes:
        reading_s: how long readers may still work; each subtracts what it took. If nothing is left,
            and none is due, they wait for a turn.
        looking_s: how long looks may still work; each subtracts what it took.
    """

    def __init__(self) -> None:
        self._places = trio.Semaphore(STEPS_IN_A_PASS)
        self._turns = trio.Semaphore(1)
        self.reading_s, self.looking_s = READING_S, LOOKING_S
        self._since_s = self._looks_since_s = perf_counter()

    async def step(self) -> None:
        """Wait for this task's turn; at once, but for one pass of the loop, if few others wait."""
        # a place is given back when its task runs again, and the next one runs a pass later
        async with self._places:
            pass

    def renew_if_due(self, now_s: float) -> bool:
        """Give the readers their time anew if the last is long ago; True if it is.

        Args:
            now_s: `perf_counter()`.
        """
        if now_s - self._since_s < STRETCH_S:
            return False
        self.reading_s, self._since_s = READING_S, now_s
        return True

    def look_until(self, now_s: float) -> float:
        """Until when one more look may handle what it finds; `now_s` if the time is used up.

        Args:
            now_s: `perf_counter()`.
        """
        if now_s - self._looks_since_s >= STRETCH_S:
            self.looking_s, self._looks_since_s = LOOKING_S, now_s
        return now_s + max(self.looking_s, 0.0)

    async def reader_turn(self) -> None:
        """Wait for this reader's turn: a pass of the loop, or one for each reader before it."""
        async with self._turns:
            # a pass has begun since
            self.reading_s, self._since_s = READING_S, perf_counter()
