"""`sliphook config`: show and change the settings of an installed plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import click
import msgspec

from sliphook.cli.common import EXIT_OK, Failed, find_entry, json_option, print_json, read_seconds
from sliphook.cli.completion import event_names, settings_of_plugin
from sliphook.cli.options.settings import check_settings, settings_from
from sliphook.cli.report import says
from sliphook_sdk.protocol import OnFailure, Uses

from .list import describe
from .options import (
    check_variables,
    grant_options,
    grants_among,
    name_argument,
    registry_errors,
)

if TYPE_CHECKING:
    from sliphook.registry import Registered

_SHOWN = ("config", "grants", "env", "servers", "timeout_cap_s", "sandbox", "pin", "overrides")


@click.command("config")
@name_argument
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...", shell_complete=settings_of_plugin)
@click.option(
    "--unset",
    multiple=True,
    metavar="KEY",
    help="Take this setting away. May be given several times.",
)
@grant_options
@click.option(
    "--revoke",
    multiple=True,
    type=click.Choice(get_args(Uses)),
    help="Take this grant away. May be given several times.",
)
@click.option(
    "--no-env",
    multiple=True,
    metavar="VARIABLE",
    help="Do not give it this variable any more. May be given several times.",
)
@click.option(
    "--no-server",
    multiple=True,
    metavar="HOST[:PORT]",
    help="Let it send no more model calls there. May be given several times.",
)
@click.option(
    "--hook",
    metavar="EVENT",
    shell_complete=event_names,
    help="The hook or event that --priority, --on-failure, --off and --on are about.",
)
@click.option("--priority", type=int, help="A plugin with a high priority is asked first.")
@click.option(
    "--on-failure", type=click.Choice(get_args(OnFailure)), help="What a failed answer counts as."
)
@click.option("--off/--on", "off", default=None, help="Neither ask nor tell it, or do it again.")
@click.option(
    "--timeout-cap", metavar="S|none", help="Seconds that an answer of the plugin may take at most."
)
@click.option(
    "--sandbox/--no-sandbox",
    default=None,
    help="Linux: no network, and no writing but to its own folder.",
)
@click.option(
    "--pin/--no-pin",
    default=None,
    help="Have a script that looks for its interpreter on PATH run in the one of now, or in the one"
    " that is active where an agent starts.",
)
@json_option
def command(name: str, as_json: bool, **options: Any) -> int:
    """Show the settings of the plugin NAME, or change them.

    An agent that runs goes on with the old ones, grants too. A chat reads them at /new and by
    /plugins reload, other agents read them when they are started.
    """
    from sliphook.registry import Registry
    from sliphook.registry.settings_schema import line_of, settings_of

    registry = Registry()
    with registry_errors():
        plugin = registry.get(name)
        if any(value not in (None, ()) for value in options.values()):
            # changed under the registry's lock: two commands at once must not undo each other
            plugin = registry.change(name, lambda current: _changed(current, options))
    row = {
        "name": plugin.name,
        **{key: value for key, value in describe(plugin).items() if key in _SHOWN},
    }
    has = settings_of(plugin.manifest.config_schema)
    if as_json:
        print_json({**row, "settings": {name: one._asdict() for name, one in has.items()}})
        return EXIT_OK
    for key in _SHOWN:
        click.echo(f"{key:<13}  {_text(row[key])}")
    for name, setting in has.items():
        click.echo(f"{'it has':<13}  {says(line_of(name, setting))}")
    return EXIT_OK


def _changed(plugin: Registered, options: dict[str, Any]) -> Registered:
    schema = plugin.manifest.config_schema
    config = {**plugin.config, **settings_from(options["settings"], schema)}
    for key in options["unset"]:
        if key not in config:
            raise Failed(
                f"{plugin.name} has no setting {key!r}; it has {', '.join(plugin.config) or 'none'}"
            )
        del config[key]
    if options["settings"] or options["unset"]:
        check_settings(config, schema, "nothing was changed")
    check_variables(options["env"])
    granted = grants_among(options["grants"], plugin.name, plugin.manifest.uses or ())
    for kind, taken, had in (
        ("grant", "revoke", plugin.grants),
        ("variable", "no_env", plugin.env),
        ("server", "no_server", plugin.servers),
    ):
        for one in options[taken]:
            if one not in had:
                all_of_them = ", ".join(sorted(had)) or "none"
                raise Failed(f"{plugin.name} has no {kind} {one!r}; it has {all_of_them}")
    plugin = _pinned(plugin, options["pin"])
    return msgspec.structs.replace(
        _overridden(plugin, options),
        config=config,
        grants=(plugin.grants | granted) - frozenset(options["revoke"]),
        env=tuple(
            one
            for one in dict.fromkeys([*plugin.env, *options["env"]])
            if one not in options["no_env"]
        ),
        servers=tuple(
            one
            for one in dict.fromkeys([*plugin.servers, *options["servers"]])
            if one not in options["no_server"]
        ),
        timeout_cap_s=_cap(options["timeout_cap"], plugin.timeout_cap_s),
        sandbox=plugin.sandbox if options["sandbox"] is None else options["sandbox"],
    )


def _pinned(plugin: Registered, pin: bool | None) -> Registered:
    from sliphook.process.interpreter import looked_up

    if not pin:
        return plugin if pin is None else msgspec.structs.replace(plugin, pin=False)
    interpreter = looked_up(plugin.path) if plugin.recorded.made is None else None
    if interpreter is None:
        raise Failed(f"{plugin.name} does not look for its interpreter on PATH: nothing to pin")
    recorded = msgspec.structs.replace(plugin.recorded, interpreter=interpreter)
    return msgspec.structs.replace(plugin, pin=True, recorded=recorded)


def _overridden(plugin: Registered, options: dict[str, Any]) -> Registered:
    from sliphook.plugin.spec import Override

    said = {
        key: options[key] for key in ("priority", "on_failure", "off") if options[key] is not None
    }
    if options["hook"] is None:
        if said:
            raise click.UsageError("say which hook that is about: --hook EVENT")
        return plugin
    entry = find_entry(options["hook"])
    if not said:
        raise click.UsageError(
            f"say what shall be of {entry.name}: --priority, --on-failure, --off or --on"
        )
    if said.get("on_failure") == "closed" and "deny" not in entry.decisions:
        raise click.UsageError(
            f"--on-failure closed needs a hook that can deny, and {entry.name} cannot"
        )
    override = msgspec.structs.replace(plugin.overrides.get(entry.name, Override()), **said)
    return msgspec.structs.replace(plugin, overrides={**plugin.overrides, entry.name: override})


def _cap(given: str | None, before: float | None) -> float | None:
    if given is None:
        return before
    return None if given == "none" else read_seconds(given)


def _text(value: Any) -> str:
    return says(msgspec.json.encode(value).decode()) if value not in (None, [], {}) else "-"
