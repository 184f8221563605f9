"""The host for agents without an event loop: plain methods and `with` blocks, from any thread.

    with PluginHost(["./guard.py"]) as host, host.session() as session:
        with session.turn("tidy up") as turn:
            outcome = turn.call_tool("shell", {"command": "ls"}, run=shell)

Plugins are served by a loop in a thread of its own, whatever the agent's threads do. The rules:

- A method that waits (`ready`, `submit`, `pre_llm_call`, `call_tool`, `stop`) blocks its thread
  alone. Ctrl+C ends the wait: the call is withdrawn, then KeyboardInterrupt is raised, and the
  blocks that it leaves end as `signal`.
- `session.interrupt()` may be called from any thread and returns when all of it is done. Calls of
  the turn that wait then raise `Interrupted`, which stops at the end of the turn's block. A thread
  that is elsewhere (in a model's answer, in a tool) is not reached: look at `turn.interrupted`
  there. Its next call on the turn raises.
- An agent's own tool (`run=`) and the approver run in the thread that waits in `call_tool`, so
  `input()` works and Ctrl+C reaches it.
- `on_notify`, `on_progress`, `on_log` and `on_problem` are called one after the other in one thread
  of their own. They may block and may call the host.
"""

from __future__ import annotations

import os
import queue
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial, wraps
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, Unpack

import trio

from sliphook.plugin.spec import PluginSpec
from sliphook.portal.blocks import Block
from sliphook.portal.callback_thread import CallbackThread
from sliphook.portal.portal import Call, HostClosed, Interrupted, Portal, have_caller_do
from sliphook.portal.proxies import (
    Face,
    HostFace,
    HostSettings,
    Opens,
    SessionFace,
    TurnFace,
    delivered,
)
from sliphook.session.host import ApprovalRequest
from sliphook.session.tool_call import ToolOutcome
from sliphook_sdk.protocol import ToolResult

from .host import host as trio_host
from .session import session as trio_session
from .session import turn as trio_turn

__all__ = ["Interrupted", "PluginHost", "Session", "Turn"]

R = TypeVar("R")
T = TypeVar("T")
P = ParamSpec("P")


