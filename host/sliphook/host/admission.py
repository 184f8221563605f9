"""Which plugin has which name, and who hears what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from sliphook.dispatch.policy import Audience, Subscriber
from sliphook.plugin.lifecycle import State
from sliphook.plugin.manifest import ReadManifest
from sliphook.plugin.supervision import Plugin
from sliphook.plugin.tools import CommandOffer, ToolOffer
from sliphook.process.environment import is_given_to_all
from sliphook.quoting import quote


def clash(plugin: Plugin, manifest: ReadManifest, other: Plugin) -> str | None:
    """A name that the manifest wants and `other` has, be it there or not; only one that the user has disabled has none."""
    if other.manifest is None or other.state is State.DISABLED:
        return None
    if name_of(plugin, manifest) == other.name:
        return f"the name {other.name}"
    return _shared(manifest, other.manifest)


def name_of(plugin: Plugin, manifest: ReadManifest) -> str:
    """The name that a plugin bears: the one it is installed under, else its own."""
    return manifest.name if plugin.spec.name is None else plugin.spec.name


def keeps_its_names(other: Plugin, plugin: Plugin, manifest: ReadManifest) -> bool:
    """Of two plugins that want one name, whether `other` keeps it: what was approved counts before what is claimed, then the order.

    Args:
        other: has the name now.
        plugin: wants it.
        manifest: what `plugin` has declared.
    """
    same_name = name_of(plugin, manifest) == other.name
    other_approved = other.recorded is not None and (
        same_name or _shared(manifest, other.recorded) is not None
    )
    approved = plugin.recorded is not None and clash(plugin, plugin.recorded, other) is not None
    return other_approved if other_approved != approved else other.order < plugin.order


def lacks_in_environment(manifest: ReadManifest, plugin: Plugin) -> str | None:
    """Which variables the plugin cannot work without and has not, in words that follow its name; None: it has all."""
    lacks = [
        want.name
        for want in manifest.env
        if want.required and want.name not in plugin.spec.env and not is_given_to_all(want.name)
    ]
    if not lacks:
        return None
    shown = [quote(name, 80) for name in lacks]
    how = f"sliphook config {plugin.name} {' '.join(f'--env {name}' for name in shown)}"
    return f"lacks {', '.join(shown)} in its environment; set it where the agent is started, and give it by: {how}"


def holder_by_manifest(tool: str, plugins: Iterable[Plugin], *, besides: Plugin) -> str | None:
    """Which plugin has the tool's name by its manifest, be it there or not."""
    known = (
        (other, other.manifest)
        for other in plugins
        if other is not besides and other.state is not State.DISABLED
    )
    return next(
        (
            other.name
            for other, theirs in known
            if theirs is not None and any(own.name == tool for own in theirs.tools)
        ),
        None,
    )


def _shared(manifest: ReadManifest, theirs: ReadManifest) -> str | None:
    tools = {tool.name for tool in theirs.tools}
    for tool in manifest.tools:
        if tool.name in tools:
            return f"the tool {tool.name}"
    commands = {command.name for command in theirs.commands}
    for command in manifest.commands:
        if command.name in commands:
            return f"the command /{command.name}"
    return None


def place_among(plugins: Sequence[Plugin]) -> Callable[[ToolOffer | CommandOffer], int]:
    """What sorts offers by the order of their plugins; those of strangers come last."""
    places = {plugin.name: place for place, plugin in enumerate(plugins)}
    return lambda offer: places.get(offer.plugin, len(places))


def subscribers_by_name(plugins: Iterable[Plugin]) -> dict[str, Audience]:
    """Who hears each hook and event, in the order of installation."""
    found: dict[str, list[Subscriber]] = {}
    for plugin in plugins:
        for name, routes in plugin.routes().items():
            found.setdefault(name, []).append(
                Subscriber(plugin=plugin.name, order=plugin.order, routes=routes)
            )
    return {
        name: Audience(sorted(subscribers, key=lambda one: one.order))
        for name, subscribers in found.items()
    }


def with_timeout(subscriber: Subscriber, timeout_s: float) -> Subscriber:
    """The same subscriptions, each with another timeout."""
    routes = tuple(
        msgspec.structs.replace(route, timeout_s=timeout_s) for route in subscriber.routes
    )
    return msgspec.structs.replace(subscriber, routes=routes)
