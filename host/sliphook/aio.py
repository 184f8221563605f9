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
- `on_notify`, `on_progress`, `on_log`, `on_problem`, `on_interrupt` and `on_text` are plain
  functions, and are called in the asyncio loop.
- `enter` and `leave` of a host, a session and a turn do what their blocks do, in any task.
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
from sliphook.portal.faces import BegunToolFace, HostFace, SessionFace, TurnFace
from sliphook.portal.inside_task import InsideTask
from sliphook.portal.loop_call import caller_shows, for_caller
from sliphook.portal.portal import Portal
from sliphook.portal.proxies import Face, HostSettings, Opens, delivered
from sliphook.portal.task_caller import Awaits, AwaitsFor, do_in, enter, leave, wait_for
from sliphook.session.arguments.functions import check_async
from sliphook.session.host import Approver, Asker, AskRequest
from sliphook.session.interrupt import InterruptReason
from sliphook.session.results import ToolOutcome, Verdict
from sliphook_sdk.protocol import ToolKind

from .host import host as trio_host
from .session import session as trio_session
from .session import tool_call as trio_tool_call
from .session import turn as trio_turn
from .session.asking import InputKind

__all__ = ["BegunTool", "PluginHost", "Session", "Turn"]


class BegunTool(BegunToolFace):
    """See `sliphook.BegunTool`. After an interrupt `end` returns, with the status `cancelled`."""

    run = Awaits(trio_tool_call.BegunTool.run)
    end = Awaits(trio_tool_call.BegunTool.end, in_block=False)


class Turn(TurnFace):
    """See `sliphook.Turn`. An interrupt cancels the task that entered the block."""

    def __init__(
        self,
        parent: Face[Any],
        manager: AbstractAsyncContextManager[trio_turn.Turn],
        *,
        background: bool = False,
    ) -> None:
        super().__init__(parent, manager, background=background, on_cancelled=self._cancelled)
        self._inside: InsideTask | None = None

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
        tool_kind: ToolKind | None = None,
        origin: str = "agent",
    ) -> ToolOutcome:
        """See `sliphook.Turn.call_tool`; `run` is awaited in asyncio; an interrupt cancels it."""
        own = for_caller("run", run)
        call = partial(
            self.inner.call_tool,
            name,
            arguments,
            model_call_id=model_call_id,
            run=own,
            input_schema=input_schema,
            tool_kind=tool_kind,
            origin=origin,
        )
        return await wait_for(self.portal, call, self.block)

    async def decide(
        self, kind: InputKind, prompt: str, asks: Callable[[str], Awaitable[bool]] | None
    ) -> Verdict:
        """See `sliphook.Turn.decide`; `asks` is awaited in asyncio."""
        own = for_caller("asks", asks)
        call = partial(self.inner.decide, kind, prompt, own)
        return await wait_for(self.portal, call, self.block)

    def subagent(self, goal: str, *, background: bool = False) -> Turn:
        """The turn of a child agent, used as `async with`; see `sliphook.Turn.subagent`."""
        child = self.inner.subagent(goal, background=background)
        return Turn(self, child, background=background)

    def interrupt(
        self, reason: InterruptReason = "user_stop", invalidation_reason: str = "host_interrupt"
    ) -> bool:
        """Abandon this turn now, a child's alone (see `Session.interrupt`).

        Returns:
            False if it is not open.
        """
        done = super().interrupt(reason, invalidation_reason)
        _cancel_tasks(self.open_turns)
        return done

    async def enter(self) -> Turn:
        """Enter the turn without `async with`; any task may `leave` it.

        No task is inside the block then, so an interrupt cancels the turn's calls alone: these
        raise CancelledError, and `interrupted` is true.
        """
        self.inner = await enter(self.block)
        self.open_turns.add(self)
        return self

    async def leave(self, error: BaseException | None = None) -> None:
        """Leave it.

        Args:
            error: what ended the turn, or None: the turn fails, but if it is the CancelledError of
                the turn's own calls.
        """
        self.open_turns.discard(self)
        mine = isinstance(error, asyncio.CancelledError) and self.interrupted
        await leave(self.block, None if mine else error)

    async def __aenter__(self) -> Turn:
        inside = InsideTask()
        await self.enter()
        self._inside = inside
        # one that came while the task was still on its way out of `enter` has found no task inside
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
        assert self._inside is not None, "it was entered"
        # first: an interrupt from now on must not cancel a task that is leaving
        self._inside.leaves()
        cancelled = isinstance(error, asyncio.CancelledError)
        await self.leave(error)
        from_outside = self._inside.cancelled_from_outside
        if from_outside and not cancelled:
            raise asyncio.CancelledError
        return cancelled and self.interrupted and not from_outside

    def cancel_task(self) -> None:
        """Cancel the task inside the block if the turn was interrupted; in that task's loop."""
        # from any other thread, `_cancelled` has already asked the loop to do it
        if self.interrupted and self._inside is not None and self._inside.is_here:
            self._inside.cancel()

    def _cancelled(self) -> None:
        # in trio's thread
        if self._inside is not None:
            self._inside.cancel_soon()


