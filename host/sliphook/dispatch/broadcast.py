"""Tells one event to many plugins: encoded once per form, then written to each; nothing waits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from sliphook.agent_log import agent_log
from sliphook.plugin.supervision import Plugin
from sliphook.transport.connection import Connection
from sliphook.transport.outbox import Item
from sliphook_sdk.protocol import Entry, Payload

from .audience import Subscriber, first_match
from .encoding import Delivery, PayloadTooLarge

_log = agent_log(__name__)


class Listeners(msgspec.Struct, frozen=True):
    """Connected plugins whose subscriptions to one entry are equivalent.

    Attributes:
        one: one of these subscribers; what it is sent, all are sent.
        names: the plugins.
        connections: their connections, in the order of `names`.
    """

    one: Subscriber
    names: list[str]
    connections: list[Connection]


def listeners_among(
    subscribers: Iterable[Subscriber], plugins: Mapping[str, Plugin]
) -> Sequence[Listeners]:
    """Group the connected subscribers by what they are sent."""
    found: dict[object, Listeners] = {}
    for subscriber in subscribers:
        plugin = plugins.get(subscriber.plugin)
        connection = plugin.connection if plugin is not None else None
        if connection is not None:
            same = found.setdefault(_group_of(subscriber), Listeners(subscriber, [], []))
            same.names.append(subscriber.plugin)
            same.connections.append(connection)
    return list(found.values())


def without(listeners: Sequence[Listeners], plugin: str) -> Sequence[Listeners]:
    """The same but for one plugin."""
    left: list[Listeners] = []
    for same in listeners:
        kept = [at for at, name in enumerate(same.names) if name != plugin]
        if kept:
            names = [same.names[at] for at in kept]
            left.append(Listeners(same.one, names, [same.connections[at] for at in kept]))
    return left


def _group_of(subscriber: Subscriber) -> object:
    """A key made of everything that decides whether and what a plugin is told."""
    return tuple(
        # `texts` and not `globs`: compiled patterns do not compare as equal
        (route.subagents, route.include, *((one.field, one.texts) for one in route.patterns))
        for route in subscriber.routes
    )


def tell(
    entry: Entry,
    payload: Payload,
    listeners: Sequence[Listeners],
    *,
    traceparent: str | None = None,
) -> list[str]:
    """Tell every plugin whose subscription matches; returns the names of those plugins.

    A hook can be told too: as an event, also to plugins that subscribed in order to be asked.

    Args:
        entry: the hook or event.
        payload: its payload, heavy fields filled in.
        listeners: the connected plugins, grouped.
        traceparent: the span that plugins may continue, or None.
    """
    broadcast = Broadcast(entry, payload, traceparent)
    told: list[str] = []
    for same in listeners:
        item = broadcast.item_for(same.one)
        if item is not None:
            told += same.names
            for connection in same.connections:
                connection.tell(item)
    return told


class Broadcast:
    """The messages of one event, each encoded once and shared by all plugins that are sent it.

    Args:
        entry: the hook or event.
        payload: its payload, heavy fields filled in.
        traceparent: the span that plugins may continue, or None.
    """

    def __init__(self, entry: Entry, payload: Payload, traceparent: str | None = None) -> None:
        self._entry = entry
        self._payload = payload
        self._delivery = Delivery(entry, traceparent)
        self._items: dict[frozenset[str], Item | None] = {}

    def item_for(self, subscriber: Subscriber) -> Item | None:
        """The message for a plugin; None if no subscription matches or the message is too large."""
        route = first_match(subscriber, self._payload)
        if route is None:
            return None
        include = route.include
        return self._items[include] if include in self._items else self._encode(include)

    def _encode(self, include: frozenset[str]) -> Item | None:
        """Encode a form; None, and a line in the log, if it is too large without heavy fields."""
        try:
            frame = self._delivery.event(self._payload, include)
        except PayloadTooLarge as error:
            _log.warning("%s; no plugin is told of it", error)
            item = None
        else:
            item = Item(
                frame,
                f"event/{self._entry.name}",
                session_id=self._payload.session_id,
                droppable=not self._entry.urgent,
            )
        # None too: the next plugin must not cause the same encoding and the same warning
        self._items[include] = item
        return item
