"""`sliphook install`: from an executable to an installed plugin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sliphook.cli.chosen_plugins import user_settings
from sliphook.cli.common import EXIT_OK, Failed, comment, json_option, print_json
from sliphook.cli.completion import installable
from sliphook.cli.report import says
from sliphook.files.regular import open_regular

from .consent import Consent
from .installing import Wishes, install, row_of, tell
from .options import check_variables, grant_options, registry_errors

if TYPE_CHECKING:
    from sliphook.adapters.mcp.configs import FoundServer
    from sliphook.registry import Registry
    from sliphook.registry.executables import Executable

_CONFIG_BYTES: Final = 16 * 1024 * 1024
"""Of another agent's settings: some keep their history in that file."""


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
    "--from",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Install the MCP servers in the settings of Claude Code, Cursor, VS Code or Codex.",
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
    file: Path | None,
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

    With --mcp the plugin is an MCP server: of a command, whose executable is recorded, and its
    script if that is an interpreter; or at an address, and then the name of the variable that
    holds the token. --from asks for each server of a file; a value there that looks like a secret
    is not recorded: its variable has to be set where the agent is started.

    With --hooks the plugin runs the hooks of a configuration of Claude Code, docker-agent,
    agent-code, Codex, Gemini CLI, Copilot CLI or Cursor. Each is shown; recorded are their
    definitions and the script files that they name.
    """
    from sliphook.registry import Registry

    if hooks is not None and (target or mcp is not None or file is not None):
        raise click.UsageError("--hooks PATH stands alone")
    if file is not None and (target or mcp is not None or name is not None):
        raise click.UsageError("--from names the servers; leave the rest out")
    if hooks is None and file is None and mcp is None and len(target) != 1:
        raise click.UsageError("give one PATH or NAME")
    if mcp is not None and name is not None:
        raise click.UsageError("--mcp gives the name already; leave --name out")
    registry = Registry()
    wishes = Wishes(settings, grants, env, servers, pin)
    with registry_errors():
        check_variables(env)
    if file is not None:
        found_there = _servers_in(file)
        consent = Consent(yes=yes, quiet=as_json and yes, command="install")
        rows = list(_all_of(found_there, registry, wishes, consent, as_json=as_json))
        if as_json:
            print_json({"installed": rows})
        return EXIT_OK
    lines: list[str] = []
    with registry_errors():
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
    host = user_settings() if hooks is not None else None
    plugin, manifest = install(registry, found, name, wishes, consent, host)
    if as_json:
        print_json(row_of(plugin))
    else:
        tell(plugin, manifest)
    return EXIT_OK


def _all_of(
    servers: Sequence[FoundServer],
    registry: Registry,
    wishes: Wishes,
    consent: Consent,
    *,
    as_json: bool,
) -> Iterator[dict[str, object]]:
    """Install each server that the user wants; the rows of those for `--json`."""
    for server in servers:
        why = server.why_not
        if why is None and server.name in registry.names():
            why = "a plugin of that name is installed already"
        if why is not None:
            comment(f"{says(server.name)} is left out: {says(why)}")
            continue
        own = () if server.timeout_s is None else (f"timeout_s={server.timeout_s:g}",)
        wanted = replace(
            wishes, settings=(*own, *wishes.settings), env=(*wishes.env, *server.variables)
        )
        try:
            with registry_errors():
                check_variables(server.variables)
                found = _server_to_install(registry, server.words, server.name)
            plugin, manifest = install(registry, found, server.name, wanted, consent)
        except Failed as error:
            comment(f"{says(server.name)} is left out: {error.message}")
            continue
        if not as_json:
            tell(plugin, manifest)
        yield row_of(plugin)


def _servers_in(file: Path) -> list[FoundServer]:
    import os

    from sliphook.adapters.mcp.configs import servers_in

    try:
        with open(file, "rb", opener=open_regular) as opened:
            data = opened.read(_CONFIG_BYTES + 1)
        if len(data) > _CONFIG_BYTES:
            raise ValueError(f"it is over {_CONFIG_BYTES // 2**20} MiB")
        text, folder = data.decode(), str(Path.cwd())
        return servers_in(text, is_toml=file.suffix == ".toml", folder=folder, environ=os.environ)
    except OSError as error:
        raise Failed(f"{says(str(file))} cannot be read: {error.strerror}") from None
    except ValueError as error:  # also of bytes that are no UTF-8
        raise Failed(f"{says(str(file))}: {says(str(error))}") from None


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
    from sliphook.registry.server_command import made_of_server

    registry.check_free(name)
    return Executable.of(made_of_server(command, Path.cwd()))


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