class Session(SessionFace):
    """See `sliphook.Session`."""

    def __init__(self, parent: Face[Any], inner: trio_session.Session) -> None:
        assert isinstance(parent, PluginHost), "a host makes it"
        super().__init__(parent, inner, parent.deliver)

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
        _cancel_tasks(self.open_turns)
        return done

    def interrupt_all(
        self, reason: InterruptReason = "user_stop", invalidation_reason: str = "host_interrupt"
    ) -> None:
        """The same, with the children that work in the background."""
        super().interrupt_all(reason, invalidation_reason)
        _cancel_tasks(self.open_turns)

    def reset(self, cause: str = "new_command", *, session_id: str | None = None) -> None:
        """See `sliphook.Session.reset`; an open turn is interrupted."""
        self.portal.at_once(partial(self.inner.reset, cause, session_id=session_id))
        _cancel_tasks(self.open_turns)

    @property
    def open_turn(self) -> Turn | None:
        """The open turn of the root agent, or None."""
        inner, faces = self.inner.open_turn, list[Turn](self.open_turns)
        return next((turn for turn in faces if turn.inner is inner), None)

    async def enter(self) -> Session:
        """Enter the session without `async with`; any task may `leave` it."""
        await enter(self.block)
        return self

    async def leave(self, error: BaseException | None = None) -> None:
        """Leave it; a turn that is open is interrupted.

        Args:
            error: what ended the session, or None.
        """
        await leave(self.block, error)

    async def __aenter__(self) -> Session:
        return await self.enter()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.leave(error)


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
        check_async("approver", approver)
        check_async("asker", asker)
        self.inner = trio_host.PluginHost(
            plugins,
            approver=for_caller("approver", approver),
            asker=partial(self._ask, asker) if asker is not None else None,
            **delivered(settings, self.deliver),
        )
        self.block = OpenBlock(Portal(), self.inner)

    restart = Awaits(trio_host.PluginHost.restart)
    update = Awaits(trio_host.PluginHost.update)
    enable = Awaits(trio_host.PluginHost.enable)
    disable = Awaits(trio_host.PluginHost.disable)
    fire = Awaits(trio_host.PluginHost.fire)
    call_plugin_tool = Awaits(trio_host.PluginHost.call_plugin_tool)
    ask_raw = Awaits(trio_host.PluginHost.ask_raw)
    session = Opens(trio_host.PluginHost.session, Session)

    async def enter(self) -> PluginHost:
        """Open the host without `async with`; any task may `leave` it."""
        self._loop = asyncio.get_running_loop()
        self.portal.start()
        try:
            await enter(self.block)
        except BaseException:
            self.portal.stop()
            raise
        return self

    async def leave(self, error: BaseException | None = None) -> None:
        """Close it, and the sessions that are open.

        Args:
            error: what ended the program, or None.
        """
        if self.portal.home.is_elsewhere:
            end_fork(error)
        try:
            await leave(self.block, error)
        finally:
            self.portal.stop()

    async def __aenter__(self) -> PluginHost:
        return await self.enter()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.leave(error)

    async def _ask(self, asker: Asker, request: AskRequest) -> object:
        assert self._loop is not None, "it was entered"
        return await do_in(self._loop, asker, (request,), set())

    def deliver(self, callback: Callable[[], None]) -> None:
        """Have a callback called in the asyncio loop."""
        assert self._loop is not None, "it was entered"
        with suppress(RuntimeError):  # the asyncio loop was closed
            self._loop.call_soon_threadsafe(callback)


def _cancel_tasks(turns: set[Turn]) -> None:
    """Cancel the tasks inside turns that have just been interrupted."""
    for turn in list(turns):
        turn.cancel_task()
