"""The host for asyncio programs: the same methods and blocks, awaited in asyncio.

    async with PluginHost(["./guard.py"]) as host, host.session() as session:
        async with session.turn("tidy up") as turn:
            outcome = await turn.call_tool("shell", {"command": "ls"}, run=shell)

The plugins' loop runs in another thread, so they are answered while the asyncio loop is busy. The
rules:

- Cancelling a task that waits here cancels the call; the task goes on when that is done.
- `session.interrupt()` is not awaited, may be called from any thread and returns when all of it is
  done. The task inside the turn's block is cancelled, in whatever it awaits, in a model's answer
  too; the CancelledError stops at the end of the block. Calls of the turn in other tasks are
  cancelled as well.
- An agent's own tool (`run=`), the approver and the asker are async functions, and run as tasks of
  the asyncio loop.
- `on_notify`, `on_progress`, `on_log`, `on_problem` and `on_text` are plain functions, and are
  called in the asyncio loop.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from types import TracebackType
from typing import Any, Unpack

from sliphook.forks import end_fork
from sliphook.plugin.spec import PluginSpec
from sliphook.portal.blocks import OpenBlock
from sliphook.portal.loop_call import caller_shows, have_caller_do
from sliphook.portal.portal import Portal
from sliphook.portal.proxies import (
    BegunToolFace,
    Face,
    HostFace,
    HostSettings,
    Opens,
    SessionFace,
    TurnFace,
    delivered,
)
from sliphook.portal.task_caller import Awaits, AwaitsFor, do_in, enter, leave, wait_for
from sliphook.session.host import Approver, Asker, AskRequest
from sliphook.session.interrupt import InterruptReason
from sliphook.session.results import ToolOutcome, Verdict

from .host import host as trio_host
from .session import session as trio_session
from .session import tool_call as trio_tool_call
from .session import turn as trio_turn
from .session.turn import InputKind

__all__ = ["BegunTool", "PluginHost", "Session", "Turn"]


class BegunTool(BegunToolFace):
    """See `sliphook.BegunTool`. After an interrupt `end` returns, with the status `cancelled`."""

    run = Awaits(trio_tool_call.BegunTool.run)
    end = Awaits(trio_tool_call.BegunTool.end, in_block=False)


class Turn(TurnFace):
    """See `sliphook.Turn`. An interrupt cancels the task that entered the block."""

    def __init__(
        self, parent: Face[Any], manager: AbstractAsyncContextManager[trio_turn.Turn]
    ) -> None:
        assert isinstance(parent, Session | Turn), "a session or a turn makes it"
        self.block = OpenBlock(
            parent.portal, manager, parent=parent.block, on_cancelled=self._cancelled
        )
        if isinstance(manager, trio_turn.Turn):
            self.inner = manager
        self._open_turns: set[Turn] = parent._open_turns
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._cancelling = 0
        self._has_cancelled = False

    submit = Awaits(trio_turn.Turn.submit)
    pre_llm_call = Awaits(caller_shows(trio_turn.Turn.pre_llm_call))
    begin_tool = AwaitsFor(trio_turn.Turn.begin_tool, BegunTool)
    stop = Awaits(trio_turn.Turn.stop)

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        model_call_id: str | None = None,
        run: Callable[[dict[str, Any]], Awaitable[object]] | None = None,
        input_schema: dict[str, Any] | None = None,
    ) -> ToolOutcome:
        """See `sliphook.Turn.call_tool`; `run` is awaited in asyncio; an interrupt cancels it."""
        own = partial(have_caller_do, run) if run is not None else None
        call = partial(
            self.inner.call_tool,
            name,
            arguments,
            model_call_id=model_call_id,
            run=own,
            input_schema=input_schema,
        )
        return await wait_for(self.portal, call, self.block)

    async def decide(
        self, kind: InputKind, prompt: str, asks: Callable[[str], Awaitable[bool]] | None
    ) -> Verdict:
        """See `sliphook.Turn.decide`; `asks` is awaited in asyncio."""
        own = partial(have_caller_do, asks) if asks is not None else None
        call = partial(self.inner.decide, kind, prompt, own)
        return await wait_for(self.portal, call, self.block)

    def subagent(self, goal: str) -> Turn:
        """The turn of a child agent, used as `async with`; it is interrupted with its parent."""
        return Turn(self, self.inner.subagent(goal))

    async def __aenter__(self) -> Turn:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        assert self._task is not None, "the code of an asyncio program runs in tasks"
        # requests from before the block are not this turn's to swallow
        self._cancelling = self._task.cancelling()
        self.inner = await enter(self.block)
        self._open_turns.add(self)
        # one that came while the task was still on its way out of `enter` has found no open turn
        if self.interrupted:
            self.cancel_task()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if self.portal.home.is_elsewhere:
            return False
        # first: an interrupt from now on must not cancel a task that is leaving
        self._open_turns.discard(self)
        assert self._task is not None, "it was entered"
        if self._has_cancelled:
            # as `asyncio.timeout` does: what is left in the count came from outside
            self._task.uncancel()
        cancelled = isinstance(error, asyncio.CancelledError)
        await leave(self.block, None if cancelled and self.interrupted else error)
        from_outside = self._task.cancelling() > self._cancelling
        if from_outside and not cancelled:
            raise asyncio.CancelledError
        return cancelled and self.interrupted and not from_outside

    def cancel_task(self) -> None:
        """Cancel the task inside the interrupted turn's block, once; in the asyncio loop."""
        if self in self._open_turns and self._task is not None and not self._has_cancelled:
            self._has_cancelled = True
            self._task.cancel()

    def _cancelled(self) -> None:
        assert self._loop is not None, "it was entered"
        # in trio's thread; a task can be cancelled only in its own loop
        with suppress(RuntimeError):  # the asyncio loop was closed
            self._loop.call_soon_threadsafe(self.cancel_task)


