"""The host: plugins in, hooks and events out. `async with PluginHost([...]) as host`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import trio

from sliphook.dispatch.broadcast import listeners_among, tell
from sliphook.dispatch.fire import Fire
from sliphook.dispatch.hook_recorder import Spans
from sliphook.dispatch.outcome import Outcome, Part
from sliphook.errors import HostError
from sliphook.plugin.lifecycle import State
from sliphook.plugin.spec import PluginSpec, PluginStatus
from sliphook.plugin.supervision import Plugin
from sliphook.plugin.tools import CommandOffer, ToolOffer
from sliphook.quoting import quote
from sliphook.session.host import Approver
from sliphook.session.interrupt import InterruptReason
from sliphook.session.plugin_calls import ToolAnswer
from sliphook.session.reports import Callbacks, Progress
from sliphook.session.session import Session, StartSource
from sliphook.trace.record import TraceSink
from sliphook_sdk.protocol import CATALOGUE, Payload, ToolCallParams
from sliphook_sdk.protocol.limits import INITIALIZE_TIMEOUT_S

from .admission import place_among, with_timeout
from .state import HostState


class PluginHost:
    """Runs plugins beside the agent.

    Opening starts all of them side by side and waits until each is ready or has failed, 10 s at
    most.

    A plugin that fails is reported (`on_problem`, `plugins`) and left out; nothing that a plugin
    does raises here.

    Args:
        plugins: executables, or specs of installed ones, in the order of installation.
        name: the agent's name, which plugins are told.
        approver: asks a person where a plugin answers `ask`; without it `ask` is deny.
        on_notify: shows the user an alert: plugin, level, message.
        on_progress: shows how far a request has come.
        on_log: takes the plugins' log lines and stderr: plugin, level, message; by default they go
            to `logging`.
        on_problem: takes one line for people when a plugin fails, crashes or is left out: plugin,
            message.
        reserved_tools: names of tools that are the agent's own.
        reserved_commands: names of commands that are the agent's own, besides the protocol's.
        timeout_cap_s: the longest that an answer of any plugin may take, whatever its subscriptions
            ask for; None: no cap.
        trace: where the messages are recorded, or None.
        spans: makes spans of sessions, turns, model calls, hooks and tool calls (see
            `sliphook.otel`), or None.
        data_home: where the plugins' folders are; by default `$XDG_DATA_HOME/sliphook/data`.
        log_dir: where the plugins' log files are, one a plugin; by default
            `$XDG_STATE_HOME/sliphook/logs`.
    """

    def __init__(
        self,
        plugins: Iterable[PluginSpec | str | os.PathLike[str]] = (),
        *,
        name: str = "sliphook",
        approver: Approver | None = None,
        on_notify: Callable[[str, str, str], None] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        on_log: Callable[[str, str, str], None] | None = None,
        on_problem: Callable[[str, str], None] | None = None,
        reserved_tools: Iterable[str] = (),
        reserved_commands: Iterable[str] = (),
        timeout_cap_s: float | None = None,
        trace: TraceSink | None = None,
        spans: Spans | None = None,
        data_home: Path | None = None,
        log_dir: Path | None = None,
    ) -> None:
        self._specs = [
            spec if isinstance(spec, PluginSpec) else PluginSpec(Path(spec)) for spec in plugins
        ]
        self._state = HostState(
            name=name,
            callbacks=Callbacks(on_notify, on_progress, on_log, on_problem),
            approver=approver,
            reserved_tools=reserved_tools,
            reserved_commands=reserved_commands,
            timeout_cap_s=timeout_cap_s,
            trace=trace,
            spans=spans,
            data_home=data_home,
            log_dir=log_dir,
        )
        self._plugins: list[Plugin] = []
        self._leaving: list[Plugin] = []
        self._crew: trio.Nursery | None = None
        self._supervised = trio.Event()
        self._has_reaper = False
        self._token: trio.lowlevel.TrioToken | None = None
        self._open_nursery: Any = None
        self._nursery: trio.Nursery | None = None
        self._supervision = trio.CancelScope(shield=True)

    # -- the scope
    # -------------------------------------------------------------------------------------------------

    @trio.lowlevel.enable_ki_protection
    async def __aenter__(self) -> PluginHost:
        self._token = trio.lowlevel.current_trio_token()
        self._open_nursery = trio.open_nursery()
        nursery: trio.Nursery = await self._open_nursery.__aenter__()
        self._nursery = nursery
        try:
            self._plugins = [
                Plugin(spec, order, self._state) for order, spec in enumerate(self._specs)
            ]
            self._state.expect(self._plugins)
            nursery.start_soon(self._supervise)
            await self._supervised.wait()
            with trio.move_on_after(INITIALIZE_TIMEOUT_S + 1):
                for plugin in self._plugins:
                    await plugin.settled.wait()
        except BaseException:
            await self._close()
            raise
        return self

    @trio.lowlevel.enable_ki_protection
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._close()

    @trio.lowlevel.enable_ki_protection
    async def _supervise(self) -> None:
        """All that runs beside the agent.

        A cancellation from outside does not reach it: the plugins are told of the end first.
        """
        with self._supervision:
            async with trio.open_nursery() as nursery:
                self._crew = nursery
                nursery.start_soon(self._state.deadlines.run)
                self._supervised.set()
                await self._start_reaper()
                for plugin in self._plugins:
                    nursery.start_soon(plugin.run)

    async def _start_reaper(self) -> None:
        if not self._has_reaper and any(plugin.spec.start is None for plugin in self._plugins):
            self._has_reaper = True
            await trio.to_thread.run_sync(self._state.services.reaper.start)

    @trio.lowlevel.enable_ki_protection
    async def _change_over(self, going: list[Plugin], coming: list[Plugin]) -> None:
        """The old ones end before the new ones start: two processes of one plugin would share its folder."""
        assert self._crew is not None
        for plugin in going:
            await plugin.gone.wait()
        self._leaving = [plugin for plugin in self._leaving if not plugin.gone.is_set()]
        await self._start_reaper()
        for plugin in coming:
            self._crew.start_soon(plugin.run)

    @trio.lowlevel.enable_ki_protection
    async def _close(self) -> None:
        """End the sessions, then all plugins at the same time.

        Shielded: it takes at most as long as the slowest, under six seconds.
        """
        impatience: KeyboardInterrupt | None = None
        with trio.CancelScope(shield=True):
            for session in list(self._state.sessions.values()):
                session.close("shutdown")
            for plugin in self._plugins:
                plugin.stop()
            for plugin in [*self._plugins, *self._leaving]:
                while not plugin.gone.is_set():
                    try:
                        await plugin.gone.wait()
                    except KeyboardInterrupt as error:
                        impatience = error
                        self.kill()
        # an exception of the agent's leaves as it is, not wrapped in a group: the nursery does not
        # hear of it
        assert self._nursery is not None
        self._nursery.cancel_scope.shield = True
        self._supervision.cancel()
        self._state.services.reaper.close()
        self._state.reports.logs.close()
        await self._open_nursery.__aexit__(None, None, None)
        if impatience is not None:
            raise impatience

    @trio.lowlevel.enable_ki_protection
    def kill(self) -> None:
        """The user is in a hurry: end every plugin now, without asking.

        Leaving the block is quick afterwards.
        """
        for plugin in [*self._plugins, *self._leaving]:
            plugin.kill()

    # -- the agent's face
    # --------------------------------------------------------------------------------------------

    @property
    def plugins(self) -> list[PluginStatus]:
        """Every plugin, in the order of installation, as it is now."""
        return [plugin.status() for plugin in self._plugins]

    async def restart(self, name: str) -> PluginStatus:
        """Start a plugin anew, whatever its state, and wait until it is ready or has failed.

        Raises:
            HostError: there is no such plugin.
        """
        return await self._order(name, Plugin.start)

    async def enable(self, name: str) -> PluginStatus:
        """Start a plugin that was disabled; the same as `restart` for one that was not.

        Raises:
            HostError: there is no such plugin.
        """
        return await self._order(name, Plugin.start)

    async def disable(self, name: str) -> PluginStatus:
        """End a plugin and lift its hooks, closed ones too, until it is enabled; waits until it is gone.

        Raises:
            HostError: there is no such plugin.
        """
        return await self._order(name, Plugin.disable)

    @trio.lowlevel.enable_ki_protection
    async def update(
        self, plugins: Iterable[PluginSpec | str | os.PathLike[str]]
    ) -> list[PluginStatus]:
        """Take up other plugins while the host runs, sessions and all; returns when each is ready or has failed.

        A plugin is known by its name, one that is only tried by its path. Those that are new are
        started, those that are not named any more are ended, those whose spec is another are ended
        and started anew, and so are those that had failed or were refused. The others are left
        alone. What is recorded of a new one guards from now on, the hooks of one that is ended are
        lifted now: both before this waits for anything. A plugin that starts is told of the living
        sessions, as after a restart. Of several calls at the same time the last one counts.

        Args:
            plugins: all of them, in the order of installation.

        Raises:
            HostError: the host is not open.
        """
        specs = [
            spec if isinstance(spec, PluginSpec) else PluginSpec(Path(spec)) for spec in plugins
        ]
        if self._crew is None or self._supervision.cancel_called:
            raise HostError("the host is not open")
        going, plan, coming = list(self._plugins), list[Plugin](), list[Plugin]()
        for order, spec in enumerate(specs):
            plugin = next((one for one in going if one.spec == spec), None)
            if plugin is None:
                plugin = Plugin(spec, order, self._state)
                coming.append(plugin)
            else:
                going.remove(plugin)
                plugin.order = order
                if plugin.state in (State.FAILED, State.REFUSED, State.SELF_DISABLED):
                    plugin.start()
            plan.append(plugin)
        self._plugins, self._leaving = plan, [*self._leaving, *going]
        self._state.part_with(going)
        self._state.expect(coming)
        for plugin in going:
            plugin.stop()
        self._crew.start_soon(self._change_over, list(self._leaving), coming)
        for plugin in plan:
            await plugin.settled.wait()
        return self.plugins

    @trio.lowlevel.enable_ki_protection
    async def _order(self, name: str, order: Callable[[Plugin], None]) -> PluginStatus:
        plugin = next((plugin for plugin in self._plugins if plugin.name == name), None)
        if plugin is None:
            raise HostError(f"there is no plugin named {quote(name, 64)}")
        order(plugin)
        await plugin.settled.wait()
        return plugin.status()

    def session(
        self,
        *,
        session_key: str | None = "main",
        platform: str | None = "cli",
        user_id: str | None = None,
        cwd: str | os.PathLike[str] | None = None,
        model: str | None = None,
        source: StartSource = "startup",
        meta: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """A conversation, to be used as `async with`.

        Args:
            session_key: the agent's own name for it: chat, thread, terminal.
            platform: where the user is.
            user_id: who the user is.
            cwd: the project's folder; by default the current one.
            model: the model that it begins with.
            source: `startup`, or `resume` for one that goes on.
            meta: an object of the agent's own, passed to the plugins as it is.
            session_id: for a session that goes on under its old id.
        """
        return Session(
            self._state,
            self._state.sessions,
            session_key=session_key,
            platform=platform,
            user_id=user_id,
            cwd=cwd,
            model=model,
            source=source,
            meta=meta,
            session_id=session_id,
        )

    def tools(self, session_id: str | None = None) -> list[ToolOffer]:
        """The plugins' tools that a session may offer to its model, in the plugins' order, whichever was ready first."""
        return sorted(
            self._state.plugin_calls.table.offers(session_id), key=place_among(self._plugins)
        )

    def commands(self) -> list[CommandOffer]:
        """The plugins' slash commands, in the plugins' order."""
        return sorted(self._state.plugin_calls.commands(), key=place_among(self._plugins))

    def interrupt_from_thread(
        self,
        session_id: str,
        reason: InterruptReason = "user_stop",
        invalidation_reason: str = "host_interrupt",
    ) -> None:
        """Interrupt a session's turn from any thread; returns at once, the loop does it next."""
        assert self._token is not None, "the host is not open"
        self._token.run_sync_soon(self._interrupt, session_id, reason, invalidation_reason)

    def _interrupt(
        self, session_id: str, reason: InterruptReason, invalidation_reason: str
    ) -> None:
        if (session := self._state.sessions.get(session_id)) is not None:
            session.interrupt(reason, invalidation_reason)

    @trio.lowlevel.enable_ki_protection
    async def fire(self, name: str, payload: Payload, *, timeout_s: float | None = None) -> Outcome:
        """Put one whole payload to all plugins, outside of any session.

        For tools that try plugins, not for agents.

        Args:
            name: the hook or event.
            payload: all of it.
            timeout_s: instead of the subscriptions' own.
        """
        state, entry = self._state, CATALOGUE[name]
        subscribers = [
            with_timeout(one, timeout_s) if timeout_s is not None else one
            for one in state.subscribers(name)
        ]
        if entry.kind == "event":
            told = tell(entry, payload, listeners_among(subscribers, state.plugins_by_name))
            return Outcome(
                payload=payload, parts=tuple(Part(plugin=plugin, status="told") for plugin in told)
            )
        record = state.recorder.hook(name, payload) if state.recorder is not None else None
        fire = Fire(
            entry, payload, subscribers, state.plugins_by_name, state.deadlines, record=record
        )
        fire.begin()
        return await fire.wait()

    @trio.lowlevel.enable_ki_protection
    async def call_plugin_tool(self, name: str, params: ToolCallParams) -> ToolAnswer:
        """Call one tool outside of any session, without hooks.

        For tools that try plugins, not for agents.

        Raises:
            HostError: no plugin has the tool.
        """
        offer = self._state.plugin_calls.table.find(name, params.session_id)
        if offer is None:
            known = ", ".join(offer.name for offer in self.tools()) or "none"
            raise HostError(f"no plugin has a tool named {quote(name, 64)}; there is {known}")
        return await self._state.plugin_calls.call_tool(offer, params)
