"""Lets few plugins go on in one pass of the loop: fifty may be started, die or write at once."""

from __future__ import annotations

from typing import Final

import trio

STEPS_IN_A_PASS: Final = 4
"""To start or to clean up one plugin takes about 0.5 ms of the loop in one step, to take what it
writes to stderr 3 ms at most, however many secrets are looked for in it."""
READERS_IN_A_PASS: Final = 1
"""To handle what one plugin wrote may take `reader.PASS_S` and one more message."""


class Pace:
    """What the tasks of a host's plugins pass before they do much without waiting."""

    def __init__(self) -> None:
        self._places = trio.Semaphore(STEPS_IN_A_PASS)
        self._readers = trio.Semaphore(READERS_IN_A_PASS)

    async def step(self) -> None:
        """Wait for this task's turn; at once, but for one pass of the loop, if few others wait."""
        await _wait_for_a_place(self._places)

    async def read(self) -> None:
        """Wait for this reader's turn to handle much that its plugin wrote; else as `step`."""
        await _wait_for_a_place(self._readers)


async def _wait_for_a_place(places: trio.Semaphore) -> None:
    # a place is given back when its task runs again, and the next one runs a pass later
    async with places:
        pass
