"""Where code runs, in a thread or in a task, and how a task waits for what threads do."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future

# asyncio is not imported before it is used: that would slow the start of plain plugins


def current() -> object:
    """The task, or outside of an event loop the thread, that runs this."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None:
        with suppress(RuntimeError):
            return asyncio.current_task()
    return threading.get_ident()


def loop_runs() -> bool:
    """True if an event loop of asyncio runs in this thread."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def settled(future: Future[Any]) -> None:
    """Wait in a task until a future has its result or its error; a cancel leaves it alone."""
    import asyncio

    loop = asyncio.get_running_loop()
    arrived = loop.create_future()

    def settle() -> None:
        if not arrived.done():
            arrived.set_result(None)

    def tell(_: Future[Any]) -> None:
        with suppress(RuntimeError):  # the loop is closed: no task waits
            loop.call_soon_threadsafe(settle)

    # not asyncio.wrap_future: its cancel would cancel the future, which belongs to others
    future.add_done_callback(tell)
    await arrived
