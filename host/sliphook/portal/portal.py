"""A trio loop in a thread of its own, and the ways in: something at once, or a call that takes time. Blocks: see `openblock`.

`sliphook.blocking` and `sliphook.aio` are two faces of the host over this. Who calls from outside
is a `Caller`: a thread that waits, or an asyncio task. What the loop needs of the agent (its own
tools, its approver) is handed to the caller whose call it belongs to.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

import trio

from sliphook.errors import HostError

if TYPE_CHECKING:
    from .blocks import Block

R = TypeVar("R")


class Interrupted(BaseException):
    """The turn was interrupted while a call of its was under way, or before it began.

    Stops at the end of the turn's block.

    Like trio's Cancelled it is no `Exception`: an agent that catches every error of a tool does not
    catch this.
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
        self._lock = (
            threading.RLock()
        )  # a signal's handler may interrupt a turn while its thread is here

    def start(self) -> None:
        """Start the thread.

        It is a daemon: a program that never leaves the host's block can still end.
        """
        started = threading.Event()
        self._thread = threading.Thread(
            target=trio.run, args=(self._main, started), name="sliphook", daemon=True
        )
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
                try:
                    await self._stop.wait()
                finally:
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
            call.refuse(
                block.why_over() if block is not None else HostClosed("the host was closed")
            )
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
