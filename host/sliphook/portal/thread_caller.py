"""A thread that waits for calls in the loop; `sliphook.blocking` is made of it."""

from __future__ import annotations

import queue
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import trio

from sliphook.agent_log import agent_log
from sliphook.forks import Home

from .blocks import OpenBlock
from .loop_call import LoopCall
from .portal import CallScope, HostClosed, Portal
from .proxies import Face

_log = agent_log("sliphook")

R = TypeVar("R")
T = TypeVar("T")
P = ParamSpec("P")
M = TypeVar("M")
F = TypeVar("F")


class WaitingThread:
    """A caller that is a thread: while it waits it does what the loop asks it to.

    Args:
        home: that of the loop; a fork that comes back from what it does would wait for ever.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._over = False

    def settled(self) -> None:
        """See `Caller`."""
        # before the wake-up: the thread looks at it as soon as it is awake
        self._over = True
        self._inbox.put(_nothing)

    def serve(self) -> None:
        """Wait until the call is over, and do meanwhile what is asked for.

        Raises:
            OtherProcess: what was asked for has forked, and this is the fork.
        """
        # not until `_over`: what was put in before the end is done
        while (todo := self._inbox.get()) is not _nothing:
            todo()

    def wait_out(self, hurry: Callable[[], None] | None = None) -> BaseException | None:
        """Wait until the call is over and do nothing more for it, even if signals come.

        Args:
            hurry: called for each exception of a signal handler.

        Returns:
            The last exception that a signal handler raised, or None.
        """
        late: BaseException | None = None
        while not self._over:
            try:
                self._inbox.get()
            except BaseException as error:
                late = error
                if hurry is not None:
                    with suppress(HostClosed):
                        hurry()
        return late

    def have_soon(self, function: Callable[..., object], *args: Any) -> None:
        """See `Caller`; what it raises is logged."""

        def work() -> None:
            try:
                function(*args)
            except Exception:
                _log.exception("a callback of the agent failed")
            self._home.refuse_elsewhere()

        self._inbox.put(work)

    async def have_done(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """See `Caller`."""
        token = trio.lowlevel.current_trio_token()
        done = trio.Event()
        gave: list[Any] = []
        raised: list[Exception] = []
        withdrawn = False

        def work() -> None:
            # the call was cancelled before the thread came to it
            if withdrawn:
                return
            try:
                gave.append(function(*args))
            # not Ctrl+C: that goes on through `serve`, and `wait_for` withdraws the call
            except Exception as error:
                raised.append(error)
            self._home.refuse_elsewhere()
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(done.set)

        self._inbox.put(work)
        try:
            await done.wait()
        finally:
            withdrawn = True
        if raised:
            raise raised.pop()  # what this frame holds would hold the frame, by the traceback
        return gave[0]


def _nothing() -> None:
    """Wakes a thread that waits."""


def wait_for(portal: Portal, function: Callable[[], Awaitable[R]], scope: CallScope | None) -> R:
    """Have an async function run in the loop, and serve it until it is over."""
    thread = WaitingThread(portal.home)
    call = LoopCall[R](function, thread)
    portal.begin(call, scope)
    try:
        thread.serve()
    except BaseException:
        # a fork has nothing to withdraw: the call goes on in the other process
        if not portal.home.is_elsewhere:
            portal.cancel(call)
            # until the plugins are told; only then the blocks around it may be left
            thread.wait_out()
        raise
    return call.result()


class Waits(Generic[T, P, R]):
    """An async method of the trio face, as one that blocks the calling thread.

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

    def __get__(self, face: Face[Any], owner: type[Face[Any]]) -> Callable[P, R]:
        method, in_block = self._method, self._in_block

        @wraps(method)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            scope = face.block if in_block else None
            return wait_for(face.portal, partial(method, face.inner, *args, **kwargs), scope)

        return call


class WaitsFor(Generic[T, P, M, F]):
    """The same for a method that returns an object of the loop: returns the face of that."""

    def __init__(
        self,
        method: Callable[Concatenate[T, P], Awaitable[M]],
        face: Callable[[Face[Any], M], F],
    ) -> None:
        self._waits = Waits(method)
        self._face = face
        self.__doc__ = method.__doc__

    def __get__(self, face: Face[Any], owner: type[Face[Any]]) -> Callable[P, F]:
        method, inside = self._waits.__get__(face, owner), self._face

        @wraps(method)
        def call(*args: P.args, **kwargs: P.kwargs) -> F:
            return inside(face, method(*args, **kwargs))

        return call


def enter(block: OpenBlock[T]) -> T:
    """Enter the block; if that fails or is broken off, it is left again.

    A block that is open already stays so.
    """
    was_open = block in block.portal.blocks
    try:
        return wait_for(block.portal, block.enter, block.parent)
    except BaseException as error:
        if not was_open:
            leave(block, error)
        raise


def leave(
    block: OpenBlock[Any], error: BaseException | None, hurry: Callable[[], None] | None = None
) -> None:
    """Leave the block, even if signals come meanwhile.

    Args:
        block: does nothing if it is not open.
        error: what left the caller's block, or None.
        hurry: called for each exception of a signal handler.
    """
    if block.portal.home.is_elsewhere:
        return  # a fork: the block is open in the other process, and stays so
    thread = WaitingThread(block.portal.home)
    call = LoopCall[None](partial(block.leave, error), thread)
    try:
        # without a scope: as a call of the block it would wait for itself
        block.portal.begin(call)
    except HostClosed:
        return  # all blocks were left when the host was closed
    late = thread.wait_out(hurry)
    call.result()
    if late is not None:
        raise late
