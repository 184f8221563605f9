"""Pure: rules about the installed plugins, from their manifests and their starts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Set
from typing import Final

from sliphook.plugin.manifest import ReadManifest
from sliphook.plugin.overrides import apply_overrides
from sliphook.plugin.route import Route, covered
from sliphook.process.environment import is_given_to_all
from sliphook.quoting import quote
from sliphook.registry import Registered
from sliphook.registry.last_word import Ordered, unseen_replacements
from sliphook.registry.settings_schema import unknown_setting
from sliphook.schemas import PROVIDERS, why_tool_is_refused
from sliphook.settings import for_nobody, with_settings
from sliphook_sdk.protocol import CATALOGUE, NAME_PATTERNS
from sliphook_sdk.protocol.patterns.domains import Domain
from sliphook_sdk.protocol.patterns.reach import TooManySteps

from .finding import Finding, Level, Rule, Scene

SLOW_START_MS: Final = 1000.0


def broken_files(scene: Scene) -> Iterator[Finding]:
    """Files of installed plugins that cannot be read."""
    for broken in scene.broken:
        is_name = re.fullmatch(NAME_PATTERNS["plugin"], broken.name)
        do = (
            f"correct it, or remove the plugin: sliphook uninstall {broken.name}"
            if is_name
            else None
        )
        yield Finding(area="plugins", level="problem", about=broken.name, what=broken.why, do=do)


def starts(scene: Scene) -> Iterator[Finding]:
    """The start of each plugin. One reason why it fails is a name that another plugin has."""
    for plugin in scene.plugins:
        started = scene.started.get(plugin.name)
        if not plugin.enabled:
            yield Finding(
                area="plugins",
                level="ok",
                about=plugin.name,
                what="disabled: it is not started, and guards nothing",
            )
        elif started is None or started.status.state != "ready":
            yield _not_started(plugin, scene)
        elif started.start_ms is not None and started.start_ms > SLOW_START_MS:
            what = (
                f"ready after {started.start_ms / 1000:.1f} s;"
                " every agent waits for it when it opens"
            )
            yield Finding(
                area="plugins",
                level="note",
                about=plugin.name,
                what=what,
                do="load heavy things when they are first needed",
            )
        else:
            took = "" if started.start_ms is None else f" after {started.start_ms:.0f} ms"
            yield Finding(area="plugins", level="ok", about=plugin.name, what=f"ready{took}")


def _not_started(plugin: Registered, scene: Scene) -> Finding:
    started = scene.started.get(plugin.name)
    state = "not started" if started is None else started.status.state
    why = (
        "its start was given up"
        if started is None or started.status.why is None
        else started.status.why
    )
    if state == "self_disabled":
        return Finding(
            area="plugins", level="note", about=plugin.name, what=f"leaves itself out: {why}"
        )
    closed = sum(
        subscription.on_failure == "closed" for subscription in plugin.manifest.subscriptions or ()
    )
    guards = "; its closed hooks deny as long as it is not there" if closed else ""
    do = (
        None
        # Such a reason names the command that helps; a second advice would compete with it.
        if "sliphook " in why
        else f"once it is put right: sliphook check {_tried(plugin)};"
        f" or: sliphook disable {plugin.name}; its log: sliphook logs {plugin.name}"
    )
    return Finding(
        area="plugins", level="problem", about=plugin.name, what=f"{state}: {why}{guards}", do=do
    )


def _tried(plugin: Registered) -> str:
    made = plugin.recorded.made
    return shlex.quote(str(plugin.path)) if made is None else made.option


def environment(scene: Scene) -> Iterator[Finding]:
    """Variables that a plugin needs and lacks, or was granted but are not set."""
    for plugin, manifest in scene.enabled():
        required = {want.name for want in manifest.env if want.required}
        for name in plugin.env:
            if name not in required and name not in scene.environ:
                what = f"it is granted the variable {name}, which is not set here"
                yield Finding(area="plugins", level="note", about=plugin.name, what=what)
        for want in manifest.env:
            given = want.name in plugin.env or is_given_to_all(want.name)
            if want.required and not given:
                what = f"it needs the variable {want.name}, which it has not been granted"
                do = f"sliphook config {plugin.name} --env {want.name}"
                yield Finding(area="plugins", level="problem", about=plugin.name, what=what, do=do)
            elif want.required and want.name not in scene.environ:
                what = f"it needs the variable {want.name}, which is not set here"
                yield Finding(
                    area="plugins",
                    level="problem",
                    about=plugin.name,
                    what=what,
                    do=f"export {want.name}=…",
                )


def grants(scene: Scene) -> Iterator[Finding]:
    """What a plugin wants to ask of the agent, and may not."""
    for plugin, manifest in scene.enabled():
        for use in sorted(manifest.uses - plugin.grants):
            what = f"it wants to use {use}, which has not been granted"
            do = f"sliphook config {plugin.name} --grant {use}"
            yield Finding(area="plugins", level="note", about=plugin.name, what=what, do=do)


def servers(scene: Scene) -> Iterator[Finding]:
    """Model calls that a plugin wants to send somewhere, and that the user does not let it."""
    for plugin, manifest in scene.enabled():
        if "route" not in manifest.uses & plugin.grants:
            continue
        for server in plugin.servers_refused(manifest.servers):
            what = f"it may not send model calls to {server}, which it wants"
            do = f"sliphook config {plugin.name} --server {server}"
            yield Finding(area="plugins", level="note", about=plugin.name, what=what, do=do)


def matches(scene: Scene) -> Iterator[Finding]:
    """Subscriptions that no payload will ever match."""
    plugins = [manifest for _, manifest in scene.enabled()]
    known = {
        "tool_name": scene.agent_tools.union(
            tool.name for manifest in plugins for tool in manifest.tools
        ),
        "origin": {"agent", *(plugin.name for plugin, _ in scene.enabled())},
    }
    if scene.other_agents or any("tools" in manifest.uses for manifest in plugins):
        del known["tool_name"]  # such a plugin may add tools later
    for plugin, manifest in scene.enabled():
        for routes in manifest.routes.values():
            by = _covered_by(routes)
            for route in routes:
                why = _why_never(route, known)
                if why is None and route.index in by:
                    why = f"the subscription {by[route.index] + 1} before it takes them all"
                if why is not None:
                    # a guard that is never asked is not what its user believes
                    level: Level = "problem" if route.guards else "note"
                    what = f"its {route.where} never matches: {why}"
                    yield Finding(area="plugins", level=level, about=plugin.name, what=what)


def _why_never(route: Route, known: Mapping[str, Set[str]]) -> str | None:
    for pattern in route.patterns:
        values = known.get(pattern.field)
        if values is not None and not any(pattern.globs.fits(value) for value in values):
            if pattern.field == "origin" and any(map(_ELSEWHERE.fits, pattern.texts)):
                continue  # an agent has tools from there, such as mcp:github
            if pattern.field == "tool_name":
                return "neither this agent nor a plugin has a tool of that name"
            return f"{pattern.field} is always one of {', '.join(sorted(values))}"
    return None


_ELSEWHERE: Final = Domain(holds=":")


def _covered_by(routes: tuple[Route, ...]) -> dict[int, int]:
    try:
        return {route.index: by.index for route, by in covered(routes)}
    except TooManySteps:
        return {}  # the manifest was accepted, so its guards can be asked


def unknown_events(scene: Scene) -> Iterator[Finding]:
    """Optional subscriptions to unknown events. One that is not optional prevents the start."""
    for plugin, manifest in scene.enabled():
        for subscription in manifest.wire.subscriptions or ():
            if subscription.event not in CATALOGUE:
                what = f"it would hear {subscription.event}, which this agent never fires"
                yield Finding(area="plugins", level="note", about=plugin.name, what=what)


def timeouts(scene: Scene) -> Iterator[Finding]:
    """Hooks for which the user's cap is shorter than the time that the plugin asks for."""
    for plugin, manifest in scene.enabled():
        caps = [
            # No environment is needed, since only the cap is read.
            with_settings(plugin.spec({}), scene.settings).timeout_cap_s,
            scene.settings.timeout_cap_s,
        ]
        cap_s = min((cap for cap in caps if cap is not None), default=None)
        if cap_s is None:
            continue
        for name, routes in manifest.routes.items():
            longest_s = max(
                (route.timeout_s for route in routes if route.mode == "hook"), default=0.0
            )
            if longest_s > cap_s:
                what = (
                    f"it asks for {longest_s:g} s to answer {name}, and gets {cap_s:g} s,"
                    " the cap in your settings"
                )
                yield Finding(area="plugins", level="note", about=plugin.name, what=what)


