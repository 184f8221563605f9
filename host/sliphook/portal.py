"""A trio loop in a thread of its own, and the ways in: something at once, a call that takes time, a block that stays open.

`sliphook.blocking` and `sliphook.aio` are two faces of the host over this. Who calls from outside is a `Caller`: a thread that waits,
or an asyncio task. What the loop needs of the agent (its own tools, its approver) is handed to the caller whose call it belongs to.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, Generic, Protocol, TypeVar, cast

import trio

from .errors import HostError

R = TypeVar("R")
T = TypeVar("T")


class Interrupted(BaseException):
    """The turn was interrupted while a call of its was under way, or before it began. Stops at the end of the turn's block.

    Like trio's Cancelled it is no `Exception`: an agent that catches every error of a tool does not catch this.
    """


class HostClosed(HostError):
    """The host, or the block that was called, is not open: not yet, or no more."""


class Caller(Protocol):
    """Who waits outside of the loop for one call."""

    def settled(self) -> None:
        """The call is over. Called once, in the loop's thread."""
        ...

    async def have_done(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Have the caller's side call `function`; runs in the loop, and gives what it gave or raises what it raised."""
        ...


class Call(Generic[R]):
    """One function that runs in the loop for a caller outside of it."""

    def __init__(self, function: Callable[[], Any], caller: Caller) -> None:
        self.caller = caller
        self._function = function
        self._scope = trio.CancelScope()
        self._value: R | None = None
        self._error: BaseException | None = None
        self._over = False

    def run_at_once(self) -> None:
        """Run a plain function."""
        try:
            self._settle(self._function(), None)
        except BaseException as error:
            self._settle(None, error)

    async def run(self) -> None:
        """Run an async function; the task of the call."""
        _under_way.set(self)
        try:
            with self._scope:
                self._settle(await self._function(), None)
            self._settle(None, Interrupted("the call was given up"))
        except trio.Cancelled:
            self._settle(None, Interrupted("the turn was interrupted"))
            raise
        except BaseException as error:
            self._settle(None, error)

    def refuse(self, error: BaseException) -> None:
        """It cannot be run any more."""
        self._settle(None, error)

    def cancel(self) -> None:
        """Give it up; in the loop's thread."""
        self._scope.cancel()

    def result(self) -> R:
        """What it gave; raises what it raised."""
        if self._error is not None:
            raise self._error
        return cast("R", self._value)

    def _settle(self, value: R | None, error: BaseException | None) -> None:
        if not self._over:
            self._value, self._error, self._over = value, error, True
            self.caller.settled()


_under_way: ContextVar[Call[Any]] = ContextVar("sliphook_call")


async def have_caller_do(function: Callable[..., Any], *args: Any) -> Any:
    """In the loop, inside of a call: have its caller call a function of the agent's."""
    return await _under_way.get().caller.have_done(function, args)


class Portal:
    """The loop. May be used from any thread."""

    def __init__(self) -> None:
        self.blocks: set[Block[Any]] = set()
        self._thread: threading.Thread | None = None
        self._token: trio.lowlevel.TrioToken | None = None
        self._nursery: trio.Nursery | None = None
        self._stop = trio.Event()
        self._calls: set[Call[Any]] = set()
        self._lock = threading.RLock()  # a signal's handler may interrupt a turn while its thread is here

    def start(self) -> None:
        """Start the thread. It is a daemon: a program that never leaves the host's block can still end."""
        started = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._main, started), name="sliphook", daemon=True)
        self._thread.start()
        started.wait()

    def stop(self) -> None:
        """End the loop and its thread; what is still under way is cancelled."""
        if self._thread is not None and not self.here:
            with suppress(HostClosed):
                self.soon(self._stop.set)
            self._thread.join()

    async def _main(self, started: threading.Event) -> None:
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                self._token = trio.lowlevel.current_trio_token()
                started.set()
                await self._stop.wait()
                for block in list(self.blocks):
                    block.give_up()
                nursery.cancel_scope.cancel()
        finally:
            with self._lock:
                self._token = self._nursery = None
                left, self._calls = self._calls, set()
            for call in left:
                call.refuse(HostClosed("the host was closed"))

    @property
    def here(self) -> bool:
        """Whether this is the loop's own thread, which must never wait for itself."""
        return threading.current_thread() is self._thread

    def soon(self, function: Callable[[], object]) -> None:
        """Have a plain function called in the loop's thread.

        Raises:
            HostClosed: there is no loop.
        """
        token = self._token
        try:
            if token is None:
                raise trio.RunFinishedError
            token.run_sync_soon(function)
        except trio.RunFinishedError:
            raise HostClosed("the host is not open") from None

    def at_once(self, function: Callable[[], R]) -> R:
        """Call a plain function in the loop's thread; returns when it is done, whatever signals come meanwhile.

        Raises:
            HostClosed: there is no loop.
        """
        if self.here:
            return function()
        latch = Latch()
        call = Call[R](function, latch)
        self._enter(call, partial(self._run_at_once, call))
        latch.wait()
        return call.result()

    def begin(self, call: Call[Any], block: Block[Any] | None = None) -> None:
        """Let a call run; its caller is told when it is over.

        Args:
            call: what to run.
            block: what it belongs to and is cancelled with; None: the portal itself.

        Raises:
            HostClosed: there is no loop.
            RuntimeError: this is the loop's own thread.
        """
        if self.here:
            raise RuntimeError("called in the host's own thread, which cannot wait for itself")
        self._enter(call, partial(self._spawn, call, block))

    def cancel(self, call: Call[Any]) -> None:
        """Give a call up; its caller is told when it is over."""
        with suppress(HostClosed):
            self.soon(call.cancel)

    def _enter(self, call: Call[Any], run: Callable[[], object]) -> None:
        with self._lock:
            self.soon(run)
            self._calls.add(call)

    def _run_at_once(self, call: Call[Any]) -> None:
        self._forget(call)
        call.run_at_once()

    def _spawn(self, call: Call[Any], block: Block[Any] | None) -> None:
        nursery = self._nursery if block is None else block.nursery
        if nursery is None:
            self._forget(call)
            call.refuse(block.why_over() if block is not None else HostClosed("the host was closed"))
        else:
            nursery.start_soon(self._follow, call)

    async def _follow(self, call: Call[Any]) -> None:
        try:
            await call.run()
        finally:
            self._forget(call)

    def _forget(self, call: Call[Any]) -> None:
        with self._lock:
            self._calls.discard(call)


