"""Which plugin may have which name, and which plugins subscribe to what."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import cast

import msgspec

from sliphook.dispatch.audience import Audience, Subscriber
from sliphook.plugin.lifecycle import State
from sliphook.plugin.manifest import ReadManifest
from sliphook.plugin.model_servers import ModelServers
from sliphook.plugin.overrides import recorded_manifest
from sliphook.plugin.route import Route
from sliphook.plugin.spec import PluginSpec
from sliphook.plugin.supervision import Plugin
from sliphook.plugin.tools import CommandOffer, ToolOffer, ToolTable
from sliphook.process.environment import is_given_to_all
from sliphook.process.log_files import safe_name
from sliphook.quoting import quote
from sliphook_sdk.protocol import CATALOGUE, Manifest, Payload


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
    neither, the plugin installed first has it; but one that has worked without it takes it from
    no other when it starts again.

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
    if other_approved != approved:
        return other_approved
    had = plugin.manifest is not None and clash(plugin, plugin.manifest, other) is not None
    return other.order < plugin.order or (plugin.has_worked and not had)


def name_of_the_agent(
    manifest: ReadManifest, tools: ToolTable, commands: Collection[str]
) -> str | None:
    """The first tool or command that the agent keeps for itself, or None.

    Args:
        manifest: what a plugin declares.
        tools: has the names of tools that the agent reserves.
        commands: those of commands.
    """
    own = [f"the tool {one.name}" for one in manifest.tools if tools.is_reserved(one.name)]
    own += [f"the command /{one.name}" for one in manifest.commands if one.name in commands]
    return own[0] if own else None


def guards(plugin: Plugin) -> bool:
    """Whether a subscription of it denies if it fails to answer."""
    return plugin.manifest is not None and bool(plugin.manifest.closed_routes())


def name_of_files(spec: PluginSpec, taken: Mapping[str, PluginSpec]) -> str:
    """The name of a plugin's data folder and of its log.

    It is the name that the plugin is installed under. One that is only tried is known by its file,
    or by what it is made of; if another plugin has that name, a part of the hash of its source
    tells the two apart, the same one each time.

    Args:
        spec: the plugin.
        taken: the names of the other plugins, with their specs.
    """
    name = safe_name(spec.name or spec.stem)
    other = taken.get(name)
    if spec.name is not None or other is None:
        return name
    # only now: the file system is asked for each
    if spec.source == other.source:
        return name
    told = os.fsencode("\0".join(spec.source))
    return f"{name}-{hashlib.sha256(told).hexdigest()[:8]}"


def lacks_in_environment(manifest: Manifest | None, spec: PluginSpec, name: str) -> str | None:
    """The required environment variables the plugin lacks, as words after its name; or None.

    Args:
        manifest: what the plugin declares; None if that is not known.
        spec: the plugin, with the granted environment.
        name: the plugin's name.
    """
    wants = (manifest.env or []) if manifest is not None else []
    lacks = [
        want.name
        for want in wants
        if want.required and want.name not in spec.env and not is_given_to_all(want.name)
    ]
    if not lacks:
        return None
    shown = [quote(lack, 80) for lack in lacks]
    how = " ".join(f"--env {lack}" for lack in shown)
    if spec.name is not None:
        how = f"sliphook config {name} {how}"
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
            for name in wanted & other.manifest.tool_names:
                found.setdefault(name, other.name)
    return found


def _shared(manifest: ReadManifest, theirs: ReadManifest) -> str | None:
    # in C, and by the smaller one: each may have thousands of commands, and all are compared
    for tool in sorted(manifest.tool_names & theirs.tool_names):
        return f"the tool {tool}"
    for command in sorted(manifest.command_names & theirs.command_names):
        return f"the command /{command}"
    return None


def place_among(plugins: Sequence[Plugin]) -> Callable[[ToolOffer | CommandOffer], int]:
    """A sort key: the order of the offering plugin; offers of unknown plugins come last."""
    places = {plugin.name: place for place, plugin in enumerate(plugins)}
    return lambda offer: places.get(offer.plugin, len(places))


def subscribers_by_name(
    plugins: Iterable[Plugin], providers: Mapping[str, str | None]
) -> dict[str, Audience]:
    """The subscribers of each hook and event, in the order of installation.

    Args:
        plugins: the plugins.
        providers: the agent's providers of models, by name, with their addresses.
    """
    found: dict[str, list[Subscriber]] = {}
    for plugin in plugins:
        servers = _servers_of(plugin, providers)
        for name, routes in plugin.routes().items():
            found.setdefault(name, []).append(
                Subscriber(plugin=plugin.name, order=plugin.order, routes=routes, servers=servers)
            )
    return {
        # they come in the order of their admission, which depends on which one starts first
        name: Audience(sorted(subscribers, key=lambda one: one.order))
        for name, subscribers in found.items()
    }


def _servers_of(plugin: Plugin, providers: Mapping[str, str | None]) -> ModelServers | None:
    """To which servers a plugin may have model calls sent, by its manifest and the user."""
    manifest, spec = plugin.manifest, plugin.spec
    if manifest is None or "route" not in manifest.uses:
        return None
    return ModelServers(
        plugin=plugin.name,
        wanted=True,
        granted=spec.grants is None or "route" in spec.grants,
        is_installed=spec.servers is not None,
        servers=manifest.servers if spec.servers is None else spec.servers,
        variables=frozenset(spec.env),
        providers=providers,
    )


def with_timeout(subscriber: Subscriber, timeout_s: float) -> Subscriber:
    """The same subscriptions, each with another timeout."""
    routes = tuple(
        msgspec.structs.replace(route, timeout_s=timeout_s) for route in subscriber.routes
    )
    return msgspec.structs.replace(subscriber, routes=routes)


def is_heard(
    name: str,
    subscribers: Iterable[Subscriber],
    heavy: str | None,
    closed: bool,
    replaces: bool,
    known: Mapping[str, str | None],
) -> bool:
    """Whether there is a subscription to a hook or event that is meant; see `PluginHost.hears`.

    Raises:
        ValueError: there is no such hook or event, or it has no such heavy field.
    """
    if name not in CATALOGUE:
        raise ValueError(f"{name!r} is no hook or event; there are {', '.join(CATALOGUE)}")
    if heavy is not None and heavy not in CATALOGUE[name].heavy:
        raise ValueError(f"{heavy!r} is no heavy field of {name}")
    return any(
        (heavy is None or heavy in route.include)
        and (route.guards or not closed)
        and (route.replaces or not replaces)
        for subscriber in subscribers
        for route in _may_take_part(subscriber.routes, known)
    )


def _may_take_part(routes: Iterable[Route], known: Mapping[str, str | None]) -> Iterator[Route]:
    """The subscriptions of one plugin of which the first match is one, as far as that is known."""
    payload = cast("Payload", SimpleNamespace(**known))
    for route in routes:
        seen = tuple(one for one in route.patterns if one.field in known)
        if msgspec.structs.replace(route, patterns=seen).matches(payload):
            yield route
            # a child's payload passes by one that is not for child agents
            if len(seen) == len(route.patterns) and route.subagents:
                return


def offers_on_record(specs: Iterable[PluginSpec], taken: ToolTable) -> list[ToolOffer]:
    """The tools that recorded manifests declare; of two plugins with one name, the first one's.

    Args:
        specs: the plugins, in the order of installation.
        taken: has the names that the agent reserves.
    """
    table = ToolTable()
    for spec in specs:
        manifest, _ = recorded_manifest(spec)
        if manifest is not None:
            enter_record(table, spec.name or manifest.name, manifest, taken)
    return table.offers(None)


def enter_record(table: ToolTable, name: str, manifest: ReadManifest, taken: ToolTable) -> None:
    """Enter a plugin's recorded tools, unless one of their names is taken.

    Args:
        table: gets the tools.
        name: the plugin's name.
        manifest: as it is recorded.
        taken: has the names that the agent reserves.
    """
    names = [tool.name for tool in manifest.tools]
    if not table.holders(names, besides=name) and not any(map(taken.is_reserved, names)):
        table.replace(name, None, manifest.tools)