def unseen(scene: Scene) -> Iterator[Finding]:
    """Guards that replace, and are not asked again about what a later plugin replaces."""
    plugins = [
        Ordered(
            plugin.name,
            plugin.order,
            # no environment is needed, since only the overrides are read
            apply_overrides(manifest, with_settings(plugin.spec({}), scene.settings)),
        )
        for plugin, manifest in scene.enabled()
    ]
    for found in unseen_replacements(plugins):
        do = (
            "if it is a guard, let it be asked last: sliphook config"
            f" {found.guard} --hook {found.event} --priority -1000; or ask its author for a guard"
            " that does not replace"
        )
        yield Finding(area="plugins", level="note", about=found.guard, what=str(found), do=do)


def settings_without_effect(scene: Scene) -> Iterator[Finding]:
    """Settings for plugins that are not installed, or for events that a plugin does not hear."""
    names = [plugin.name for plugin in scene.plugins] + [broken.name for broken in scene.broken]
    for name, close in for_nobody(scene.settings, names).items():
        hint = f"did you mean {close}?" if close else "sliphook list shows what is installed"
        what = f"plugins.{quote(name, 64)}: no plugin of that name is installed"
        # a typo may mean a guard that now runs without its settings
        yield Finding(
            area="settings",
            level="problem" if close else "note",
            about="config.toml",
            what=what,
            do=hint,
        )
    for plugin, manifest in scene.enabled():
        own = scene.settings.plugins.get(plugin.name)
        for event in dict.fromkeys([*plugin.overrides, *(own.hooks if own is not None else ())]):
            if event not in _heard(manifest):
                what = (
                    f"{plugin.name} does not subscribe to {event},"
                    " so what you have set for it does nothing"
                )
                yield Finding(area="settings", level="note", about=plugin.name, what=what)


