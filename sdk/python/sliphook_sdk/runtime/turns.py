"""One change after the other, for threads and for tasks that share a list of changes."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from sliphook_sdk.wire.waiting import settled

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator


class Turns:
    """Who comes first goes first. A lock would block an event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: Future[object] = Future()
        self._last.set_result(None)

    @contextmanager
    def turn(self) -> Generator[None]:
        """Wait for the turn, in a thread."""
        before, mine = self._queue()
        before.result()
        try:
            yield
        finally:
            mine.set_result(None)

    @asynccontextmanager
    async def turn_async(self) -> AsyncGenerator[None]:
        """Wait for the turn, in a task."""
        before, mine = self._queue()
        try:
            await settled(before)
            yield
        finally:
            # not before the one in front of it, if this task was cancelled while it waited
            before.add_done_callback(lambda _: mine.set_result(None))

    def _queue(self) -> tuple[Future[object], Future[object]]:
        with self._lock:
            before, self._last = self._last, Future()
            return before, self._last