class WaitingThread:
    """A caller that is a thread: while it waits it does what the loop asks it to."""

    def __init__(self) -> None:
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._over = False

    def settled(self) -> None:
        """See `Caller`."""
        self._over = True
        self._inbox.put(_nothing)

    def serve(self) -> None:
        """Wait until the call is over, and do meanwhile what is asked for."""
        while not self._over:
            self._inbox.get()()

    def wait_out(self, hurry: Callable[[], None] | None = None) -> BaseException | None:
        """Wait until the call is over, doing nothing more for it, whatever signals come; returns what they raised last."""
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

    async def have_done(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """See `Caller`."""
        token = trio.lowlevel.current_trio_token()
        done = trio.Event()
        gave: list[Any] = []
        raised: list[Exception] = []
        withdrawn = False

        def work() -> None:
            if withdrawn:
                return
            try:
                gave.append(function(*args))
            except Exception as error:
                raised.append(error)
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(done.set)

        self._inbox.put(work)
        try:
            await done.wait()
        finally:
            withdrawn = True
        if raised:
            raise raised[0]
        return gave[0]


def _nothing() -> None:
    """Wakes a thread that waits."""


def _wait_for(portal: Portal, function: Callable[[], Awaitable[R]], block: Block[Any] | None) -> R:
    """Have an async function run in the loop, and serve it until it is over."""
    thread = WaitingThread()
    call = Call[R](function, thread)
    portal.begin(call, block)
    try:
        thread.serve()
    except BaseException:
        portal.cancel(call)
        thread.wait_out()
        raise
    return call.result()


class Waits(Generic[T, P, R]):
    """An async method of the trio face, as one that blocks the calling thread."""

    def __init__(self, method: Callable[Concatenate[T, P], Awaitable[R]]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, face: Face[T], owner: type[Face[T]]) -> Callable[P, R]:
        method = self._method

        @wraps(method)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            return _wait_for(face.portal, partial(method, face.inner, *args, **kwargs), face.block)

        return call


def _enter(block: Block[T]) -> T:
    try:
        return _wait_for(block.portal, block.enter, block.parent)
    except BaseException as error:
        _leave(block, error)
        raise


def _leave(
    block: Block[Any], error: BaseException | None, hurry: Callable[[], None] | None = None
) -> None:
    thread = WaitingThread()
    call = Call[None](partial(block.leave, error), thread)
    try:
        block.portal.begin(call)
    except HostClosed:
        return  # with the host, all that was open in it was left
    late = thread.wait_out(hurry)
    call.result()
    if late is not None:
        raise late


class Turn(TurnFace):
    """See `sliphook.Turn`.

    Calls may be made from several threads at the same time, tools side by side for instance.
    """

    def __init__(
        self, parent: Face[Any], manager: AbstractAsyncContextManager[trio_turn.Turn]
    ) -> None:
        self.block = Block(parent.portal, manager, parent=parent.block)
        if isinstance(manager, trio_turn.Turn):
            self.inner = manager

    submit = Waits(trio_turn.Turn.submit)
    pre_llm_call = Waits(trio_turn.Turn.pre_llm_call)
    stop = Waits(trio_turn.Turn.stop)

    def call_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        model_call_id: str | None = None,
        run: Callable[[dict[str, Any]], ToolResult | str] | None = None,
        input_schema: dict[str, Any] | None = None,
    ) -> ToolOutcome:
        """See `sliphook.Turn.call_tool`.

        `run` is a plain function and runs in the calling thread. After an interrupt nobody hears
        its result: when it returns, this raises `Interrupted`.
        """
        own = partial(have_caller_do, run) if run is not None else None
        call = partial(
            self.inner.call_tool,
            name,
            arguments,
            model_call_id=model_call_id,
            run=own,
            input_schema=input_schema,
        )
        return _wait_for(self.portal, call, self.block)

    def subagent(self, goal: str) -> Turn:
        """A child agent with a turn of its own, to be used as `with`; it is interrupted with its parent."""
        return Turn(self, self.inner.subagent(goal))

    def __enter__(self) -> Turn:
        self.inner = _enter(self.block)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        mine = isinstance(error, Interrupted) and self.interrupted
        _leave(self.block, None if mine else error)
        return mine


class Session(SessionFace):
    """See `sliphook.Session`."""

    def __init__(self, parent: Face[Any], inner: trio_session.Session) -> None:
        self.inner = inner
        self.block = Block(parent.portal, inner)

    ready = Waits(trio_session.Session.ready)
    run_command = Waits(trio_session.Session.run_command)
    turn = Opens(trio_session.Session.turn, Turn)

    def __enter__(self) -> Session:
        _enter(self.block)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _leave(self.block, error)


class PluginHost(HostFace):
    """See `sliphook.PluginHost`.

    Args:
        plugins: executables, or specs of installed ones.
        approver: a plain function that asks a person, in the thread whose tool call it is about;
            True allows.
        settings: all other settings, as they are there.
    """

    def __init__(
        self,
        plugins: Iterable[PluginSpec | str | os.PathLike[str]] = (),
        *,
        approver: Callable[[ApprovalRequest], bool] | None = None,
        **settings: Unpack[HostSettings],
    ) -> None:
        self._callbacks = CallbackThread()
        asks = partial(have_caller_do, approver) if approver is not None else None
        self.inner = trio_host.PluginHost(
            plugins, approver=asks, **delivered(settings, self._callbacks.put)
        )
        self.block = Block(Portal(), self.inner)

    restart = Waits(trio_host.PluginHost.restart)
    update = Waits(trio_host.PluginHost.update)
    enable = Waits(trio_host.PluginHost.enable)
    disable = Waits(trio_host.PluginHost.disable)
    fire = Waits(trio_host.PluginHost.fire)
    call_plugin_tool = Waits(trio_host.PluginHost.call_plugin_tool)
    session = Opens(trio_host.PluginHost.session, Session)

    def __enter__(self) -> PluginHost:
        self._callbacks.start()
        self.portal.start()
        try:
            _enter(self.block)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            _leave(self.block, error, hurry=self.kill)
        finally:
            self._end()

    def _end(self) -> None:
        self.portal.stop()
        self._callbacks.stop()
