"""The asyncio task inside a turn's block, which an interrupt cancels."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class InsideTask:
    """The task that runs inside one `async with` block, as `asyncio.timeout` has it.

    Made by that task, before the block is entered.
    """

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "the code of an asyncio program runs in tasks"
        self._loop = asyncio.get_running_loop()
        self._task = task
        # requests from before the block are not this block's to swallow
        self._before = task.cancelling()
        self._has_cancelled = False
        self._left = False

    @property
    def is_here(self) -> bool:
        """Whether it is a task of the running loop."""
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    def cancel(self) -> None:
        """Cancel it, once, unless it is leaving the block; in its loop."""
        if not self._left and not self._has_cancelled:
            self._has_cancelled = True
            self._task.cancel()

    def cancel_soon(self) -> None:
        """The same from another thread: a task can be cancelled only in its own loop."""
        with suppress(RuntimeError):  # the asyncio loop was closed
            self._loop.call_soon_threadsafe(self.cancel)

    def leaves(self) -> None:
        """From now on nothing cancels it."""
        self._left = True
        if self._has_cancelled:
            # as `asyncio.timeout` does: what is left in the count came from outside
            self._task.uncancel()

    @property
    def cancelled_from_outside(self) -> bool:
        """Whether it was cancelled otherwise since then."""
        return self._task.cancelling() > self._before
