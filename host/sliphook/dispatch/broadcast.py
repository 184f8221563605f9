"""One event put to all who hear it: encoded once for those who want the same, written to one plugin after the other; nothing waits."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from sliphook.plugin.supervision import Plugin
from sliphook.transport.connection import Connection
from sliphook.transport.outbox import Item
from sliphook_sdk.protocol import Entry, Payload

from .encoding import Delivery, PayloadTooLarge
from .policy import Subscriber, first_match

_log = logging.getLogger(__name__)


class Listeners(msgspec.Struct, frozen=True):
    """Plugins that are there and wish to hear the same.

    Attributes:
        one: one of them; the subscriptions of the others say the same.
        names: all of them.
        connections: the conversations with them, in the same order.
    """

    one: Subscriber
    names: list[str]
    connections: list[Connection]


def listeners_among(
    subscribers: Iterable[Subscriber], plugins: Mapping[str, Plugin]
) -> Sequence[Listeners]:
    """Those who are there to be told, by what they wish to hear."""
    found: dict[object, Listeners] = {}
    for subscriber in subscribers:
        plugin = plugins.get(subscriber.plugin)
        connection = plugin.connection if plugin is not None else None
        if connection is not None:
            same = found.setdefault(_wishes(subscriber), Listeners(subscriber, [], []))
            same.names.append(subscriber.plugin)
            same.connections.append(connection)
    return list(found.values())


def _wishes(subscriber: Subscriber) -> object:
    """All on which it depends whether and what a plugin is told."""
    return tuple(
        (route.subagents, route.include, *((one.field, one.texts) for one in route.patterns))
        for route in subscriber.routes
    )


def tell(
    entry: Entry,
    payload: Payload,
    listeners: Sequence[Listeners],
    *,
    urgent: bool = False,
    traceparent: str | None = None,
) -> list[str]:
    """Tell everybody whose subscription matches, hooks too; returns the names of those who were told."""
    announcement = Broadcast(entry, payload, traceparent)
    told: list[str] = []
    for same in listeners:
        item = announcement.item_for(same.one)
        if item is not None:
            told += same.names
            for connection in same.connections:
                connection.tell(item, urgent=urgent)
    return told


class Broadcast:
    """One event on its way to many.

    Args:
        entry: the hook or event.
        payload: what is told, heavy fields filled in.
        traceparent: the span that plugins may continue, or None.
    """

    def __init__(self, entry: Entry, payload: Payload, traceparent: str | None = None) -> None:
        self._entry = entry
        self._payload = payload
        self._delivery = Delivery(entry, traceparent)
        self._items: dict[frozenset[str], Item | None] = {}

    def item_for(self, subscriber: Subscriber) -> Item | None:
        """What a plugin is sent, hooks too; None where none of its subscriptions matches, or where the message is too large."""
        route = first_match(subscriber, self._payload)
        if route is None:
            return None
        include = route.include
        return self._items[include] if include in self._items else self._encode(include)

    def _encode(self, include: frozenset[str]) -> Item | None:
        """The message; None where it does not fit even without the heavy fields: then it is lost with a log line."""
        try:
            frame = self._delivery.event(self._payload, include)
        except PayloadTooLarge as error:
            _log.warning("%s; it is lost", error)
            item = None
        else:
            item = Item(
                frame,
                f"event/{self._entry.name}",
                session_id=self._payload.session_id,
                droppable=not self._entry.urgent,
            )
        self._items[include] = item
        return item
