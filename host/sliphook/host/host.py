"""The host: plugins in, hooks and events out. `async with PluginHost([...]) as host`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any

import trio

from sliphook.dispatch.hook_recorder import Spans
from sliphook.errors import opened_twice
from sliphook.forks import Home, end_fork
from sliphook.plugin.spec import PluginSpec, PluginStatus
from sliphook.plugin.supervision import Plugin
from sliphook.plugin.tools import CommandOffer, ToolOffer
from sliphook.session.arguments.plain import (
    check_flags,
    check_number,
    check_text,
    check_texts,
    check_word,
    path_of,
    texts_by_name,
    texts_of,
)
from sliphook.session.host import Approver, Asker, CanAsk, People
from sliphook.session.interrupt import InterruptReason
from sliphook.session.reports import Callbacks, Progress
from sliphook.session.results import Interruption
from sliphook.session.session import Session, StartSource
from sliphook.session.submission import Submission
from sliphook.trace.record import TraceSink
from sliphook_sdk.protocol.limits import INITIALIZE_TIMEOUT_S, MIN_TIMEOUT_S

from .admission import is_heard, offers_on_record, place_among
from .agent_code import check_agent_code
from .crew import Crew, specs_of
from .outside import OutsideSessions
from .state import HostState
from .submissions import PluginMessages


class PluginHost(OutsideSessions):
    """Runs plugins beside the agent.

    Entering starts all of them side by side and waits until each is ready or has failed. One that
    fails is reported (`on_problem`, `plugins`) and left out: no fault of a plugin is raised here.
    An argument of a wrong type is a TypeError that names it, at once.

    Args:
        plugins: executables, or specs of installed ones, in the order of installation.
        name: the agent's name, as plugins are told it.
        on_submit: takes a message that a plugin submits for the model (`host/submit`), and begins a
            turn for it, now or later; it never waits. A HostError refuses the message. Without it
            the agent takes none.
        plugin_messages: what such a message does while a turn of its session is open: `queue`
            waits, `interrupt` interrupts the turn, `refuse` is refused.
        approver: an async function that asks a person if a plugin answers `ask`; without it a
            plugin that may `approve` is asked, or `ask` is deny.
        approver_queues: the approver is called for several tool calls of a session at once, as it
            puts them to its person one behind the other itself.
        asker: an async function that asks a person for a plugin (`host/ask`); None if no one can
            be asked. A HostError leaves the question to plugins that may `approve`.
        can_ask: whether the asker has someone to ask about a request, as not every session may have
            a person; None: always. Where it has not, plugins that may `approve` are asked alone.
            Called in the host's thread; it must not wait.
        on_notify: shows the user an alert: plugin, level, message.
        on_progress: shows how far a request has come.
        on_log: takes what is logged of plugins: plugin, level, message; by default it goes to
            `logging`. The level tells whose line it is: `debug`, `info`, `warning` and `error` are
            the plugin's own log, `stderr` its stderr, and `host` is what the host says of it.
        on_problem: takes one line for people if a plugin fails or is left out: plugin, message.
        on_offers: called when `tools` or `commands` may give others than before.
        providers: where models can be called, by the names that plugins may route calls to, with
            the servers' addresses; None: no server.
        reserved_tools: names of the agent's own tools.
        reserved_commands: names of the agent's own commands, besides the protocol's.
        timeout_cap_s: the longest that an answer of any plugin may take, even if its subscriptions
            ask for more; None: no cap.
        trace: where the messages are recorded, or None.
        spans: makes spans of sessions, turns, model calls, hooks and tool calls (see
            `sliphook.otel`), or None.
        data_home: where the plugins' own folders are; by default `$XDG_DATA_HOME/sliphook/data`.
        log_dir: where each plugin's log file is; by default `$XDG_STATE_HOME/sliphook/logs`.
        open_wait_s: how long entering waits at most; by default a second more than a plugin may
            take. Afterwards a hook or a tool of a plugin that still starts waits for it, if its
            manifest is recorded; else nothing is known of it yet.
    """

    def __init__(
        self,
        plugins: Iterable[PluginSpec | str | os.PathLike[str]] = (),
        *,
        name: str = "sliphook",
        approver: Approver | None = None,
        approver_queues: bool = False,
        on_submit: Callable[[Submission], object] | None = None,
        plugin_messages: PluginMessages = "queue",
        asker: Asker | None = None,
        can_ask: CanAsk | None = None,
        on_notify: Callable[[str, str, str], None] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        on_log: Callable[[str, str, str], None] | None = None,
        on_problem: Callable[[str, str], None] | None = None,
        on_offers: Callable[[], None] | None = None,
        providers: Mapping[str, str | None] | None = None,
        reserved_tools: Iterable[str] = (),
        reserved_commands: Iterable[str] = (),
        timeout_cap_s: float | None = None,
        trace: TraceSink | None = None,
        spans: Spans | None = None,
        data_home: str | os.PathLike[str] | None = None,
        log_dir: str | os.PathLike[str] | None = None,
        open_wait_s: float = INITIALIZE_TIMEOUT_S + 1,
    ) -> None:
        check_text("name", name)
        check_word("plugin_messages", plugin_messages, PluginMessages)
        check_number("open_wait_s", open_wait_s)
        check_number("timeout_cap_s", timeout_cap_s, low=MIN_TIMEOUT_S, none=True)
        callbacks = Callbacks(on_notify, on_progress, on_log, on_problem, on_offers)
        people = People(approver, approver_queues, asker, can_ask)
        check_agent_code(people, callbacks, on_submit, trace, spans)
        self._state = HostState(
            name=name,
            callbacks=callbacks,
            people=people,
            on_submit=on_submit,
            plugin_messages=plugin_messages,
            providers=texts_by_name("providers", providers),
            reserved_tools=texts_of("reserved_tools", reserved_tools),
            reserved_commands=texts_of("reserved_commands", reserved_commands),
            timeout_cap_s=timeout_cap_s,
            trace=trace,
            spans=spans,
            data_home=path_of("data_home", data_home),
            log_dir=path_of("log_dir", log_dir),
        )
        self._crew = Crew(self._state, specs_of(plugins), open_wait_s)
        self._token: trio.lowlevel.TrioToken | None = None

    # -- the scope

    # Ctrl+C is for the agent's code: raised in here, it would leave processes behind
    @trio.lowlevel.enable_ki_protection
    async def __aenter__(self) -> PluginHost:
        if self._token is not None:
            raise opened_twice("host", "PluginHost()")
        self._token = trio.lowlevel.current_trio_token()
        self._state.home = Home()
        await self._crew.open()
        return self

    @trio.lowlevel.enable_ki_protection
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._state.home.is_elsewhere:
            end_fork(error)
        await self._crew.close()

    @trio.lowlevel.enable_ki_protection
    def kill(self) -> None:
        """End every plugin now, without asking it; leaving the block is quick afterwards."""
        self._crew.kill()

    # -- plugins

    @property
    def plugins(self) -> list[PluginStatus]:
        """Every plugin, in the order of installation, as it is now."""
        return [plugin.status() for plugin in self._crew.plugins]

    async def restart(self, name: str) -> PluginStatus:
        """Start a plugin anew, in any state, and wait until it is ready or has failed.

        Raises:
            HostError: there is no such plugin.
        """
        return await self._order(name, Plugin.start)

    async def enable(self, name: str) -> PluginStatus:
        """Start a plugin that was disabled; for any other plugin the same as `restart`."""
        return await self._order(name, Plugin.start)

    async def disable(self, name: str) -> PluginStatus:
        """End a plugin and wait until it is gone.

        Its hooks, closed ones too, are lifted until it is enabled.

        Raises:
            HostError: there is no such plugin.
        """
        return await self._order(name, Plugin.disable)

    @trio.lowlevel.enable_ki_protection
    async def update(
        self, plugins: Iterable[PluginSpec | str | os.PathLike[str]]
    ) -> list[PluginStatus]:
        """Run other plugins from now on; returns when each is ready or has failed.

        The host and its sessions stay open. A plugin is known by its name, or by its path if it is
        only tried.

        - A new plugin is started; one that is no longer named is ended.
        - A plugin with a changed spec, or one that had failed or was refused, is ended and started
          anew. The others are left alone.
        - The recorded hooks of a new plugin count, and the hooks of an ended one are lifted, before
          this waits for anything.
        - A plugin that starts is told of the open sessions, as after a restart.

        Of several calls at the same time the last one counts.

        Args:
            plugins: all of them, in the order of installation.

        Raises:
            HostError: the host is not open.
        """
        await self._crew.exchange(specs_of(plugins))
        return self.plugins

    @trio.lowlevel.enable_ki_protection
    async def _order(self, name: str, order: Callable[[Plugin], None]) -> PluginStatus:
        check_text("name", name)
        plugin = self._crew.find(name)
        order(plugin)
        # looked up only now: an order replaces the event
        await plugin.settled.wait()
        return plugin.status()

    def hide(self, secrets: Iterable[str]) -> None:
        """Hide these values, too, in the trace, the logs, stderr and what the user is shown.

        Hidden anyway are what plugins are granted, their secret settings, and the environment's own
        keys: variables whose names end in `API_KEY`, `TOKEN`, `PASSWORD` and the like. This is for
        what the agent got from elsewhere. May be called before the host is opened.
        """
        self._state.hide(texts_of("secrets", secrets))

    # -- sessions

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
        on_interrupt: Callable[[Interruption], None] | None = None,
    ) -> Session:
        """A conversation, to be used as `async with`.

        Args:
            session_key: the agent's own name for it: chat, thread, terminal.
            platform: what the user talks through: `cli`, `api` and so on.
            user_id: the user, as the agent names them.
            cwd: the project's folder; by default the current one, or none if that was removed.
            model: the model at the start.
            source: `startup`, or `resume` for a conversation that is continued.
            meta: the agent's own object, passed to the plugins as it is. If it is larger than
                4 KiB, an interrupt tells it as it was when the turn began.
            session_id: the old id of a conversation that is continued, and that is not open now.
            on_interrupt: called once for each interrupt of a turn, by the agent itself, the user
                or a plugin; in the host's loop, which it must not hold. What it raises is logged.

        Raises:
            TypeError: `meta` is no dict that JSON can hold, or another argument has a wrong type.
            ValueError: there is no such source.
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
            on_interrupt=on_interrupt,
        )

    def tools(self, session_id: str | None = None) -> list[ToolOffer]:
        """The plugins' tools that a session may offer its model, in the order of installation.

        Before the host is open, and while a plugin starts, those of its recorded manifest.
        """
        check_text("session_id", session_id, none=True)
        table = self._state.plugin_calls.table
        if self._token is None:
            return offers_on_record(self._crew.specs, table)
        return sorted(table.offers(session_id), key=place_among(self._crew.plugins))

    def commands(self) -> list[CommandOffer]:
        """The plugins' slash commands, in the order of installation."""
        return sorted(self._state.plugin_calls.commands(), key=place_among(self._crew.plugins))

    def hears(
        self,
        name: str,
        /,
        *,
        include: str | None = None,
        closed: bool = False,
        replaces: bool = False,
        **known: str | None,
    ) -> bool:
        """Whether a plugin subscribes to a hook or event now: else its fields need not be made.

        Args:
            name: the hook or event.
            include: count those alone that ask for this heavy field, such as `messages`.
            closed: count those alone that fail closed, for an agent that cannot ask them itself.
            replaces: count those alone that may replace something, such as a result.
            known: fields of the payload, for `match`; one that is not named fits.

        Raises:
            ValueError: there is no such hook or event, or it has no such heavy field.
        """
        check_text("name", name)
        check_texts(none=True, include=include, **known)
        check_flags(closed=closed, replaces=replaces)
        return is_heard(name, self._state.subscribers(name), include, closed, replaces, known)

    def interrupt_from_thread(
        self,
        session_id: str,
        reason: InterruptReason = "user_stop",
        invalidation_reason: str = "host_interrupt",
    ) -> None:
        """Interrupt a session's turn from any thread; returns at once, before it is done.

        Raises:
            ValueError: there is no such reason.
        """
        check_word("reason", reason, InterruptReason)
        check_texts(session_id=session_id, invalidation_reason=invalidation_reason)
        assert self._token is not None, "the host is not open"
        interrupt = self._state.interrupt
        self._token.run_sync_soon(interrupt, session_id, reason, invalidation_reason)
