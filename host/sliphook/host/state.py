"""The state of an open host: its plugins by name, their subscriptions, the open sessions."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from weakref import WeakKeyDictionary

import msgspec
import trio

from sliphook.dispatch.audience import Audience, Subscriber
from sliphook.dispatch.broadcast import Listeners, listeners_among
from sliphook.dispatch.hook_recorder import HookRecorder, Spans
from sliphook.files.paths import plugin_data
from sliphook.forks import Home
from sliphook.plugin.host_services import HostServices
from sliphook.plugin.launch import introduction
from sliphook.plugin.lifecycle import State
from sliphook.plugin.manifest import ReadManifest
from sliphook.plugin.secrets import own_keys
from sliphook.plugin.supervision import Plugin
from sliphook.plugin.tools import PluginTool, ToolTable
from sliphook.process.log_files import PluginLogs, default_folder
from sliphook.process.reaper import OrphanReaper
from sliphook.session.asking import forget_plugin
from sliphook.session.host import People
from sliphook.session.interrupt import InterruptReason
from sliphook.session.plugin_calls import PluginCalls
from sliphook.session.reports import Callbacks, Reports
from sliphook.session.requests.outside import Outside
from sliphook.session.requests.plugin_requests import PluginRequests, Rates
from sliphook.session.requests.questions import PluginQuestions
from sliphook.session.session import Session
from sliphook.session.submission import Submission
from sliphook.trace.record import TraceSink, never_raising
from sliphook.trace.redact import Redactor
from sliphook.transport.deadlines import Deadlines
from sliphook.transport.pace import Pace
from sliphook.wire.rpc import Handlers
from sliphook_sdk.protocol import CATALOGUE, PluginInfo

from .admission import (
    clash,
    enter_record,
    guards,
    holders_by_manifest,
    keeps_its_names,
    lacks_in_environment,
    name_of,
    name_of_files,
    name_of_the_agent,
    subscribers_by_name,
)
from .alerts import Alerts
from .failed_answers import FailedAnswers
from .reloads import tell_of_sessions
from .submissions import PluginMessages, Submissions

_IN_INTERRUPT = tuple(entry.name for entry in CATALOGUE.values() if entry.in_interrupt)


class HostState:
    """The shared state of one open host.

    It is the `SessionHost` of the sessions and the `Supervisor` of the plugins. No method waits.

    Attributes:
        services: what the plugins share.
        reports: tells people of plugins.
        home: where the host was opened.
        sessions: the open ones, by id; a session enters and removes itself.
        outside: what is put to plugins outside of them.
        tasks: runs the tasks of the open host.
    """

    def __init__(
        self,
        *,
        name: str,
        callbacks: Callbacks,
        people: People,
        on_submit: Callable[[Submission], object] | None,
        plugin_messages: PluginMessages,
        providers: Mapping[str, str | None],
        reserved_tools: Iterable[str],
        reserved_commands: Iterable[str],
        timeout_cap_s: float | None,
        trace: TraceSink | None,
        spans: Spans | None,
        data_home: Path | None,
        log_dir: Path | None,
    ) -> None:
        sink = never_raising(trace) if trace is not None else None
        self.services = HostServices(
            deadlines=Deadlines(),
            pace=Pace(),
            reaper=OrphanReaper(),
            redactor=Redactor(),
            trace=sink,
            timeout_cap_s=timeout_cap_s,
        )
        self.recorder = HookRecorder(sink, spans) if sink is not None or spans is not None else None
        self.deadlines = self.services.deadlines
        self.home = Home()
        self.sessions: dict[str, Session] = {}
        self.outside = Outside()
        self._by_name: dict[str, Plugin] = {}
        self.reports = Reports(
            callbacks,
            self.services.redactor,
            PluginLogs(log_dir or default_folder()),
            self._file_name,
            Alerts(self.sessions, self.listeners).tell,
        )
        failed = FailedAnswers(self._by_name, self.reports)
        self.hook_answered, self.refused_to_go_on = failed.hook_answered, failed.refused_to_go_on
        self.problem = self.reports.problem
        self.log_line = self.reports.log_line
        self.answered = self.reports.answered
        self.asked_nobody = self.reports.asked_nobody
        self.tasks: trio.Nursery | None = None
        self.hide(own_keys(os.environ))
        self._rates: WeakKeyDictionary[Plugin, Rates] = WeakKeyDictionary()
        self._submissions = Submissions(self.sessions, on_submit, plugin_messages)
        self._name, self._data_home = name, data_home
        self._reserved_commands = frozenset(reserved_commands)
        self._parted: list[Plugin] = []
        self._file_names: dict[Plugin, str] = {}
        self._subscribers: dict[str, Audience] | None = None  # not found yet
        self._listeners: dict[str, Sequence[Listeners]] = {}
        self._providers = dict(providers)
        self.people = people
        self.plugins_by_name: Mapping[str, Plugin] = self._by_name
        tools = ToolTable(reserved_tools, self.reports.offers_changed)
        self.plugin_calls = PluginCalls(self._by_name, tools, self.recorder, self.reports)

    # -- for sessions (see SessionHost)

    def all_plugins(self) -> Sequence[Plugin]:
        """All plugins with which calls may be open: removed ones too, until they are gone."""
        return [
            *self._by_name.values(),
            *(plugin for plugin in self._parted if not plugin.gone.is_set()),
        ]

    def subscribers(self, name: str) -> Sequence[Subscriber]:
        """The subscribers now; among them closed guards that do not run, whose part then fails."""
        if self._subscribers is None:
            self._subscribers = subscribers_by_name(self._by_name.values(), self._providers)
        return self._subscribers.get(name, ())

    def listeners(self, name: str) -> Sequence[Listeners]:
        """The subscribers that are ready; found once, until the state of a plugin changes."""
        found = self._listeners.get(name)
        if found is None:
            found = self._listeners[name] = listeners_among(self.subscribers(name), self._by_name)
        return found

    def _forget_subscribers(self) -> None:
        """A plugin has come, gone or changed its state: find the subscribers anew, but soon.

        Many may change at once, and each has all to be gone through.
        """
        self._subscribers = None
        self._listeners.clear()
        trio.lowlevel.current_trio_token().run_sync_soon(self._find_for_interrupts, idempotent=True)

    def _find_for_interrupts(self) -> None:
        """Find what an interrupt needs before one comes: it may take 2 ms."""
        for name in _IN_INTERRUPT:
            self.listeners(name)

    # -- for plugins (see Supervisor)

    def expect(self, plugins: Iterable[Plugin]) -> None:
        """Let the recorded manifests of plugins count that will start, and name their files."""
        taken = {name: one.spec for one, name in self._file_names.items()}
        for plugin in plugins:
            name = self._file_names[plugin] = name_of_files(plugin.spec, taken)
            taken[name] = plugin.spec
            # a guard that is absent still guards: its closed hooks count before it runs
            if plugin.recorded is not None:
                self._enter(plugin)
                # a tool of it may be called now: the call waits for the plugin
                table = self.plugin_calls.table
                enter_record(table, plugin.name, plugin.recorded, table)
        self._forget_subscribers()

    def part_with(self, plugins: Iterable[Plugin]) -> None:
        """Lift the hooks and free the names of plugins that the user has removed."""
        # without those that are gone: the list must not grow with each update
        self._parted = [plugin for plugin in self._parted if not plugin.gone.is_set()]
        self._file_names = {
            one: name for one, name in self._file_names.items() if not one.gone.is_set()
        }
        for plugin in plugins:
            self._parted.append(plugin)
            # another one may have taken the name meanwhile
            if self._by_name.get(plugin.name) is plugin:
                del self._by_name[plugin.name]
                self.plugin_calls.table.remove(plugin.name)
                forget_plugin(self.sessions.values(), plugin.name)
        self._forget_subscribers()

    def initialize_params(self, plugin: Plugin) -> msgspec.Raw:
        """The params of `initialize`."""
        told = PluginInfo(
            name=plugin.spec.name,
            data_dir=str(self.data_dir(plugin)),
            config=dict(plugin.spec.config),
        )
        return introduction(
            told, host=self._name, sessions=[session.info() for session in self.sessions.values()]
        )

    def handlers(self, plugin: Plugin) -> Handlers:
        """What the plugin may call."""
        rates = self._rates.setdefault(plugin, Rates())
        return PluginRequests(
            plugin,
            self.sessions,
            PluginQuestions(plugin, self, rates.questions, self.outside),
            self.reports,
            self.replace_tools,
            self._submissions.submit,
            rates,
        ).handlers()

    def data_dir(self, plugin: Plugin) -> Path:
        """The folder in which the plugin runs."""
        return (self._data_home or plugin_data()) / self._file_name(plugin)

    def _file_name(self, plugin: Plugin) -> str:
        # not `plugin.name`, which changes if a plugin that is only tried declares another one
        return self._file_names[plugin]

    def admit(self, plugin: Plugin, manifest: ReadManifest) -> str | None:
        """Take in the plugin's hooks, tools and commands, or say which name another one holds.

        If two plugins want one name, `keeps_its_names` decides.
        """
        name = name_of(plugin, manifest)
        # only collected: a plugin that is refused below must leave them as they are
        rivals: dict[Plugin, str] = {}
        for other in self._by_name.values():
            taken = clash(plugin, manifest, other) if other is not plugin else None
            if taken is not None:
                if keeps_its_names(other, plugin, manifest):
                    return f"{taken} is taken by the plugin {other.name} ({other.spec.path})"
                rivals[other] = taken
        table = self.plugin_calls.table
        if (own := name_of_the_agent(manifest, table, self._reserved_commands)) is not None:
            return f"{own} is taken by the agent"
        # what an earlier process of it has offered is its own, under whatever name
        mine = [one for one, plugin_of_it in self._by_name.items() if plugin_of_it is plugin]
        for tool, holder in table.holders(manifest.tool_names, besides=name).items():
            if holder not in mine and all(holder != other.name for other in rivals):
                return f"the tool {tool} is taken by {holder}"  # offered while it ran
        for other, taken in rivals.items():
            self._leave_out(other, taken, name)
        # also what an earlier process of it had offered for single sessions
        for before in (*mine, name):
            table.remove(before)
            if before != name:
                del self._by_name[before]
        plugin.name = name
        self._by_name[name] = plugin
        table.replace(name, None, manifest.tools)
        lacks = lacks_in_environment(manifest.wire, plugin.spec, name)
        # said once, not after each restart
        if lacks is not None and not plugin.has_worked:
            self.problem(plugin, f"{name} {lacks}")
        for text in manifest.ignored:
            self.reports.near_miss(plugin, text, text)
        return None

    def _leave_out(self, other: Plugin, taken: str, name: str) -> None:
        """One that has what the plugin of that name is to have."""
        why = f"{taken} is taken by the plugin {name}, which was installed before"
        self.problem(other, f"{other.name} is left out: {why}")
        self.plugin_calls.table.remove(other.name)
        other.refuse(why)
        del self._by_name[other.name]
        if other.recorded is not None or guards(other):
            self._keep(other, besides=name)

    def _keep(self, plugin: Plugin, besides: str = "") -> None:
        """What is approved and what guards stays here, so that its closed hooks still deny."""
        while plugin.name == besides or plugin.name in self._by_name:
            plugin.name += " (left out)"
        self._by_name[plugin.name] = plugin

    def _enter(self, plugin: Plugin) -> None:
        """Let its hooks count before it runs; of two with one name `admit` decides, if it does."""
        holder = self._by_name.get(plugin.name)
        if holder is not None and holder.recorded is None and plugin.recorded is not None:
            self._leave_out(holder, f"the name {plugin.name}", plugin.name)
        self._keep(plugin)

    def state_changed(self, plugin: Plugin) -> None:
        """Have the subscribers found anew; tell a plugin that came back of the open sessions."""
        self._forget_subscribers()
        known = (*self._by_name.values(), *self._parted)
        # it may have lost its name while it was disabled
        if plugin not in known and plugin.state is not State.DISABLED and guards(plugin):
            self._enter(plugin)
        # one that was not admitted may be called like another plugin
        if not plugin.ready and self._by_name.get(plugin.name) is plugin:
            forget_plugin(self.sessions.values(), plugin.name)
            # while it starts again its tools stay: a call of one waits for it
            if not plugin.state.waits:
                self.plugin_calls.table.remove(plugin.name)
        self.reports.offers_changed()  # its commands
        if plugin.state is State.READY:
            tell_of_sessions(plugin, self.sessions.values(), self._by_name, self.recorder)

    def start_soon(self, function: Callable[..., Awaitable[object]], *args: object) -> None:
        """Run an async function in a task of the open host."""
        assert self.tasks is not None, "plugins run in an open host alone"
        self.tasks.start_soon(function, *args)

    def interrupt(self, session_id: str, reason: InterruptReason, invalidation_reason: str) -> None:
        """Interrupt the open turn of a session; does nothing if the session is over."""
        if (session := self.sessions.get(session_id)) is not None:
            session.interrupt(reason, invalidation_reason)

    def hide(self, secrets: Sequence[str]) -> None:
        """Hide these values in traces and logs from now on."""
        self.services.redactor.add(secrets)
        if self.services.trace is not None:
            self.services.trace.hide(secrets)

    def replace_tools(
        self, plugin: Plugin, session_id: str | None, tools: Sequence[PluginTool]
    ) -> str | None:
        """Replace the plugin's tools of one session, or of all (None); or say why it does not."""
        table = self.plugin_calls.table
        # all are checked before any is replaced: all or nothing (protocol.md, host/tools)
        names = [tool.name for tool in tools]
        # by manifest too: a plugin that does not run now keeps its names
        holders = table.holders(names, besides=plugin.name) or holders_by_manifest(
            names, self._by_name.values(), besides=plugin
        )
        for name, holder in holders.items():
            return f"the tool {name} is taken by {holder}"
        table.replace(plugin.name, session_id, tools)
        return None
