"""Lets few plugins go on in one pass of the loop: fifty may be started, die or write at once."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time
from typing import Final, TypeVar

import trio

T = TypeVar("T")

STEPS_IN_A_PASS: Final = 4
"""To start or to clean up one plugin takes about 0.5 ms of the loop in one step."""
READING_S: Final = 0.005
"""For what all plugins write to stdout and stderr: a quarter of what the loop may be held.

One more message may follow, or a piece of stderr.
"""
LOOKING_S: Final = 0.005
"""For all looks at what has come already, before calls count as late: many may expire at once."""


SMALL_LOOK_S: Final = 0.0002
"""For a small piece, though the time for looks is used up: fifty may look."""
MESSAGES_PER_PASS: Final = 100
"""Of one reader; then other tasks have their turn."""
REPLY_BYTES: Final = 4 * 1024
"""Of a usual reply: fifty plugins may send theirs in one pass."""


class SharedTime:
    """A time that many share in one pass of the loop.

    Passes and no clock renew it: on a busy machine any time may go by within a pass.

    Args:
        time_s: in each pass.

    Attributes:
        left_s: what is left of it.
    """

    def __init__(self, time_s: float) -> None:
        self._time_s = self.left_s = time_s
        self._used_up: object | None = None

    def spend(self, took_s: float) -> None:
        """So much of it has gone; if it is used up, the next pass has it anew."""
        self.left_s -= took_s
        if self.left_s <= 0 and self._used_up is None:
            used_up = self._used_up = object()
            trio.lowlevel.current_trio_token().run_sync_soon(self._pass_has_begun, used_up)

    def renew(self) -> None:
        """A pass has begun since it was used up."""
        self.left_s, self._used_up = self._time_s, None

    def _pass_has_begun(self, used_up: object) -> None:
        if self._used_up is used_up:
            self.renew()


class Pace:
    """What the tasks of a host's plugins pass before they do much without waiting.

    Attributes:
        reading: of the readers. If nothing is left, they wait for a turn.
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

    async def read(self, read: Callable[[], T]) -> T:
        """Call `read` when there is time for it: it may search what it reads for secrets."""
        await self.step()
        if self.reading.left_s <= 0:
            await self.reader_turn()
        began = thread_time()  # not the time of other programs: small pieces would take turns
        result = read()
        self.reading.spend(thread_time() - began)
        return result

    def may_read(self) -> bool:
        """Whether there is time for a reader that has not waited; none if others wait for turns."""
        return self.reading.left_s > 0 and self._turns.value > 0

    async def reader_turn(self) -> None:
        """Wait for this reader's turn: a pass of the loop, or one for each reader before it."""
        async with self._turns:
            self.reading.renew()  # a pass has begun since, and no other reader works in it
