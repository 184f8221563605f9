"""Pure: the subscriptions of a plugin, checked; and which of them can be chosen at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from sliphook_sdk.protocol import NULL_FITS, Entry, Globs, Kind, OnFailure, Payload
from sliphook_sdk.protocol.limits import MAX_REACH_STEPS
from sliphook_sdk.protocol.patterns.reach import Claim, Order, TooManySteps

from .checks import ManifestError


class Pattern(msgspec.Struct, frozen=True):
    """One field of a subscription's `match`.

    Attributes:
        field: the payload's field.
        globs: matches the field if any of the patterns does.
        texts: the patterns as they were declared.
    """

    field: str
    globs: Globs
    texts: frozenset[str]


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One subscription with every default filled in.

    Attributes:
        entry: the hook or event.
        mode: `hook` if the plugin is asked, `event` if it is told.
        patterns: the fields that must match, all of them.
        timeout_s: seconds to answer.
        on_failure: what a failure counts as: open does not matter, closed denies.
        priority: higher is asked first.
        replaces: the plugin is asked in the first phase, in which it may replace.
        include: the heavy fields that are filled in.
        subagents: payloads of child agents match too.
        attempts: the plugin is asked before each attempt of a model call.
        index: its place in the manifest, from 0.
    """

    entry: Entry
    mode: Kind
    patterns: tuple[Pattern, ...]
    timeout_s: float
    on_failure: OnFailure
    priority: int
    replaces: bool
    include: frozenset[str]
    subagents: bool
    index: int
    attempts: bool = False

    @property
    def where(self) -> str:
        """Which one it is, for messages."""
        return f"subscription {self.index + 1} ({self.entry.name})"

    @property
    def guards(self) -> bool:
        """A failed answer denies."""
        return self.mode == "hook" and self.on_failure == "closed"

    def matches(self, payload: Payload) -> bool:
        """True if every pattern matches the payload as this subscription gets it.

        Null never matches, except in the fields of NULL_FITS.
        """
        for pattern in self.patterns:
            value = getattr(payload, pattern.field)
            if isinstance(value, str):
                if not pattern.globs.fits(value):
                    return False
            elif pattern.field not in NULL_FITS:
                return False
        return True


class Covered(NamedTuple):
    """A subscription that is never chosen, and the one that is chosen instead.

    Attributes:
        route: the former.
        by: the latter; if several share that together, the first of them.
    """

    route: Route
    by: Route


def covered(routes: Sequence[Route]) -> Iterator[Covered]:
    """Find what is never chosen.

    Args:
        routes: all subscriptions of one plugin to one entry, in the order of a fire.

    Raises:
        TooManySteps: nothing is known of the others.
    """
    for mode in ("hook", "event"):
        rivals, order = _rivals(routes, mode)
        for at, route in enumerate(rivals):
            by = order.in_the_way(at)
            if by is not None:
                yield Covered(route, rivals[by])


def refuse_covered_guards(routes: Sequence[Route], max_steps: int = MAX_REACH_STEPS) -> int:
    """Refuse a subscription that fails closed and can never be asked.

    Args:
        routes: as in `covered`.
        max_steps: what that may cost; returns how much of it is left.

    Raises:
        ManifestError: there is one, or the patterns are too involved to tell.
    """
    asked, order = _rivals(routes, "hook", max_steps)
    try:
        for at, route in enumerate(asked):
            if route.guards and (by := order.in_the_way(at)) is not None:
                raise ManifestError(
                    f"{route.where} fails closed and would never be asked: all that it matches"
                    f" goes to those before it, such as {asked[by].where}; put it first"
                )
    except TooManySteps:
        raise ManifestError(
            f"its patterns for {routes[0].entry.name} overlap in too many ways to tell whether "
            "each subscription that fails closed can be asked; put those first, or use fewer "
            "wildcards"
        ) from None
    return order.steps_left


def _rivals(
    routes: Sequence[Route], mode: Kind, max_steps: int = MAX_REACH_STEPS
) -> tuple[list[Route], Order]:
    """Those of one mode: only they can take each other's place."""
    rivals = [route for route in routes if route.mode == mode]
    claims = [_claim(route) for route in rivals]
    return rivals, Order(routes[0].entry, claims, max_steps)


def _claim(route: Route) -> Claim:
    match = {pattern.field: tuple(pattern.texts) for pattern in route.patterns}
    return Claim(match, route.subagents)
