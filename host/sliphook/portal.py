"""A trio loop in a thread of its own, and the ways in: something at once, a call that takes time, a block that stays open.

`sliphook.blocking` and `sliphook.aio` are two faces of the host over this. Who calls from outside is a `Caller`: a thread that waits,
or an asyncio task. What the loop needs of the agent (its own tools, its approver) is handed to the caller whose call it belongs to.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from contextvars import ContextVar
from functools import partial
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar, cast

import trio

from .errors import HostError

R = TypeVar("R")
T = TypeVar("T")

_call: ContextVar[Call[Any]] = ContextVar("sliphook_call")


class Interrupted(BaseException):
    """The turn was interrupted while a call of its was under way, or before it began. Stops at the end of the turn's block.

    Like trio's Cancelled it is no `Exception`: an agent that catches every error of a tool does not catch this.
    """


class Caller(Protocol):
    """Who waits outside of the loop for one call."""

    def settled(self) -> None:
        """The call is over. Called once, in the loop's thread."""
        ...

    async def have_done(self, portal: Portal, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Have the caller's side call `function`; runs in the loop, and gives what it gave or raises what it raised."""
        ...


class Call(Generic[R]):
    """One async function that runs in the loop for a caller outside of it."""

    def __init__(self, function: Callable[[], Awaitable[R]], caller: Caller) -> None:
        self._function = function
        self._caller = caller
        self._scope = trio.CancelScope()
        self._value: R | None = None
        self._error: BaseException | None = None
        self.over = False

    async def run(self) -> None:
        """The task."""
        _call.set(self)
        try:
            with self._scope:
                value = await self._function()
                self._settle(value, None)
            if not self.over:
                self._settle(None, Interrupted("the call was given up"))
        except trio.Cancelled:
            self._settle(None, Interrupted("the turn was interrupted"))
            raise
        except BaseException as error:
            self._settle(None, error)

    def refuse(self, error: BaseException) -> None:
        """It cannot be run."""
        self._settle(None, error)

    def cancel(self) -> None:
        """Give it up; in the loop's thread."""
        self._scope.cancel()

    def result(self) -> R:
        """What it gave; raises what it raised."""
        if self._error is not None:
            raise self._error
        return cast("R", self._value)

    def have_done(self, portal: Portal, function: Callable[..., Any], *args: Any) -> Awaitable[Any]:
        """Have the caller's side call a function."""
        return self._caller.have_done(portal, function, args)

    def _settle(self, value: R | None, error: BaseException | None) -> None:
        if not self.over:
            self._value, self._error, self.over = value, error, True
            self._caller.settled()


class Portal:
    """The loop. Every method but `have_done` may be called from any thread."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._token: trio.lowlevel.TrioToken | None = None
        self._nursery: trio.Nursery | None = None
        self._stop = trio.Event()
        self._calls: set[Call[Any]] = set()
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the thread. It is a daemon: a program that never leaves the host's block can still end."""
        started = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._main, started), name="sliphook", daemon=True)
        self._thread.start()
        started.wait()

    def stop(self) -> None:
        """End the loop and its thread; what is still under way is cancelled."""
        if self._thread is not None:
            with suppress(trio.RunFinishedError):
                self._running().run_sync_soon(self._stop.set)
            self._thread.join()

    async def _main(self, started: threading.Event) -> None:
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                self._token = trio.lowlevel.current_trio_token()
                started.set()
                await self._stop.wait()
                nursery.cancel_scope.cancel()
        finally:
            with self._lock:
                left, self._calls = self._calls, set()
                self._token = None
            for call in left:
                call.refuse(_closed())

    @property
    def here(self) -> bool:
        """Whether this is the loop's own thread, which must never wait for itself."""
        return threading.current_thread() is self._thread

    def at_once(self, function: Callable[[], R]) -> R:
        """Call a plain function in the loop's thread; returns when it is done.

        Raises:
            HostError: the host is not open.
        """
        if self.here:
            return function()
        done: queue.SimpleQueue[bool] = queue.SimpleQueue()
        call = Call(partial(_no_wait, function), _Latch(done))
        self._enter(call, partial(self._run_now, call, function))
        wait_uninterrupted(done)
        return call.result()

    def begin(self, call: Call[Any], nursery: Callable[[], trio.Nursery | None] | None = None) -> None:
        """Let a call run; the caller is told when it is over.

        Args:
            call: what to run.
            nursery: gives where its task lives, None where that is over; by default the portal itself.

        Raises:
            HostError: the host is not open.
            RuntimeError: this is the loop's own thread.
        """
        if self.here:
            raise RuntimeError("called in the host's own thread, which cannot wait for itself")
        self._enter(call, partial(self._spawn, call, nursery or (lambda: self._nursery)))

    def cancel(self, call: Call[Any]) -> None:
        """Give a call up."""
        with suppress(HostError):
            self.soon(call.cancel)

    def soon(self, function: Callable[[], object]) -> None:
        """Have a plain function called in the loop's thread.

        Raises:
            HostError: the host is not open.
        """
        try:
            self._running().run_sync_soon(function)
        except trio.RunFinishedError:
            raise _closed() from None

    async def have_done(self, function: Callable[..., Any], *args: Any) -> Any:
        """In the loop: have the caller of the call under way call a function of the agent's."""
        return await _call.get().have_done(self, function, *args)

    def _running(self) -> trio.lowlevel.TrioToken:
        token = self._token
        if token is None:
            raise _closed()
        return token

    def _enter(self, call: Call[Any], run: Callable[[], object]) -> None:
        with self._lock:
            if self._token is None:
                raise _closed()
            self._calls.add(call)
        self.soon(run)

    def _run_now(self, call: Call[R], function: Callable[[], R]) -> None:
        self._calls.discard(call)
        call.run_plain(function)

    def _spawn(self, call: Call[Any], nursery: Callable[[], trio.Nursery | None]) -> None:
        home = nursery()
        if home is None:
            self._calls.discard(call)
            call.refuse(Interrupted("its block is over"))
        else:
            home.start_soon(self._follow, call)

    async def _follow(self, call: Call[Any]) -> None:
        try:
            await call.run()
        finally:
            self._calls.discard(call)