class Block(Generic[T]):
    """An `async with` block that is open in a task of the loop, from `enter` to `leave`. Calls that belong to it run inside of it.

    Args:
        portal: the loop.
        manager: what is entered.
        parent: the block inside of which this one runs, and with which it is cancelled.
        on_cancelled: called in the loop when the block is cancelled before it is left.

    Attributes:
        nursery: where its calls run; None before, after, and once it is cancelled.
    """

    def __init__(
        self,
        portal: Portal,
        manager: AbstractAsyncContextManager[T],
        *,
        parent: Block[Any] | None = None,
        on_cancelled: Callable[[], None] | None = None,
    ) -> None:
        self.portal = portal
        self.parent = parent
        self.nursery: trio.Nursery | None = None
        self.cancelled = False
        self._manager = manager
        self._on_cancelled = on_cancelled
        self._scope = trio.CancelScope()
        self._leave = trio.Event()
        self._left = trio.Event()
        self._error: BaseException | None = None
        self._raised: BaseException | None = None
        self._children: set[Block[Any]] = set()

    async def enter(self) -> T:
        """In the loop, in a call of the parent's: enter it."""
        home = self.parent.nursery if self.parent is not None else trio.lowlevel.current_task().parent_nursery
        assert home is not None, "a call runs in a nursery"
        value: T = await home.start(self._hold)
        return value

    async def leave(self, error: BaseException | None = None, *, cancel: bool = False) -> None:
        """In the loop: leave it, as the caller's own block is left, and wait until that is done. Does nothing if it was never entered.

        Args:
            error: what left the caller's block, or None.
            cancel: the caller was cancelled.

        Raises:
            BaseException: what leaving raised of its own.
        """
        if self not in self.portal.blocks:
            return
        self._error = error
        if cancel:
            self._scope.cancel()
        self.give_up()
        with trio.CancelScope(shield=True):
            await self._left.wait()
        if self._raised is not None:
            raise self._raised

    def give_up(self) -> None:
        """In the loop: whoever should leave it will not; so do those inside of it."""
        for child in list(self._children):
            child.give_up()
        self._leave.set()

    def why_over(self) -> BaseException:
        """Why no call can run in it."""
        return Interrupted("the turn was interrupted") if self.cancelled else HostClosed("its block is not open")

    async def _hold(self, *, task_status: trio.TaskStatus[T]) -> None:
        with self._scope:
            value = await self._manager.__aenter__()
            siblings = self.parent._children if self.parent is not None else set[Block[Any]]()
            siblings.add(self)
            self.portal.blocks.add(self)
            try:
                await self._stay_and_exit(value, task_status)
            finally:
                siblings.discard(self)
                self.portal.blocks.discard(self)
                self._left.set()

    async def _stay_and_exit(self, value: T, task_status: trio.TaskStatus[T]) -> None:
        cancelled: BaseException | None = None
        try:
            async with trio.open_nursery() as self.nursery:
                task_status.started(value)
                await self._leave.wait()
                self.nursery.cancel_scope.cancel()
        except BaseException as error:  # trio's Cancelled, one or a group: calls keep what they raise to themselves
            cancelled = error
            self.cancelled = not self._leave.is_set()
            self.nursery = None
            if self.cancelled and self._on_cancelled is not None:
                self._on_cancelled()
            with trio.CancelScope(shield=True):
                await self._leave.wait()
        self.nursery = None
        why = self._error or cancelled
        try:
            swallowed = await self._manager.__aexit__(type(why) if why is not None else None, why, None)
        except trio.Cancelled:
            raise
        except BaseException as raised:
            self._raised = raised
            return
        if cancelled is not None and why is cancelled and not swallowed:
            raise cancelled


class Latch:
    """A caller that only waits; whatever a signal's handler raises meanwhile is raised afterwards."""

    def __init__(self) -> None:
        self._over: queue.SimpleQueue[None] = queue.SimpleQueue()

    def settled(self) -> None:
        """See `Caller`."""
        self._over.put(None)

    async def have_done(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """See `Caller`. Nobody is there to do it."""
        raise RuntimeError("nothing of the agent's is called while something is done at once")

    def wait(self) -> None:
        """Wait until it is over."""
        late: BaseException | None = None
        while True:
            try:
                self._over.get()
                break
            except BaseException as error:
                late = error
        if late is not None:
            raise late
