"""The three faces of the host under one name for each thing, so that a test is written once.

A test is an async function. With the face for threads nothing in it ever waits: `got` has called
the method already, and a block is a plain one.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any

import trio

from sliphook import PluginHost, aio, blocking
from tests.programs import WAIT_S

Story = Callable[[], Coroutine[Any, Any, None]]
Start = Callable[[Story], object]


class Face:
    """One face.

    Attributes:
        name: for the test's id.
        host: its `PluginHost`.
        interrupted: what its calls raise in an interrupted turn.
    """

    name: str
    host: Any
    interrupted: type[BaseException]

    def run(self, story: Story) -> None:
        """Run the test, bounded."""
        raise NotImplementedError

    def block(self, block: Any) -> AbstractAsyncContextManager[Any, bool]:
        """What is entered by `async with`."""
        entered: AbstractAsyncContextManager[Any, bool] = block
        return entered

    async def got(self, returned: Any) -> Any:
        """What a method came to that waits."""
        return await returned if inspect.isawaitable(returned) else returned

    def own(self, function: Callable[..., object]) -> Callable[..., Any]:
        """A function as `run=` or the approver takes it."""

        async def run(*args: Any) -> object:
            return function(*args)

        return run

    def group(self) -> Any:
        """A block that yields a function which starts a story beside the test's; waits for all."""
        raise NotImplementedError

    async def until(self, done: Callable[[], bool]) -> None:
        """Wait for what happens in the host's loop."""
        raise NotImplementedError


class InTrio(Face):
    name = "trio"
    host = PluginHost
    interrupted = trio.Cancelled

    def run(self, story: Story) -> None:
        async def bounded() -> None:
            with trio.fail_after(WAIT_S):
                await story()

        trio.run(bounded)

    @asynccontextmanager
    async def group(self) -> AsyncGenerator[Start]:
        async with trio.open_nursery() as nursery:
            yield nursery.start_soon

    async def until(self, done: Callable[[], bool]) -> None:
        while not done():  # noqa: ASYNC110 - what happens sets no event here
            await trio.sleep(0.002)


class InAsyncio(Face):
    name = "asyncio"
    host = aio.PluginHost
    interrupted = asyncio.CancelledError

    def run(self, story: Story) -> None:
        asyncio.run(asyncio.wait_for(story(), WAIT_S))

    @asynccontextmanager
    async def group(self) -> AsyncGenerator[Start]:
        async with asyncio.TaskGroup() as tasks:
            yield lambda story: tasks.create_task(story())

    async def until(self, done: Callable[[], bool]) -> None:
        while not done():  # noqa: ASYNC110 - what happens sets no event here
            await asyncio.sleep(0.002)


class _PlainBlock(AbstractAsyncContextManager[Any, bool]):
    def __init__(self, block: Any) -> None:
        self._block = block

    async def __aenter__(self) -> Any:
        return self._block.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        return bool(self._block.__exit__(kind, error, traceback))


class InThreads(Face):
    name = "threads"
    host = blocking.PluginHost
    interrupted = blocking.Interrupted

    def run(self, story: Story) -> None:
        _drive(story())

    def block(self, block: Any) -> AbstractAsyncContextManager[Any, bool]:
        return _PlainBlock(block)

    def own(self, function: Callable[..., object]) -> Callable[..., Any]:
        return function

    @asynccontextmanager
    async def group(self) -> AsyncGenerator[Start]:
        threads: list[threading.Thread] = []
        raised: list[BaseException] = []

        def start(story: Story) -> None:
            def run() -> None:
                try:
                    _drive(story())
                except BaseException as error:
                    raised.append(error)

            threads.append(threading.Thread(target=run))
            threads[-1].start()

        yield start
        for thread in threads:
            thread.join(WAIT_S)
            assert not thread.is_alive()
        assert raised == []

    async def until(self, done: Callable[[], bool]) -> None:
        tick = threading.Event()
        for _ in range(int(WAIT_S / 0.002)):
            if done():
                return
            tick.wait(0.002)
        raise AssertionError("it did not happen")


def _drive(story: Awaitable[None]) -> None:
    """Run an async function that never waits."""
    steps = story.__await__()
    try:
        next(steps)
    except StopIteration:
        return
    raise AssertionError("something was awaited that is no face's")


FACES = (InTrio(), InThreads(), InAsyncio())
