"""One event loop for all `async def` of a plugin under test, as it has when it runs."""

from __future__ import annotations

import asyncio
import threading
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from .clock import Clock


class LoopThread:
    """Runs coroutines in a thread; the tasks that they leave run on between them.

    It ends by `close`, or when it is dropped.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._close: Callable[[], object] = _nothing

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to its end, and return what it does. The calling thread waits."""
        if self._loop is None:
            self._loop = self._clock.event_loop()
            thread = threading.Thread(target=_serve, args=(self._loop,), daemon=True)
            thread.start()
            self._close = weakref.finalize(self, _end, self._loop, thread)
        work = self._awaited(coroutine)
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _awaited(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        # left in the loop: no time passes between the end and this thread's hearing of it
        with self._clock.awaiting():
            return await coroutine

    def close(self) -> None:
        """Cancel the tasks that run, and end the thread."""
        self._close()


def _nothing() -> None:
    """No loop was needed."""


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        if tasks:
            loop.run_until_complete(asyncio.wait(tasks, timeout=_PATIENCE_S))
    finally:
        loop.close()


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    thread.join(2 * _PATIENCE_S)


_PATIENCE_S = 5.0
"""How long tasks may take to end when they are cancelled."""
