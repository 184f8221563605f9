"""Pure: guards that do not see what a later plugin makes of what they have let pass.

Plugins that replace are asked one after the other, and each once. A guard that replaces as well is
not asked again if a later one changes the payload. A guard that does not replace has the last word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from sliphook.plugin.manifest import ReadManifest
from sliphook.plugin.route import Route
from sliphook_sdk.protocol import NULL_FITS

_WILD: Final = frozenset("*?[")


class Ordered(NamedTuple):
    """A plugin in its place.

    Attributes:
        name: its name.
        order: its place among the installed plugins; the lower is asked first.
        manifest: with the user's overrides applied.
    """

    name: str
    order: int
    manifest: ReadManifest


class Unseen(NamedTuple):
    """What a guard does not see.

    Attributes:
        guard: the plugin that denies if it fails, and replaces.
        event: the hook.
        others: the plugins that may replace after it.
    """

    guard: str
    event: str
    others: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.guard} may deny {self.event} and replaces, so it is not asked again about what"
            f" {' and '.join(self.others)} may make of it afterwards"
        )


def unseen_replacements(plugins: Sequence[Ordered]) -> list[Unseen]:
    """Every guard that replaces, and is followed by other plugins that do.

    A guard is a subscription whose failed answer counts as a deny. That is also what some hooks do
    by default, so before one that says `closed` itself, only another one that does is a guard.
    """
    replacing = sorted(
        (
            ((-route.priority, plugin.order, route.index), plugin, route)
            for plugin in plugins
            for routes in plugin.manifest.routes.values()
            for route in routes
            if route.mode == "hook" and route.replaces
        ),
        key=lambda entry: entry[0],
    )
    found: dict[tuple[str, str], dict[str, None]] = {}
    for place, (_, guard, route) in enumerate(replacing):
        if route.on_failure != "closed":
            continue
        for _, other, later in replacing[place + 1 :]:
            if (
                other.name != guard.name
                and later.entry is route.entry
                and (_says_closed(guard, route) or not _says_closed(other, later))
                and _may_both_match(route, later)
            ):
                found.setdefault((guard.name, route.entry.name), {})[other.name] = None
    return [Unseen(guard, event, tuple(others)) for (guard, event), others in found.items()]


def _says_closed(plugin: Ordered, route: Route) -> bool:
    declared = (plugin.manifest.wire.subscriptions or [])[route.index]
    return route.on_failure == "closed" and declared.on_failure == "closed"


def _may_both_match(one: Route, other: Route) -> bool:
    """False if a field has to be one text for the one and another for the other.

    In a field of NULL_FITS null suits both.
    """
    theirs = {pattern.field: pattern for pattern in other.patterns}
    for ours in one.patterns:
        their = theirs.get(ours.field)
        if their is None or ours.field in NULL_FITS:
            continue
        for texts, globs in ((ours.texts, their.globs), (their.texts, ours.globs)):
            plain = not any(_WILD & set(text) for text in texts)
            if plain and not any(globs.fits(text) for text in texts):
                return False
    return True
