"""Tells plugins what the user is told of another plugin: its alerts, its failures."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

import trio

from sliphook.agent_log import agent_log
from sliphook.dispatch.broadcast import Listeners, without
from sliphook.plugin.supervision import Plugin
from sliphook.session.reports import HOST
from sliphook.session.session import Session
from sliphook.transport.rate_limit import RateLimit
from sliphook_sdk.protocol import AlertLevel
from sliphook_sdk.protocol.limits import MAX_NOTIFY_PER_MINUTE

_log = agent_log(__name__)
_EVENT: Final = "notification"
MAX_WAITING: Final = 256
"""Alerts that wait to be told at most; further ones are not told, though the user sees them."""


class _Alert(NamedTuple):
    plugin: Plugin
    level: AlertLevel
    message: str
    source: str
    session_id: str | None


class Alerts:
    """Tells of each plugin as many failures in a minute as a plugin may send alerts.

    A plugin is not told of its own: it would answer itself. Two that answer each other are held by
    the limit.

    Args:
        sessions: the open ones, by id, the newest last.
        listeners: the plugins that are told of an event.
    """

    def __init__(
        self,
        sessions: dict[str, Session],
        listeners: Callable[[str], Sequence[Listeners]],
    ) -> None:
        self._sessions = sessions
        self._listeners = listeners
        self._failures: WeakKeyDictionary[Plugin, RateLimit] = WeakKeyDictionary()
        self._waiting: deque[_Alert] = deque()
        self._told_just_now = False

    def tell(
        self, plugin: Plugin, level: AlertLevel, message: str, source: str, session_id: str | None
    ) -> None:
        """Tell the other plugins, in one session.

        Args:
            plugin: whose alert or failure it is.
            level: how serious.
            message: what the user reads.
            source: `host`, or the plugin's name.
            session_id: the session; None: the one of the plugin's newest request, else the newest.
        """
        if not self._listeners(_EVENT) or (source == HOST and not self._may_fail(plugin)):
            return
        alert = _Alert(plugin, level, message, source, session_id)
        if not self._told_just_now:
            self._told_just_now = True
            self._soon()
            self._tell(alert)
        elif len(self._waiting) < MAX_WAITING:
            self._waiting.append(alert)

    def _soon(self) -> None:
        trio.lowlevel.current_trio_token().run_sync_soon(self._next)

    def _next(self) -> None:
        # one at a time, and other tasks run between them: fifty plugins may fail in one hook, and
        # each failure goes to fifty
        if not self._waiting:
            self._told_just_now = False
            return
        self._soon()
        try:
            self._tell(self._waiting.popleft())
        except Exception:  # a fault of the host: raised in here, it would end the agent
            _log.exception("an alert could not be told")

    def _tell(self, alert: _Alert) -> None:
        others = without(self._listeners(_EVENT), alert.plugin.name)
        session = self._sessions.get(alert.session_id or "") or self._session_of(alert.plugin)
        if others and session is not None:
            session.hooks.tell(
                _EVENT,
                session.open_root,
                only=others,
                level=alert.level,
                message=alert.message,
                source=alert.source,
            )

    def _may_fail(self, plugin: Plugin) -> bool:
        limit = self._failures.setdefault(plugin, RateLimit(MAX_NOTIFY_PER_MINUTE, 60.0))
        return limit.allows(trio.current_time())

    def _session_of(self, plugin: Plugin) -> Session | None:
        calls = plugin.connection.under_way.values() if plugin.connection is not None else ()
        for call in reversed(list(calls)):
            session = self._sessions.get(call.session_id or "")
            if session is not None:
                return session
        return next(reversed(self._sessions.values()), None)
