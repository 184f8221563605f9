"""Options that name plugins to try without an installation: `--plugin`, `--mcp`, `--env`."""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from .common import Failed, refuse_what_others_could_change

if TYPE_CHECKING:
    from sliphook.plugin.spec import PluginSpec
    from sliphook.registry.made import Made

_F = TypeVar("_F", bound=Callable[..., Any])


def tried(made: Made, name: str) -> PluginSpec:
    """The plugin that an adapter makes, as one that is only tried."""
    from sliphook.plugin.spec import PluginSpec

    return PluginSpec(made.program, made=made.by(name))


def server_of(command: str) -> PluginSpec:
    """The MCP server of a command line, as a plugin that is only tried.

    Raises:
        click.UsageError: it is no command line.
        Failed: it cannot be started, or another user could change it.
    """
    from sliphook.registry.errors import RegistryError
    from sliphook.registry.server_command import made_of_command, name_of_command

    try:
        words = shlex.split(command)
    except ValueError as error:
        raise click.UsageError(f"--mcp: {command!r} is no command: {error}") from None
    try:
        return tried(made_of_command(words, Path.cwd()), name_of_command(words))
    except RegistryError as error:
        raise Failed(f"--mcp: {error}") from None


def _refuse_some(
    _ctx: click.Context, _param: click.Parameter, paths: tuple[Path, ...]
) -> tuple[Path, ...]:
    for path in paths:
        refuse_what_others_could_change(path)
    return paths


def plugin_options(command: _F) -> _F:
    """Add `--plugin`, `--mcp` and `--env`; the command gets `plugins`, a tuple of `PluginSpec`."""

    @functools.wraps(command)
    def with_specs(
        plugins: tuple[Path, ...], mcp: tuple[str, ...], env: tuple[str, ...], **others: Any
    ) -> Any:
        from sliphook.plugin.spec import PluginSpec

        specs = [*map(PluginSpec, plugins), *map(server_of, mcp)]
        return command(plugins=_with_variables(specs, env), **others)

    plugin = click.option(
        "--plugin",
        "plugins",
        multiple=True,
        metavar="PATH",
        type=click.Path(path_type=Path),
        callback=_refuse_some,
        help="Start the plugin with this executable. May be given several times.",
    )
    mcp = click.option(
        "--mcp",
        multiple=True,
        metavar="COMMAND",
        help="Start the MCP server of this command as a plugin. May be given several times.",
    )
    env = click.option(
        "--env",
        multiple=True,
        metavar="VARIABLE",
        help="Give these plugins this environment variable. May be given several times.",
    )
    return cast("_F", plugin(mcp(env(with_specs))))


def _with_variables(specs: list[PluginSpec], env: tuple[str, ...]) -> tuple[PluginSpec, ...]:
    from sliphook.process.environment import why_not_granted

    if env and not specs:
        raise click.UsageError(
            "--env is for the plugins of --plugin and --mcp; give an installed one a variable by:"
            " sliphook config NAME --env VARIABLE"
        )
    for name in env:
        why = why_not_granted(name)
        if why is None and name not in os.environ:
            why = f"the variable {name} is not set here"
        if why is not None:
            raise Failed(f"--env: {why}")
    given = {name: os.environ[name] for name in env}
    return tuple(replace(spec, env=given) for spec in specs)
