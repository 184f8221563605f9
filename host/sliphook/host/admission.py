"""Which plugin may have which name, and which plugins subscribe to what."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec

from sliphook.dispatch.policy import Audience, Subscriber
from sliphook.plugin.lifecycle import State
from sliphook.plugin.manifest import ReadManifest
from sliphook.plugin.supervision import Plugin
from sliphook.plugin.tools import CommandOffer, ToolOffer
from sliphook.process.environment import is_given_to_all
from sliphook.quoting import quote


def clash(plugin: Plugin, manifest: ReadManifest, other: Plugin) -> str | None:
    """The first name in `manifest` `other` holds, running or not; a disabled one holds none."""
    if other.manifest is None or other.state is State.DISABLED:
        return None
    if name_of(plugin, manifest) == other.name:
        return f"the name {other.name}"
    return _shared(manifest, other.manifest)


def name_of(plugin: Plugin, manifest: ReadManifest) -> str:
    """The plugin's name: the one it is installed under, else the one in its manifest."""
    return manifest.name if plugin.spec.name is None else plugin.spec.name


def keeps_its_names(other: Plugin, plugin: Plugin, manifest: ReadManifest) -> bool:
    """Whether `other` keeps a name that `plugin` wants too.

    A name that the user approved counts before one that is only claimed. If both are approved, or
    neither, the plugin installed first has it.

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
    # else a new plugin could take a tool that the user trusts, by its manifest alone
    return other_approved if other_approved != approved else other.order < plugin.order


def lacks_in_environment(manifest: ReadManifest, plugin: Plugin) -> str | None:
    """The required environment variables the plugin lacks, as words after its name; or None."""
    lacks = [
        want.name
        for want in manifest.env
        if want.required and want.name not in plugin.spec.env and not is_given_to_all(want.name)
    ]
    if not lacks:
        return None
    shown = [quote(name, 80) for name in lacks]
    how = f"sliphook config {plugin.name} {' '.join(f'--env {name}' for name in shown)}"
    return (
        f"lacks {', '.join(shown)} in its environment; "
        f"set it where the agent is started, and give it by: {how}"
    )


def holders_by_manifest(
    names: Collection[str], plugins: Iterable[Plugin], *, besides: Plugin
) -> dict[str, str]:
    """Which names of tools are declared in a manifest of another plugin, running or not."""
    wanted = frozenset(names)
    found: dict[str, str] = {}
    for other in plugins:
        if other is not besides and other.state is not State.DISABLED and other.manifest:
            for tool in other.manifest.tools:
                if tool.name in wanted:
                    found.setdefault(tool.name, other.name)
    return found


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
    """A sort key: the order of the offering plugin; offers of unknown plugins come last."""
    places = {plugin.name: place for place, plugin in enumerate(plugins)}
    return lambda offer: places.get(offer.plugin, len(places))


def subscribers_by_name(plugins: Iterable[Plugin]) -> dict[str, Audience]:
    """The subscribers of each hook and event, in the order of installation."""
    found: dict[str, list[Subscriber]] = {}
    for plugin in plugins:
        for name, routes in plugin.routes().items():
            found.setdefault(name, []).append(
                Subscriber(plugin=plugin.name, order=plugin.order, routes=routes)
            )
    return {
        # they come in the order of their admission, which depends on which one starts first
        name: Audience(sorted(subscribers, key=lambda one: one.order))
        for name, subscribers in found.items()
    }


def with_timeout(subscriber: Subscriber, timeout_s: float) -> Subscriber:
    """The same subscriptions, each with another timeout."""
    routes = tuple(
        msgspec.structs.replace(route, timeout_s=timeout_s) for route in subscriber.routes
    )
    return msgspec.structs.replace(subscriber, routes=routes)
