"""Tells a plugin that came back of the sessions that are open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sliphook.dispatch.audience import Subscriber
from sliphook.dispatch.broadcast import listeners_among, tell
from sliphook.dispatch.hook_recorder import HookRecorder
from sliphook.plugin.supervision import Plugin
from sliphook.session.session import Session
from sliphook_sdk.protocol import CATALOGUE


def tell_of_sessions(
    plugin: Plugin,
    sessions: Iterable[Session],
    by_name: Mapping[str, Plugin],
    recorder: HookRecorder | None,
) -> None:
    """Tell one plugin, which has just become ready, `session_start` of each session.

    Args:
        plugin: the plugin.
        sessions: the open ones.
        by_name: the plugins whose manifest is known.
        recorder: gives the message its span, or None.
    """
    # its own alone: all of them would have to be found anew for each plugin
    routes = plugin.routes().get("session_start", ())
    hearer = Subscriber(plugin=plugin.name, order=plugin.order, routes=routes)
    own = listeners_among([hearer] if routes else [], by_name)
    for session in sessions:
        first = plugin.pending.first_of(session.session_id)
        # the first request that waits for it may be this very hook
        if first is None or first[0] != "hook/session_start":
            payload = session.reload_payload(before=first[1] if first is not None else None)
            span = recorder.span_of(payload) if recorder is not None else None
            tell(CATALOGUE["session_start"], payload, own, traceparent=span)
