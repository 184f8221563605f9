"""`sliphook install`: from an executable to an installed plugin."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from sliphook.cli.chosen_plugins import user_settings
from sliphook.cli.common import EXIT_OK, Failed, complain, json_option, print_json
from sliphook.cli.completion import installable
from sliphook.cli.options.settings import check_settings, settings_from
from sliphook.cli.report import says

from .consent import Consent, line_of_pin, lines_of_manifest, tell_what_is_missing
from .options import check_variables, grant_options, registry_errors

if TYPE_CHECKING:
    from sliphook.registry import Registered, Registry
    from sliphook.registry.executables import Executable


@click.command("install")
@click.argument("target", nargs=-1, metavar="PATH|NAME", shell_complete=installable)
@click.option(
    "--mcp",
    metavar="NAME",
    help="Install an MCP server under this name; its command follows: --mcp NAME -- COMMAND ARGS.",
)
@click.option(
    "--hooks",
    metavar="PATH",
    help="Install the hooks of another agent's configuration, a file or a plugin's folder.",
)
@click.option(
    "--yes",
    is_flag=True,
    help="Agree to run it and to install it. Grants nothing: name each grant.",
)
@click.option("--name", metavar="NAME", help="Install it under this name instead of its own.")
@click.option(
    "--config",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting for it. May be given several times.",
)
@click.option(
    "--pin/--no-pin",
    default=True,
    help="Have a script that looks for its interpreter on PATH (`#!/usr/bin/env python3`) run in"
    " the one of now, or in the one that is active where an agent starts.  [default: --pin]",
)
@grant_options
@json_option
def command(
    target: tuple[str, ...],
    mcp: str | None,
    hooks: str | None,
    yes: bool,
    name: str | None,
    settings: tuple[str, ...],
    pin: bool,
    grants: tuple[str, ...],
    env: tuple[str, ...],
    servers: tuple[str, ...],
    as_json: bool,
) -> int:
    """Install the executable at PATH, or the one called sliphook-plugin-NAME on PATH, as a plugin.

    Shows the file and asks before it is run; then runs it once to see what it declares and what it
    wants, and asks for each grant. Its file is recorded by its hash: if it changes, the plugin is
    refused until `sliphook trust` accepts it.

    With --mcp the plugin is the MCP server of a command, and its files are that command's
    executable, and its script if that is an interpreter.

    With --hooks the plugin runs the hooks of a configuration of Claude Code, docker-agent,
    agent-code, Codex, Gemini CLI, Copilot CLI or Cursor. Each is shown; recorded are their
    definitions and the script files that they name.
    """
    from sliphook.cli.run_once import run_once
    from sliphook.plugin.spec import PluginSpec
    from sliphook.process.interpreter import looked_up
    from sliphook.registry import Registered, Registry
    from sliphook.registry.kept_text import keep
    from sliphook.settings import with_settings

    if hooks is not None and (target or mcp is not None):
        raise click.UsageError("--hooks PATH stands alone")
    if hooks is None and mcp is None and len(target) != 1:
        raise click.UsageError("give one PATH or NAME")
    if mcp is not None and name is not None:
        raise click.UsageError("--mcp gives the name already; leave --name out")
    registry = Registry()
    lines: list[str] = []
    with registry_errors():
        check_variables(env)
        if hooks is not None:
            found, own_name, lines = _hooks_to_install(hooks)
            name = name or own_name
            registry.check_free(name)
        elif mcp is None:
            found = _file_to_install(registry, target[0], name)
        else:
            found, name = _server_to_install(registry, target, mcp), mcp
    consent = Consent(yes=yes, quiet=as_json and yes, command="install")
    consent.show(lines)
    consent.show_file(found)
    consent.confirm("Run it once, to see what it wants?")
    given = {variable: os.environ[variable] for variable in env if variable in os.environ}
    config = settings_from(settings, None)
    # with the hash that the user was shown: a file that was swapped since is not started
    spec = found.in_place_of(PluginSpec(found.path, config=config, env=given), name or "")
    manifest = run_once(with_settings(spec, user_settings()) if hooks is not None else spec)
    consent.show(["", *lines_of_manifest(manifest)])
    name = name or manifest.name
    with registry_errors():
        registry.check_free(name)
    config = settings_from(settings, manifest.wire.config_schema)
    check_settings(config, manifest.wire.config_schema, "give --config KEY=VALUE")
    granted = consent.grants(manifest, manifest.uses, grants)
    interpreter = looked_up(found.path) if found.made is None else None
    recorded = found.recorded(manifest.wire, datetime.now(UTC).replace(microsecond=0))
    if interpreter is not None and pin:
        recorded = msgspec.structs.replace(recorded, interpreter=interpreter)
    plugin = Registered(
        name=name,
        recorded=recorded,
        pin=pin and interpreter is not None,
        grants=granted,
        servers=consent.servers(manifest.servers, servers, granted),
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
    if as_json:
        print_json(
            {
                "name": name,
                "path": plugin.recorded.path,
                "sha256": plugin.recorded.sha256,
                "made": plugin.recorded.made,
                "grants": sorted(plugin.grants),
                "env": plugin.env,
                "servers": plugin.servers,
                "interpreter": plugin.recorded.interpreter,
                "pin": plugin.pin,
            }
        )
        return EXIT_OK
    click.echo(f"installed {name}")
    if interpreter is not None:
        click.echo(f"  {line_of_pin(plugin)}")
    tell_what_is_missing(plugin, manifest)
    return EXIT_OK


def _file_to_install(registry: Registry, target: str, name: str | None) -> Executable:
    """The executable that is meant, if it can be installed as far as is known before it has run.

    Raises:
        Failed: this very file is installed, and no other name is given for it.
        RegistryError: there is no such executable, or its name is taken.
    """
    from sliphook.registry.executables import PREFIX, find_executable, look_at

    if name is not None:
        registry.check_free(name)
    path = find_executable(target)
    found = look_at(path)
    if name is None:
        _refuse_installed_file(registry, found)
        own_name = path.name.removeprefix(PREFIX)
        if own_name != path.name and own_name in registry.names():
            registry.check_free(own_name)
    return found


def _server_to_install(registry: Registry, command: Sequence[str], name: str) -> Executable:
    """The MCP server of a command.

    Raises:
        RegistryError: it cannot be started, or its name is taken.
    """
    from sliphook.registry.executables import Executable
    from sliphook.registry.server_command import made_of_command

    registry.check_free(name)
    return Executable.of(made_of_command(command, Path.cwd()))


def _hooks_to_install(given: str) -> tuple[Executable, str, list[str]]:
    """The hooks of a configuration, the name of their plugin, and what the user reads of them."""
    from sliphook.cli.foreign_hooks import hooks_at, lines_of_hooks, made_of, name_of
    from sliphook.registry.executables import Executable

    source = hooks_at(given)
    return (
        Executable.of(made_of(source)),
        name_of(source),
        lines_of_hooks(source, user_settings()),
    )


def _refuse_installed_file(registry: Registry, found: Executable) -> None:
    from sliphook.registry import Registered

    for other in registry.read():
        if isinstance(other, Registered) and other.path == found.path:
            do = "uninstall it first, or give another --name"
            if other.recorded.sha256 != found.sha256:
                do = (
                    "its file has changed since; if that is right,"
                    f" run: sliphook trust {other.name}"
                )
            elif not other.enabled:
                do = f"it is disabled; to start it again: sliphook enable {other.name}"
            raise Failed(f"{says(str(found.path))} is installed already, as {other.name}; {do}")


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
