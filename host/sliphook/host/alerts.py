"""Tells plugins what the user is told of another plugin: its alerts, its failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final
from weakref import WeakKeyDictionary

import trio

from sliphook.dispatch.broadcast import Listeners, without
from sliphook.plugin.supervision import Plugin
from sliphook.session.reports import HOST
from sliphook.session.session import Session
from sliphook.transport.rate_limit import RateLimit
from sliphook_sdk.protocol import AlertLevel
from sliphook_sdk.protocol.limits import MAX_NOTIFY_PER_MINUTE

_EVENT: Final = "notification"


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
        others = without(self._listeners(_EVENT), plugin.name)
        session = self._sessions.get(session_id or "") or self._session_of(plugin)
        if others and session is not None and (source != HOST or self._may_fail(plugin)):
            turn = session.open_root
            session.hooks.tell(
                _EVENT, turn, only=others, level=level, message=message, source=source
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
