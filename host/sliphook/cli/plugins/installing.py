"""One installation: what is shown, asked and recorded."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec

from sliphook.cli.common import complain
from sliphook.cli.options.settings import check_settings, settings_from

from .consent import Consent, line_of_pin, lines_of_manifest, tell_what_is_missing
from .options import check_variables, registry_errors

if TYPE_CHECKING:
    from sliphook.plugin.manifest import ReadManifest
    from sliphook.registry import Registered, Registry
    from sliphook.registry.executables import Executable
    from sliphook.settings import Settings


@dataclass(frozen=True)
class Wishes:
    """What the options of `install` say.

    Attributes:
        settings: `KEY=VALUE`.
        grants: what it may ask of the agent.
        env: variables that it is given.
        servers: where it may have model calls sent.
        pin: a script's interpreter, where PATH finds it now, runs it from now on.
    """

    settings: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    pin: bool = True


def install(
    registry: Registry,
    found: Executable,
    name: str | None,
    wishes: Wishes,
    consent: Consent,
    settings: Settings | None = None,
) -> tuple[Registered, ReadManifest]:
    """Show it, ask, run it once, ask for each grant, and record it.

    Args:
        registry: where it is recorded.
        found: what is installed.
        name: its name; None: the one in its manifest.
        wishes: what the options say.
        consent: shows and asks.
        settings: of the user, for a plugin whose adapter reads them.

    Raises:
        Failed: the user does not agree, or it cannot be installed.
    """
    from sliphook.cli.run_once import run_once
    from sliphook.files import paths
    from sliphook.plugin.spec import PluginSpec
    from sliphook.process.interpreter import looked_up
    from sliphook.registry import Registered
    from sliphook.registry.kept_text import keep
    from sliphook.registry.server_command import variables_of
    from sliphook.settings import with_settings

    named = variables_of(found.made) if found.made is not None else ()
    env = tuple(dict.fromkeys((*wishes.env, *named)))
    consent.show_file(found)
    consent.show(f"It is given the variable {one}." for one in env if found.made is not None)
    consent.confirm("Run it once, to see what it wants?")
    given = {variable: os.environ[variable] for variable in env if variable in os.environ}
    config = settings_from(wishes.settings, None)
    # with the hash that the user was shown: a file that was swapped since is not started
    spec = found.in_place_of(PluginSpec(found.path, config=config, env=given), name or "")
    if settings is not None:
        spec = with_settings(spec, settings)
    # what an adapter finds is kept for the first start
    own_data = paths.plugin_data() / name if found.made is not None and name is not None else None
    manifest = run_once(spec, own_data)
    consent.show(["", *lines_of_manifest(manifest)])
    name = name or manifest.name
    with registry_errors():
        registry.check_free(name)
    schema = manifest.wire.config_schema
    config = settings_from(wishes.settings, schema)
    check_settings(config, schema, "give --config KEY=VALUE")
    granted = consent.grants(manifest, manifest.uses, wishes.grants)
    interpreter = looked_up(found.path) if found.made is None else None
    recorded = found.recorded(manifest.wire, datetime.now(UTC).replace(microsecond=0))
    if interpreter is not None and wishes.pin:
        recorded = msgspec.structs.replace(recorded, interpreter=interpreter)
    plugin = Registered(
        name=name,
        recorded=recorded,
        pin=wishes.pin and interpreter is not None,
        grants=granted,
        servers=consent.servers(manifest.servers, wishes.servers, granted),
        env=consent.variables((want.name for want in manifest.env), env),
        config=config,
    )
    consent.confirm(f"Install it as {name}?")
    with registry_errors():
        # once more: those that the plugin asks for are known only now
        check_variables(plugin.env)
        plugin = registry.add(plugin)
        keep(name, str(found.path), found.sha256)
        _tell_of_clashes(plugin, registry)
        _tell_of_unseen_replacements(plugin, registry)
    return plugin, manifest


def row_of(plugin: Registered) -> dict[str, Any]:
    """What `--json` prints of an installed plugin."""
    return {
        "name": plugin.name,
        "path": plugin.recorded.path,
        "sha256": plugin.recorded.sha256,
        "made": plugin.recorded.made,
        "grants": sorted(plugin.grants),
        "env": plugin.env,
        "servers": plugin.servers,
        "interpreter": plugin.recorded.interpreter,
        "pin": plugin.pin,
    }


def tell(plugin: Registered, manifest: ReadManifest) -> None:
    """Print that it is installed, and what it lacks."""
    from sliphook.process.interpreter import looked_up

    click.echo(f"installed {plugin.name}")
    if plugin.recorded.made is None and looked_up(plugin.path) is not None:
        click.echo(f"  {line_of_pin(plugin)}")
    tell_what_is_missing(plugin, manifest)


def _tell_of_clashes(plugin: Registered, registry: Registry) -> None:
    from sliphook.registry import Registered

    for other in registry.read():
        if isinstance(other, Registered) and other.enabled and other.name != plugin.name:
            shared = _shared_names(plugin, other)
            if shared:
                complain(
                    f"{plugin.name} will be refused while {other.name} is enabled:"
                    f" both have {', '.join(shared)}"
                )


def _tell_of_unseen_replacements(plugin: Registered, registry: Registry) -> None:
    """Guards that will not see what a later plugin replaces, if this plugin has a part in it."""
    from sliphook.plugin.overrides import recorded_manifest
    from sliphook.registry import Registered
    from sliphook.registry.last_word import Ordered, unseen_replacements

    plugins: list[Ordered] = []
    for one in registry.read():
        if isinstance(one, Registered) and one.enabled:
            manifest, _ = recorded_manifest(one.spec({}))
            if manifest is not None:
                plugins.append(Ordered(one.name, one.order, manifest))
    for found in unseen_replacements(plugins):
        if plugin.name in (found.guard, *found.others):
            complain(f"{found}; `sliphook doctor` tells what to do")


def _shared_names(plugin: Registered, other: Registered) -> list[str]:
    """The tools and commands that both plugins declare; only one plugin can have each."""
    ours, theirs = plugin.manifest, other.manifest
    tools = {tool.name for tool in ours.tools or ()} & {tool.name for tool in theirs.tools or ()}
    commands = {one.name for one in ours.commands or ()} & {
        one.name for one in theirs.commands or ()
    }
    return [
        *(f"the tool {name}" for name in sorted(tools)),
        *(f"the command /{name}" for name in sorted(commands)),
    ]
