"""An asyncio task that waits for calls in the loop; `sliphook.aio` is made of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import trio

from sliphook.forks import ForksEndHere, call_ending_forks

from .blocks import OpenBlock
from .loop_call import Interrupted, LoopCall
from .portal import CallScope, HostClosed, Portal
from .proxies import Face

R = TypeVar("R")
T = TypeVar("T")
P = ParamSpec("P")
M = TypeVar("M")
F = TypeVar("F")


class WaitingTask:
    """A caller that is a task of the running asyncio loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[None] = self._loop.create_future()
        self._working: set[asyncio.Task[Any]] = set()

    def settled(self) -> None:
        """See `Caller`."""
        with suppress(RuntimeError):  # the asyncio loop was closed, so no task waits
            self._loop.call_soon_threadsafe(self._over.set_result, None)

    async def wait(self) -> None:
        """Wait until the call is over; a cancellation leaves the call alone."""
        # not `await self._over`: a cancellation would cancel the future that `settled` sets
        await asyncio.wait([self._over])

    async def wait_out(self) -> None:
        """Wait until the call is over, even if the task is cancelled.

        What runs of the agent's has ended then too: it may need a moment after its cancellation.
        """
        while not self._over.done() or self._working:
            with suppress(asyncio.CancelledError):
                await asyncio.wait([self._over] if not self._over.done() else self._working)

    def have_soon(self, function: Callable[..., object], *args: Any) -> None:
        """See `Caller`; what it raises goes to the loop's exception handler."""
        with suppress(RuntimeError):  # the asyncio loop was closed
            self._loop.call_soon_threadsafe(call_ending_forks, function, *args)

    async def have_done(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """See `Caller`."""
        return await do_in(self._loop, function, args, self._working)


async def do_in(
    loop: asyncio.AbstractEventLoop,
    function: Callable[..., Awaitable[Any]],
    args: tuple[Any, ...],
    working: set[asyncio.Task[Any]],
) -> Any:
    """In trio's loop: have a task of an asyncio loop call an async function of the agent's.

    Args:
        loop: the asyncio loop.
        function: what to call; a cancel cancels it.
        args: its arguments.
        working: has the task while it runs.
    """
    token = trio.lowlevel.current_trio_token()
    done = trio.Event()

    # `run_coroutine_threadsafe` takes coroutines alone; the agent may give any awaitable
    async def work() -> Any:
        task = asyncio.current_task()
        assert task is not None, "it was made for this coroutine"
        working.add(task)
        task.add_done_callback(working.discard)
        with ForksEndHere():
            return await function(*args)

    def tell(_: object) -> None:
        with suppress(trio.RunFinishedError):
            token.run_sync_soon(done.set)

    future = asyncio.run_coroutine_threadsafe(work(), loop)
    future.add_done_callback(tell)
    try:
        await done.wait()
    except trio.Cancelled:
        future.cancel()
        raise
    return future.result()


async def wait_for(
    portal: Portal, function: Callable[[], Awaitable[R]], scope: CallScope | None
) -> R:
    """Have an async function of trio's run in the loop."""
    # before asyncio is asked, which does not know its own loop in a fork
    portal.home.refuse_elsewhere()
    task = WaitingTask()
    call = LoopCall[R](function, task)
    portal.begin(call, scope)
    try:
        await task.wait()
    except asyncio.CancelledError:
        portal.cancel(call)
        # the call may still run the agent's tool: go on only when it has ended
        await task.wait_out()
        raise
    try:
        return call.result()
    except Interrupted as error:
        # asyncio's own word for it, which `except Exception` lets pass
        raise asyncio.CancelledError(str(error)) from None


class Awaits(Generic[T, P, R]):
    """An async method of the trio face, awaited in asyncio.

    Args:
        method: the method.
        in_block: an interrupt of the turn ends the wait.
    """

    def __init__(
        self, method: Callable[Concatenate[T, P], Awaitable[R]], *, in_block: bool = True
    ) -> None:
        self._method = method
        self._in_block = in_block
        self.__doc__ = method.__doc__

    def __get__(
        self, face: Face[Any], owner: type[Face[Any]]
    ) -> Callable[P, Coroutine[Any, Any, R]]:
        method, in_block = self._method, self._in_block

        @wraps(method)
        async def call(*args: P.args, **kwargs: P.kwargs) -> R:
            scope = face.block if in_block else None
            return await wait_for(face.portal, partial(method, face.inner, *args, **kwargs), scope)

        return call


class AwaitsFor(Generic[T, P, M, F]):
    """The same for a method that returns an object of the loop: returns the face of that."""

    def __init__(
        self,
        method: Callable[Concatenate[T, P], Awaitable[M]],
        face: Callable[[Face[Any], M], F],
    ) -> None:
        self._awaits = Awaits(method)
        self._face = face
        self.__doc__ = method.__doc__

    def __get__(
        self, face: Face[Any], owner: type[Face[Any]]
    ) -> Callable[P, Coroutine[Any, Any, F]]:
        method, inside = self._awaits.__get__(face, owner), self._face

        @wraps(method)
        async def call(*args: P.args, **kwargs: P.kwargs) -> F:
            return inside(face, await method(*args, **kwargs))

        return call


async def enter(block: OpenBlock[T]) -> T:
    """Enter the block; if that fails or is broken off, it is left again.

    A block that is open already stays so.
    """
    was_open = block in block.portal.blocks
    try:
        return await wait_for(block.portal, block.enter, block.parent)
    except BaseException as error:
        if not was_open:
            await leave(block, error)
        raise


async def leave(block: OpenBlock[Any], error: BaseException | None) -> None:
    """Leave the block, however often the task is cancelled meanwhile."""
    if block.portal.home.is_elsewhere:
        return  # a fork: the block is open in the other process, and stays so
    task = WaitingTask()
    cancelled = isinstance(error, asyncio.CancelledError)
    call = LoopCall[None](
        partial(block.leave, None if cancelled else error, cancel=cancelled), task
    )
    try:
        # without a scope: as a call of the block it would wait for itself
        block.portal.begin(call)
    except HostClosed:
        return  # all blocks were left when the host was closed
    await task.wait_out()
    call.result()
