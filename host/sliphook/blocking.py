"""The host for agents without an event loop: plain methods and `with` blocks, from any thread.

    with PluginHost(["./guard.py"]) as host, host.session() as session:
        with session.turn("tidy up") as turn:
            outcome = turn.call_tool("shell", {"command": "ls"}, run=shell)

The plugins' loop runs in another thread, so they are answered while the agent's threads are busy.
The rules:

- A method that waits (`ready`, `submit`, `pre_llm_call`, `call_tool`, `begin_tool`, `decide`,
  `stop`) blocks only the calling thread. Ctrl+C ends the wait: the call is withdrawn, then
  KeyboardInterrupt is raised, and the blocks that it leaves end as `signal`.
- `session.interrupt()` may be called from any thread and returns when all of it is done. Calls of
  the turn that wait then raise `Interrupted`, which stops at the end of the turn's block. A thread
  that does something else (reads a model's answer, runs a tool) is not stopped: look at
  `turn.interrupted` there. Its next call on the turn raises.
- An agent's own tool (`run=`) and the approver run in the thread that waits in `call_tool` or
  `begin_tool`, so `input()` works and Ctrl+C reaches it. If a plugin approves first, the thread
  goes on when the approver has returned. `on_text` runs in the thread that waits in
  `pre_llm_call`.
- `asker` runs in a thread of its own: a plugin may ask while no thread of the agent's waits.
- `on_notify`, `on_progress`, `on_log` and `on_problem` are called one after the other in a thread
  that does nothing else. They may block and may call the host. `on_interrupt` has a thread of its
  own.
- `enter` and `leave` of a host, a session and a turn do what their blocks do, from any thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from types import TracebackType
from typing import Any, Final, Unpack

from sliphook.forks import call_ending_forks
from sliphook.plugin.spec import PluginSpec
from sliphook.portal.blocks import OpenBlock
from sliphook.portal.callback_thread import CallbackThread
from sliphook.portal.faces import BegunToolFace, HostFace, SessionFace, TurnFace
from sliphook.portal.loop_call import Interrupted, caller_shows, for_caller
from sliphook.portal.portal import Portal
from sliphook.portal.proxies import Face, HostSettings, Opens, delivered
from sliphook.portal.thread_caller import Waits, WaitsFor, enter, leave, wait_for
from sliphook.process.own_threads import OwnThreads
from sliphook.session.arguments.functions import check_plain
from sliphook.session.host import ApprovalRequest, AskRequest
from sliphook.session.results import ToolOutcome, Verdict
from sliphook_sdk.protocol import ToolKind

from .host import host as trio_host
from .session import session as trio_session
from .session import tool_call as trio_tool_call
from .session import turn as trio_turn
from .session.asking import InputKind

_askers: Final = OwnThreads("askers", 8)
"""One that still waits for a person whose answer is not wanted any more holds its thread."""

__all__ = ["BegunTool", "Interrupted", "PluginHost", "Session", "Turn"]


class BegunTool(BegunToolFace):
    """See `sliphook.BegunTool`. After an interrupt `end` returns, with the status `cancelled`."""

    run = Waits(trio_tool_call.BegunTool.run)
    end = Waits(trio_tool_call.BegunTool.end, in_block=False)


class Turn(TurnFace):
    """See `sliphook.Turn`.

    Calls may be made from several threads at the same time, tools side by side for instance.
    """

    submit = Waits(trio_turn.Turn.submit)
    pre_llm_call = Waits(caller_shows(trio_turn.Turn.pre_llm_call))
    begin_tool = WaitsFor(trio_turn.Turn.begin_tool, BegunTool)
    stop = Waits(trio_turn.Turn.stop)

    def call_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        model_call_id: str | None = None,
        run: Callable[[dict[str, Any]], object] | None = None,
        input_schema: dict[str, Any] | None = None,
        tool_kind: ToolKind | None = None,
        origin: str = "agent",
    ) -> ToolOutcome:
        """See `sliphook.Turn.call_tool`.

        `run` is a plain function and runs in the calling thread. After an interrupt its result is
        lost: when it returns, this raises `Interrupted`.
        """
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
        return wait_for(self.portal, call, self.block)

    def decide(self, kind: InputKind, prompt: str, asks: Callable[[str], bool] | None) -> Verdict:
        """See `sliphook.Turn.decide`; `asks` is a plain function and runs in the calling thread."""
        own = for_caller("asks", asks)
        return wait_for(self.portal, partial(self.inner.decide, kind, prompt, own), self.block)

    def subagent(self, goal: str, *, background: bool = False) -> Turn:
        """The turn of a child agent, used as `with`; see `sliphook.Turn.subagent`."""
        child = self.inner.subagent(goal, background=background)
        return Turn(self, child, background=background)

    def enter(self) -> Turn:
        """Enter the turn without `with`; any thread may `leave` it."""
        self.inner = enter(self.block)
        self.open_turns.add(self)
        return self

    def leave(self, error: BaseException | None = None) -> None:
        """Leave it.

        Args:
            error: what ended the turn, or None: the turn fails, but if it is the `Interrupted` of
                the turn's own calls.
        """
        self.open_turns.discard(self)
        leave(self.block, None if self._is_own(error) else error)

    def __enter__(self) -> Turn:
        return self.enter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        self.leave(error)
        return self._is_own(error)

    def _is_own(self, error: BaseException | None) -> bool:
        # the `Interrupted` of another turn must go on to that turn's block
        return isinstance(error, Interrupted) and self.interrupted


class Session(SessionFace):
    """See `sliphook.Session`."""

    def __init__(self, parent: Face[Any], inner: trio_session.Session) -> None:
        assert isinstance(parent, PluginHost), "a host makes it"
        if inner.on_interrupt is not None:
            parent.interrupts.start()
        super().__init__(parent, inner, parent.interrupts.put)

    ready = Waits(trio_session.Session.ready)
    run_command = Waits(trio_session.Session.run_command)
    turn = Opens(trio_session.Session.turn, Turn)

    @property
    def open_turn(self) -> Turn | None:
        """The open turn of the root agent, or None."""
        inner, faces = self.inner.open_turn, list[Turn](self.open_turns)
        return next((turn for turn in faces if turn.inner is inner), None)

    def enter(self) -> Session:
        """Enter the session without `with`; any thread may `leave` it."""
        enter(self.block)
        return self

    def leave(self, error: BaseException | None = None) -> None:
        """Leave it; a turn that is open is interrupted.

        Args:
            error: what ended the session, or None.
        """
        leave(self.block, error)

    def __enter__(self) -> Session:
        return self.enter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.leave(error)


class PluginHost(HostFace):
    """See `sliphook.PluginHost`.

    Args:
        plugins: executables, or specs of installed ones.
        approver: a plain function that asks a person, in the thread whose tool call it is about;
            True allows.
        asker: a plain function that asks a person for a plugin, in a thread of its own. If a plugin
            answers before, or the turn ends, what it returns is dropped.
        settings: all other settings, as they are there.

    Attributes:
        interrupts: calls `on_interrupt` of the sessions.
    """

    def __init__(
        self,
        plugins: Iterable[PluginSpec | str | os.PathLike[str]] = (),
        *,
        approver: Callable[[ApprovalRequest], bool] | None = None,
        asker: Callable[[AskRequest], object] | None = None,
        **settings: Unpack[HostSettings],
    ) -> None:
        self._callbacks = CallbackThread()
        # apart: an interrupt must not wait for another callback, which may block
        self.interrupts = CallbackThread("sliphook interrupts")
        check_plain("approver", approver)
        check_plain("asker", asker)
        self.inner = trio_host.PluginHost(
            plugins,
            approver=for_caller("approver", approver),
            asker=partial(_in_a_thread, asker) if asker is not None else None,
            **delivered(settings, self._callbacks.put),
        )
        self.block = OpenBlock(Portal(), self.inner)

    restart = Waits(trio_host.PluginHost.restart)
    update = Waits(trio_host.PluginHost.update)
    enable = Waits(trio_host.PluginHost.enable)
    disable = Waits(trio_host.PluginHost.disable)
    fire = Waits(trio_host.PluginHost.fire)
    call_plugin_tool = Waits(trio_host.PluginHost.call_plugin_tool)
    ask_raw = Waits(trio_host.PluginHost.ask_raw)
    session = Opens(trio_host.PluginHost.session, Session)

    def enter(self) -> PluginHost:
        """Open the host without `with`; any thread may `leave` it."""
        self.portal.start()
        try:
            self._callbacks.start()
            enter(self.block)
        except BaseException:
            self._end()
            raise
        return self

    def leave(self, error: BaseException | None = None) -> None:
        """Close it, and the sessions that are open.

        Args:
            error: what ended the program, or None.
        """
        try:
            # a further Ctrl+C is impatience: the plugins are killed, the way out goes on
            leave(self.block, error, hurry=self.kill)
        finally:
            self._end()

    def __enter__(self) -> PluginHost:
        return self.enter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.leave(error)

    def _end(self) -> None:
        # the loop first: until it has ended it hands over callbacks
        self.portal.stop()
        self._callbacks.stop()
        self.interrupts.stop()


async def _in_a_thread(asker: Callable[[AskRequest], object], request: AskRequest) -> object:
    return await _askers.run(partial(_ask, asker, request), abandon_on_cancel=True)


def _ask(asker: Callable[[AskRequest], object], request: AskRequest) -> object:
    try:
        return call_ending_forks(asker, request)
    except Exception:
        raise
    # such as `sys.exit()`, or Interrupted of a host's call: in the loop it would end the host
    except BaseException as error:
        raise RuntimeError("the asker has ended its thread") from error
