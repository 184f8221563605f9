"""Pure: who subscribed to one hook or event, and by which subscription a plugin takes part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain

import msgspec

from sliphook.plugin.model_servers import ModelServers
from sliphook.plugin.route import Route
from sliphook_sdk.protocol import Globs, Payload


class Subscriber(msgspec.Struct, frozen=True, kw_only=True):
    """One plugin that subscribed to the entry.

    Attributes:
        plugin: the plugin's name.
        order: its place in the order of installation.
        routes: its subscriptions to the entry, in the order of its manifest.
        servers: to which it may have model calls sent; None: to none.
    """

    plugin: str
    order: int
    routes: tuple[Route, ...]
    servers: ModelServers | None = None


class Audience(tuple[Subscriber, ...]):
    """All subscribers of one entry, with what every fire needs to know of them, computed once.

    Attributes:
        whole: if these are only `again` of others: those others.
    """

    whole: Audience | None = None

    @cached_property
    def again(self) -> Audience:
        """Those that are asked before each attempt, by their subscriptions with `attempts`."""
        found = Audience(
            msgspec.structs.replace(subscriber, routes=routes)
            for subscriber in self
            if (routes := tuple(route for route in subscriber.routes if route.attempts))
        )
        found.whole = self
        return found

    @property
    def all_routes(self) -> Iterator[Route]:
        """Every subscription."""
        return chain.from_iterable(subscriber.routes for subscriber in self)

    @cached_property
    def tool_patterns(self) -> tuple[Globs, ...]:
        """The patterns of names of tools, of all subscriptions."""
        return tuple(
            pattern.globs
            for route in self.all_routes
            for pattern in route.patterns
            if pattern.field == "tool_name"
        )

    @cached_property
    def has_sequence(self) -> bool:
        """True if some plugin is asked before the others: a subscription replaces."""
        return any(route.replaces for route in self.all_routes)

    @cached_property
    def longest_s(self) -> float:
        """The largest timeout among the subscriptions that are asked, in seconds."""
        return max(
            (route.timeout_s for route in self.all_routes if route.mode == "hook"), default=0.0
        )


def first_match(subscriber: Subscriber, payload: Payload) -> Route | None:
    """The first of the plugin's subscriptions that matches the payload, or None."""
    child = payload.agent_depth > 0
    for route in subscriber.routes:
        if (route.subagents or not child) and (not route.patterns or route.matches(payload)):
            return route
    return None


def first_two(
    subscribers: Sequence[Subscriber], payload: Payload
) -> list[tuple[Subscriber, Route]]:
    """Those that take part with the payload as it is now, two at most."""
    found: list[tuple[Subscriber, Route]] = []
    for subscriber in subscribers:
        if (route := first_match(subscriber, payload)) is not None:
            found.append((subscriber, route))
            if len(found) == 2:
                break
    return found


def prepare_tool(subscribers: Sequence[Subscriber], name: str) -> None:
    """Find out which patterns fit a tool, so that an interrupt of its call finds it known."""
    if isinstance(subscribers, Audience):
        for globs in subscribers.tool_patterns:
            globs.fits(name)
