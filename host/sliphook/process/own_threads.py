"""Threads for what would hold the loop, which no thread of the agent's keeps from running."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import trio

__all__ = ["OwnThreads"]

R = TypeVar("R")


class OwnThreads:
    """A few threads at once in each event loop.

    Not those of trio's default limiter, which the agent's own may use up. Nor has one limiter room
    for several loops: who leaves it wakes the next one in the loop of its own.

    Args:
        name: of the work.
        most: how many at once.
    """

    def __init__(self, name: str, most: float) -> None:
        self._most = most
        self._of_loop: trio.lowlevel.RunVar[trio.CapacityLimiter] = trio.lowlevel.RunVar(name)

    async def run(self, function: Callable[[], R], *, abandon_on_cancel: bool = False) -> R:
        """What the function returns or raises, called in a thread.

        Args:
            function: may block.
            abandon_on_cancel: a cancelled caller does not wait for it.

        Raises:
            RuntimeError: the system has no room for a thread.
        """
        try:
            limiter = self._of_loop.get()
        except LookupError:
            limiter = trio.CapacityLimiter(self._most)
            self._of_loop.set(limiter)
        return await trio.to_thread.run_sync(
            function, abandon_on_cancel=abandon_on_cancel, limiter=limiter
        )