class Session(SessionFace):
    """See `sliphook.Session`."""

    def __init__(self, parent: Face[Any], inner: trio_session.Session) -> None:
        self.inner = inner
        self.block = OpenBlock(parent.portal, inner)
        self._open_turns: set[Turn] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    ready = Awaits(trio_session.Session.ready)
    run_command = Awaits(trio_session.Session.run_command)
    turn = Opens(trio_session.Session.turn, Turn)

    def interrupt(
        self, reason: InterruptReason = "user_stop", invalidation_reason: str = "host_interrupt"
    ) -> bool:
        """Abandon the open turn now; not awaited, and may be called from any thread.

        When this returns, all is done that `Session.interrupt` of the trio face does, and the task
        inside the turn's block is cancelled; if this is called in the asyncio loop, at the task's
        next `await`.

        Returns:
            False if no turn is open.
        """
        done = super().interrupt(reason, invalidation_reason)
        self._cancel_tasks()
        return done

    def reset(self, cause: str = "new_command") -> None:
        """See `sliphook.Session.reset`; an open turn is interrupted."""
        self.portal.at_once(partial(self.inner.reset, cause))
        self._cancel_tasks()

    def _cancel_tasks(self) -> None:
        # from any other thread, `_cancelled` has already asked the loop to do it
        if _running_loop() is self._loop:
            for turn in list(self._open_turns):
                if turn.interrupted:
                    turn.cancel_task()

    async def __aenter__(self) -> Session:
        self._loop = asyncio.get_running_loop()
        await enter(self.block)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await leave(self.block, error)


class PluginHost(HostFace):
    """See `sliphook.PluginHost`.

    Args:
        plugins: executables, or specs of installed ones.
        approver: an async function that asks a person; True allows.
        asker: an async function that asks a person for a plugin, in a task of its own; cancelled
            when the question is over.
        settings: all other settings, as they are there.
    """

    def __init__(
        self,
        plugins: Iterable[PluginSpec | str | os.PathLike[str]] = (),
        *,
        approver: Approver | None = None,
        asker: Asker | None = None,
        **settings: Unpack[HostSettings],
    ) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        asks = partial(have_caller_do, approver) if approver is not None else None
        self.inner = trio_host.PluginHost(
            plugins,
            approver=asks,
            asker=partial(self._ask, asker) if asker is not None else None,
            **delivered(settings, self._deliver),
        )
        self.block = OpenBlock(Portal(), self.inner)

    restart = Awaits(trio_host.PluginHost.restart)
    update = Awaits(trio_host.PluginHost.update)
    enable = Awaits(trio_host.PluginHost.enable)
    disable = Awaits(trio_host.PluginHost.disable)
    fire = Awaits(trio_host.PluginHost.fire)
    call_plugin_tool = Awaits(trio_host.PluginHost.call_plugin_tool)
    session = Opens(trio_host.PluginHost.session, Session)

    async def __aenter__(self) -> PluginHost:
        self._loop = asyncio.get_running_loop()
        self.portal.start()
        try:
            await enter(self.block)
        except BaseException:
            self.portal.stop()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.portal.home.is_elsewhere:
            end_fork(error)
        try:
            await leave(self.block, error)
        finally:
            self.portal.stop()

    async def _ask(self, asker: Asker, request: AskRequest) -> object:
        assert self._loop is not None, "it was entered"
        return await do_in(self._loop, asker, (request,), set())

    def _deliver(self, callback: Callable[[], None]) -> None:
        assert self._loop is not None, "it was entered"
        with suppress(RuntimeError):  # the asyncio loop was closed
            self._loop.call_soon_threadsafe(callback)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
