"""The host: plugins in, hooks and events out. `async with PluginHost([...]) as host`."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
import trio
from sliphook_sdk.protocol import CATALOGUE, HostInfo, InitializeParams, Payload, PluginInfo, ToolCallParams
from sliphook_sdk.protocol.limits import INITIALIZE_TIMEOUT_S, PROTOCOL_VERSIONS

from . import wire
from .deadlines import Deadlines
from .dispatch import Subscriber
from .errors import HostError
from .fire import Fire, tell
from .hostcalls import HostCalls, Progress
from .lifecycle import State
from .manifest import PluginTool, ReadManifest
from .outcome import Outcome, Part
from .plugin import Plugin
from .pluginwork import PluginWork, ToolAnswer
from .quoting import quote
from .rpc import Handler
from .session import InterruptReason, Session, StartSource
from .spec import PluginSpec, PluginStatus
from .toolcall import Approver
from .tools import CommandOffer, ToolOffer, ToolTable
from .trace.record import TraceSink

_log = logging.getLogger("sliphook")


class PluginHost:
    """Runs plugins beside the agent. Opening starts all of them side by side and waits until each is ready or has failed, 10 s at most.

    A plugin that fails is reported (`on_problem`, `plugins`) and left out; nothing that a plugin does raises here.

    Args:
        plugins: executables, or specs of installed ones, in the order of installation.
        name: the agent's name, which plugins are told.
        approver: asks a person where a plugin answers `ask`; without it `ask` is deny.
        on_notify: shows the user an alert: plugin, level, message.
        on_progress: shows how far a request has come.
        on_log: takes the plugins' log lines and stderr: plugin, level, message; by default they go to `logging`.
        on_problem: takes one line for people when a plugin fails, crashes or is left out: plugin, message.
        reserved_tools: names of tools that are the agent's own.
        reserved_commands: names of commands that are the agent's own, besides the protocol's.
        trace: where the messages are recorded, or None.
        data_home: where the plugins' folders are; by default `$XDG_DATA_HOME/sliphook/data`.
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
        trace: TraceSink | None = None,
        data_home: Path | None = None,
    ) -> None:
        self.trace = trace
        self.deadlines = Deadlines()
        self._specs = [spec if isinstance(spec, PluginSpec) else PluginSpec(Path(spec)) for spec in plugins]
        self._name = name
        self._on_notify = on_notify
        self._on_progress = on_progress
        self._on_log = on_log
        self._on_problem = on_problem
        self._reserved_commands = frozenset(reserved_commands)
        self._data_home = data_home
        self._plugins: list[Plugin] = []
        self._by_name: dict[str, Plugin] = {}
        self._sessions: dict[str, Session] = {}
        self._subscribers: dict[str, tuple[Subscriber, ...]] = {}
        self.tool_host = PluginWork(self._by_name, ToolTable(reserved_tools), approver)
        self._token: trio.lowlevel.TrioToken | None = None
        self._open_nursery: Any = None
        self._nursery: trio.Nursery | None = None

    # -- the scope -------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> PluginHost:
        self._token = trio.lowlevel.current_trio_token()
        self._open_nursery = trio.open_nursery()
        nursery: trio.Nursery = await self._open_nursery.__aenter__()
        self._nursery = nursery
        try:
            nursery.start_soon(self.deadlines.run)
            self._plugins = [Plugin(spec, order, self) for order, spec in enumerate(self._specs)]
            for plugin in self._plugins:
                nursery.start_soon(plugin.run)
            with trio.move_on_after(INITIALIZE_TIMEOUT_S + 1):
                for plugin in self._plugins:
                    await plugin.settled.wait()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        await self._close()

    async def _close(self) -> None:
        """End the sessions, then all plugins at the same time. Shielded: it takes at most as long as the slowest, under six seconds."""
        with trio.CancelScope(shield=True):
            for session in list(self._sessions.values()):
                session.close("shutdown")
            for plugin in self._plugins:
                plugin.stop()
            for plugin in self._plugins:
                await plugin.gone.wait()
        # an exception of the agent's leaves as it is, not wrapped in a group: the nursery does not hear of it
        assert self._nursery is not None
        self._nursery.cancel_scope.shield = True
        self._nursery.cancel_scope.cancel()
        await self._open_nursery.__aexit__(None, None, None)

    def kill(self) -> None:
        """The user is in a hurry: end every plugin now, without asking. Leaving the block is quick afterwards."""
        for plugin in self._plugins:
            plugin.kill()

    # -- the agent's face --------------------------------------------------------------------------------------------

    @property
    def plugins(self) -> list[PluginStatus]:
        """Every plugin, in the order of installation, as it is now."""
        return [plugin.status() for plugin in self._plugins]

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
            self,
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
        """The plugins' tools that a session may offer to its model."""
        return self.tool_host.table.offers(session_id)

    def commands(self) -> list[CommandOffer]:
        """The plugins' slash commands."""
        return self.tool_host.commands()

    def interrupt_from_thread(
        self, session_id: str, reason: InterruptReason = "user_stop", invalidation_reason: str = "host_interrupt"
    ) -> None:
        """Interrupt a session's turn from any thread; returns at once, the loop does it next."""
        assert self._token is not None, "the host is not open"
        self._token.run_sync_soon(self._interrupt, session_id, reason, invalidation_reason)

    def _interrupt(self, session_id: str, reason: InterruptReason, invalidation_reason: str) -> None:
        session = self._sessions.get(session_id)
        if session is not None:
            session.interrupt(reason, invalidation_reason)

    async def fire(self, name: str, payload: Payload, *, timeout_s: float | None = None) -> Outcome:
        """Put one whole payload to all plugins, outside of any session. For tools that try plugins, not for agents.

        Args:
            name: the hook or event.
            payload: all of it.
            timeout_s: instead of the subscriptions' own.
        """
        entry = CATALOGUE[name]
        subscribers = [_with_timeout(one, timeout_s) if timeout_s is not None else one for one in self.subscribers(name)]
        if entry.kind == "event":
            told = tell(entry, payload, subscribers, self._by_name)
            return Outcome(payload=payload, parts=tuple(Part(plugin=plugin, status="told") for plugin in told))
        fire = Fire(entry, payload, subscribers, self._by_name, self.deadlines)
        fire.begin()
        return await fire.wait()

    async def call_plugin_tool(self, name: str, params: ToolCallParams) -> ToolAnswer:
        """Call one tool outside of any session, without hooks. For tools that try plugins, not for agents.

        Raises:
            HostError: no plugin has the tool.
        """
        offer = self.tool_host.table.find(name, params.session_id)
        if offer is None:
            known = ", ".join(offer.name for offer in self.tools()) or "none"
            raise HostError(f"no plugin has a tool named {quote(name, 64)}; there is {known}")
        return await self.tool_host.call_tool(offer, params)

    # -- for sessions (see SessionHost) ------------------------------------------------------------------------------

    @property
    def plugins_by_name(self) -> Mapping[str, Plugin]:
        """The plugins that have declared themselves."""
        return self._by_name

    def subscribers(self, name: str) -> Sequence[Subscriber]:
        """Who hears a hook or event now; a closed guard that is not there is among them, and fails."""
        return self._subscribers.get(name, ())

    def session_opened(self, session: Session, old_id: str | None) -> None:
        """A session lives under its id."""
        if old_id is not None:
            self._sessions.pop(old_id, None)
            self.tool_host.table.end_session(old_id)
        self._sessions[session.session_id] = session

    def session_closed(self, session: Session) -> None:
        """A session is over."""
        self._sessions.pop(session.session_id, None)
        self.tool_host.table.end_session(session.session_id)

    # -- for plugins (see Supervisor and CalledHost) -------------------------------------------------------------------

    def initialize_params(self, plugin: Plugin) -> msgspec.Raw:
        """The params of `initialize`."""
        params = InitializeParams(
            protocol_versions=list(PROTOCOL_VERSIONS),
            host=HostInfo(name=self._name, version=metadata.version("sliphook")),
            plugin=PluginInfo(name=plugin.spec.name, data_dir=str(self.data_dir(plugin)), config=dict(plugin.spec.config)),
            events=list(CATALOGUE),
            sessions=[session.info() for session in self._sessions.values()],
        )
        return msgspec.Raw(wire.encode(params))

    def handlers(self, plugin: Plugin) -> Mapping[str, Handler]:
        """What the plugin may call."""
        return HostCalls(self, plugin).handlers()

    def data_dir(self, plugin: Plugin) -> Path:
        """A folder that is the plugin's own."""
        home = self._data_home or Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "sliphook" / "data"
        safe = "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in plugin.name)
        return home / (safe or "_")

    def admit(self, plugin: Plugin, manifest: ReadManifest) -> str | None:
        """Take the plugin's hooks, tools and commands in, or say who has a name of theirs. Of two, the one installed first keeps it."""
        rivals: dict[Plugin, str] = {}
        for other in self._by_name.values():
            clash = _clash(manifest, other) if other is not plugin else None
            if clash is not None:
                if other.order < plugin.order:
                    return f"{clash} is taken by the plugin {other.name} ({other.spec.path})"
                rivals[other] = clash
        own = next((tool.name for tool in manifest.tools if self.tool_host.table.is_reserved(tool.name)), None)
        if own is not None:
            return f"the tool {own} is taken by the agent"
        own = next((command.name for command in manifest.commands if command.name in self._reserved_commands), None)
        if own is not None:
            return f"the command /{own} is taken by the agent"
        for other, clash in rivals.items():
            why = f"{clash} is taken by the plugin {plugin.name}, which was installed before"
            self.problem(other, f"{other.name} is left out: {why}")
            self.tool_host.table.remove(other.name)
            del self._by_name[other.name]
            other.refuse(why)
        self._by_name[manifest.name if plugin.spec.name is None else plugin.spec.name] = plugin
        self.tool_host.table.replace(plugin.name, None, manifest.tools)
        return None

    def state_changed(self, plugin: Plugin) -> None:
        """Who hears what is worked out anew; a plugin that came back is told of the sessions that live."""
        self._subscribers = _subscribers(self._by_name.values())
        if plugin.state is State.READY and plugin.has_restarted:
            for session in self._sessions.values():
                payload = session.stamp("session_start", None, source="reload", model=session.model)
                own = [one for one in self.subscribers("session_start") if one.plugin == plugin.name]
                tell(CATALOGUE["session_start"], payload, own, self._by_name)

    def problem(self, plugin: Plugin, message: str) -> None:
        """Something that the user should read."""
        if self._on_problem is not None:
            self._on_problem(plugin.name, message)
        else:
            _log.warning("%s", message)

    def log_line(self, plugin: Plugin, level: str, message: str) -> None:
        """A line of the plugin's log or stderr."""
        if self._on_log is not None:
            self._on_log(plugin.name, level, message)
        else:
            levels = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
            _log.log(levels.get(level, logging.DEBUG), "%s: %s", plugin.name, message)

    def show_notice(self, plugin: Plugin, level: str, message: str) -> None:
        """An alert for the user."""
        if self._on_notify is not None:
            self._on_notify(plugin.name, level, message)
        else:
            self.log_line(plugin, level, message)

    def show_progress(self, progress: Progress) -> None:
        """How far a request has come."""
        if self._on_progress is not None:
            self._on_progress(progress)

    def session_by_id(self, session_id: str) -> Session | None:
        """The living session."""
        return self._sessions.get(session_id)

    def replace_tools(self, plugin: Plugin, session_id: str | None, tools: Sequence[PluginTool]) -> str | None:
        """Replace the plugin's tools of a scope, all or nothing; returns why not, or None."""
        table = self.tool_host.table
        for tool in tools:
            holder = table.holder(tool.name, besides=plugin.name)
            if holder is not None:
                return f"the tool {tool.name} is taken by {holder}"
        table.replace(plugin.name, session_id, tools)
        return None


def _clash(manifest: ReadManifest, other: Plugin) -> str | None:
    """A name that the manifest wants and `other` has."""
    theirs = other.manifest
    if theirs is None:
        return None
    if manifest.name == other.name:
        return f"the name {manifest.name}"
    tools = {tool.name for tool in theirs.tools}
    for tool in manifest.tools:
        if tool.name in tools:
            return f"the tool {tool.name}"
    commands = {command.name for command in theirs.commands}
    for command in manifest.commands:
        if command.name in commands:
            return f"the command /{command.name}"
    return None


def _subscribers(plugins: Iterable[Plugin]) -> dict[str, tuple[Subscriber, ...]]:
    found: dict[str, list[Subscriber]] = {}
    for plugin in plugins:
        for name, routes in plugin.routes().items():
            found.setdefault(name, []).append(Subscriber(plugin=plugin.name, order=plugin.order, routes=routes))
    return {name: tuple(sorted(subscribers, key=lambda one: one.order)) for name, subscribers in found.items()}


def _with_timeout(subscriber: Subscriber, timeout_s: float) -> Subscriber:
    routes = tuple(msgspec.structs.replace(route, timeout_s=timeout_s) for route in subscriber.routes)
    return msgspec.structs.replace(subscriber, routes=routes)
