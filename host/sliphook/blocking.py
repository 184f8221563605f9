"""The host for agents without an event loop: plain methods and `with` blocks, from any thread.

    with PluginHost(["./guard.py"]) as host, host.session() as session:
        with session.turn("tidy up") as turn:
            outcome = turn.call_tool("shell", {"command": "ls"}, run=shell)

Plugins are served by a loop in a thread of its own, whatever the agent's threads do. The rules:

- A method that waits (`ready`, `submit`, `pre_llm_call`, `call_tool`, `stop`) blocks its thread alone. Ctrl+C ends the wait: the call is
  withdrawn, then KeyboardInterrupt is raised, and the blocks that it leaves end as `signal`.
- `session.interrupt()` may be called from any thread and returns when all of it is done. Calls of the turn that wait then raise
  `Interrupted`, which stops at the end of the turn's block. A thread that is elsewhere (in a model's answer, in a tool) is not
  reached: look at `turn.interrupted` there. Its next call on the turn raises.
- An agent's own tool (`run=`) and the approver run in the thread that waits in `call_tool`, so `input()` works and Ctrl+C reaches it.
- `on_notify`, `on_progress`, `on_log` and `on_problem` are called one after the other in one thread of their own. They may block and may
  call the host; at most a thousand wait, the rest are counted in the log.
"""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Iterable
from functools import partial, wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack

import trio

from sliphook_sdk.protocol import ToolResult

from . import host as trio_host
from . import session as trio_session
from . import turn as trio_turn
from .callbacks import CallbackThread
from .faces import Face, HostCallbacks, HostFace, HostSettings, SessionFace, TurnFace
from .portal import Block, Call, Interrupted, Portal, have_caller_do
from .spec import PluginSpec
from .toolcall import ApprovalRequest, ToolOutcome

__all__ = ["Interrupted", "PluginHost", "Session", "Turn"]

R = TypeVar("R")
T = TypeVar("T")
P = ParamSpec("P")


class _Thread:
    """A caller that is a thread: while it waits it does what the loop asks it to."""

    def __init__(self) -> None:
        self._inbox: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()

    def settled(self) -> None:
        self._inbox.put(None)

    def serve(self) -> None:
        while (work := self._inbox.get()) is not None:
            work()

    def wait_out(self) -> None:
        """Wait until the call is over, doing nothing more for it, whatever signals come."""
        while True:
            try:
                if self._inbox.get() is None:
                    return
            except BaseException:  # noqa: S112 - the first one is being raised already
                continue

    async def have_done(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        token = trio.lowlevel.current_trio_token()
        done = trio.Event()
        results: list[Any] = []
        errors: list[Exception] = []
        withdrawn = False

        def work() -> None:
            if withdrawn:
                return
            try:
                results.append(function(*args))
            except Exception as error:
                errors.append(error)
            token.run_sync_soon(done.set)

        self._inbox.put(work)
        try:
            await done.wait()
        finally:
            withdrawn = True
        if errors:
            raise errors[0]
        return results[0]


def _wait_for(portal: Portal, function: Callable[[], Any], block: Block[Any] | None) -> Any:
    """Run an async function in the loop, and serve it until it is over."""
    thread = _Thread()
    call = Call[Any](function, thread)
    portal.begin(call, block)
    try:
        thread.serve()
    except BaseException:
        portal.cancel(call)
        thread.wait_out()
        raise
    return call.result()


class _Waits:
    """An async method of the trio face as one that blocks."""


def _waits(method: Callable[Concatenate[T, P], Any]) -> Any:
    raise NotImplementedError
