"""A trio loop in its own thread, and the ways in: a plain function, or a call that takes time.

`sliphook.blocking` and `sliphook.aio` are two faces of the host over it. On the outside of each
call is a `Caller`: a thread that waits, or an asyncio task. If the loop needs something of the
agent (its own tool, its approver), the caller of the call does it. For blocks see `blocks`.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeVar

import trio

from sliphook.errors import HostError, opened_twice
from sliphook.forks import Home

from .loop_call import LoopCall

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class HostClosed(HostError):
    """The host, or the block that was called, is not open: not yet, or no more."""


class CallScope(Protocol):
    """A block to which calls belong: they are cancelled with it (see `OpenBlock`).

    Attributes:
        nursery: runs the calls; None if no call can run.
    """

    nursery: trio.Nursery | None

    def why_over(self) -> BaseException:
        """Why no call can run."""
        ...

    def give_up(self) -> None:
        """Leave the block without waiting for its caller."""
        ...


class Portal:
    """The way into the loop from any thread.

    Attributes:
        blocks: the open blocks.
        home: where it was started.
    """

    def __init__(self) -> None:
        self.blocks: set[CallScope] = set()
        self.home = Home()
        self._thread: threading.Thread | None = None
        self._token: trio.lowlevel.TrioToken | None = None
        self._nursery: trio.Nursery | None = None
        self._stop = trio.Event()
        self._calls: set[LoopCall[Any]] = set()
        self._failure: Exception | None = None
        # reentrant: a signal handler may interrupt a turn while its thread holds the lock
        self._lock = threading.RLock()

    def start(self) -> None:
        """Start the thread.

        It is a daemon: a program that never leaves the host's block can still end.

        Raises:
            HostError: it was started before, or the system has no thread or no descriptor left.
        """
        if self._thread is not None:
            raise opened_twice("host", "PluginHost()")
        self.home = Home()
        started = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(started,), name="sliphook", daemon=True
        )
        try:
            self._thread.start()
        except RuntimeError as error:
            self._failure = error
        else:
            started.wait()
        if self._failure is not None:
            raise HostError(f"the host cannot be opened: {self._failure}") from None

    def stop(self) -> None:
        """End the loop and its thread; calls that are still under way are cancelled."""
        if self._thread is not None and not self.here and not self.home.is_elsewhere:
            with suppress(HostClosed):
                self.soon(self._stop.set)
            if self._thread.is_alive():
                self._thread.join()

    def _run(self, started: threading.Event) -> None:
        try:
            trio.run(self._main, started)
        except OSError as error:
            # trio's own pipes and its epoll could not be opened
            if started.is_set():
                raise
            self._failure = error
        finally:
            started.set()

    async def _main(self, started: threading.Event) -> None:
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                self._token = trio.lowlevel.current_trio_token()
                started.set()
                try:
                    await self._stop.wait()
                finally:
                    # first, so that no block takes the cancellation below for an interrupt
                    for block in list(self.blocks):
                        block.give_up()
                nursery.cancel_scope.cancel()
        finally:
            # at one moment: a call is refused by `soon`, or it is in `left`
            with self._lock:
                self._token = self._nursery = None
                left, self._calls = self._calls, set()
            for call in left:
                call.refuse(HostClosed("the host was closed"))

    @property
    def started(self) -> bool:
        """Whether `start` was called."""
        return self._thread is not None

    @property
    def here(self) -> bool:
        """Whether this is the loop's own thread, which must never wait for itself."""
        # in a child that this thread has forked, it is the main thread and has no loop
        return threading.current_thread() is self._thread and not self.home.is_elsewhere

    def soon(self, function: Callable[[], object]) -> None:
        """Have a plain function called in the loop's thread.

        Raises:
            HostClosed: there is no loop.
            OtherProcess: there is none in this process.
        """
        self.home.refuse_elsewhere()
        token = self._token
        try:
            if token is None:
                raise trio.RunFinishedError
            token.run_sync_soon(function)
        except trio.RunFinishedError:
            raise HostClosed("the host is not open") from None

    def at_once(self, function: Callable[[], R]) -> R:
        """Call a plain function in the loop's thread and wait for it, even if signals come.

        Raises:
            HostClosed: there is no loop.
            OtherProcess: there is none in this process.
        """
        if self.here:
            return function()
        latch = Latch()
        call = LoopCall[R](function, latch)
        self._enter(call, partial(self._run_at_once, call))
        latch.wait()
        return call.result()

    def begin(self, call: LoopCall[Any], scope: CallScope | None = None) -> None:
        """Let a call run; its caller is told when it is over.

        Args:
            call: what to run.
            scope: the block that the call belongs to; None: the portal itself.

        Raises:
            HostClosed: there is no loop.
            OtherProcess: there is none in this process.
            RuntimeError: this is the loop's own thread.
        """
        if self.here:
            raise RuntimeError("called in the host's own thread, which cannot wait for itself")
        self._enter(call, partial(self._spawn, call, scope))

    def cancel(self, call: LoopCall[Any]) -> None:
        """Give a call up; its caller is told when it is over."""
        with suppress(HostClosed):
            self.soon(call.cancel)

    def _enter(self, call: LoopCall[Any], run: Callable[[], object]) -> None:
        # before the lock: at the fork, another thread may have held it
        self.home.refuse_elsewhere()
        with self._lock:
            # both under the lock: the loop cannot forget the call before it is in the set
            self.soon(run)
            self._calls.add(call)

    def _run_at_once(self, call: LoopCall[Any]) -> None:
        self._forget(call)
        call.run_at_once()

    def _spawn(self, call: LoopCall[Any], scope: CallScope | None) -> None:
        nursery = self._nursery if scope is None else scope.nursery
        if nursery is None:
            self._forget(call)
            call.refuse(
                scope.why_over() if scope is not None else HostClosed("the host was closed")
            )
        else:
            nursery.start_soon(self._follow, call)

    async def _follow(self, call: LoopCall[Any]) -> None:
        try:
            await call.run()
        finally:
            self._forget(call)

    def _forget(self, call: LoopCall[Any]) -> None:
        with self._lock:
            self._calls.discard(call)


class Latch:
    """A caller that only waits; what a signal handler raises meanwhile is raised afterwards."""

    def __init__(self) -> None:
        self._over: queue.SimpleQueue[None] = queue.SimpleQueue()

    def settled(self) -> None:
        """See `Caller`."""
        self._over.put(None)

    async def have_done(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """See `Caller`. The caller does nothing while it waits."""
        raise RuntimeError("nothing of the agent's is called while something is done at once")

    def have_soon(self, function: Callable[..., object], *args: Any) -> None:
        """See `Caller`. What is done at once has no text to show."""
        raise RuntimeError("nothing of the agent's is called while something is done at once")

    def wait(self) -> None:
        """Wait until the call is over."""
        late: BaseException | None = None
        while True:
            try:
                self._over.get()
                break
            except BaseException as error:
                late = error
        if late is not None:
            raise late