def provider_keys(scene: Scene) -> Iterator[Finding]:
    """Providers of models whose keys are not there."""
    chosen = (scene.settings.model or "").partition("/")[0]
    for name, provider in scene.settings.providers.items():
        if provider.key_env is not None and not scene.environ.get(provider.key_env):
            yield Finding(
                area="settings",
                level="problem" if name == chosen else "note",
                about="config.toml",
                what=f"providers.{name} has its key in {provider.key_env}, which is not set here",
                do=f"set {provider.key_env} where you start the agent",
            )


def unknown_settings(scene: Scene) -> Iterator[Finding]:
    """Settings of an installed plugin that it does not have."""
    for plugin, manifest in scene.enabled():
        for name in plugin.config:
            why = unknown_setting(name, manifest.wire.config_schema)
            if why is not None:
                # a guard may run without what its user has set
                yield Finding(
                    area="plugins",
                    level="problem",
                    about=plugin.name,
                    what=quote(why, 300),
                    do=f"sliphook config {plugin.name} --unset {shlex.quote(quote(name, 64))}",
                )


def _heard(manifest: ReadManifest) -> set[str]:
    return {subscription.event for subscription in manifest.wire.subscriptions or ()}


def refused_tools(scene: Scene) -> Iterator[Finding]:
    """Tools for which a provider of models would refuse the whole request."""
    for plugin, manifest in scene.enabled():
        for tool in manifest.tools:
            for provider in PROVIDERS:
                why = why_tool_is_refused(provider, tool.name, tool.input_schema)
                if why is not None:
                    yield Finding(
                        area="plugins",
                        level="note",
                        about=plugin.name,
                        what=f"its tool {tool.name} is left out with models of {provider}: {why}",
                    )


RULES: Final[tuple[Rule, ...]] = (
    broken_files,
    starts,
    environment,
    grants,
    servers,
    matches,
    unknown_events,
    timeouts,
    unseen,
    settings_without_effect,
    provider_keys,
    unknown_settings,
    refused_tools,
)
