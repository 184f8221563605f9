"""`--plugin`, `--mcp`, `--hooks`, `--env`, `--config`: plugins that start beside installed ones."""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from sliphook.cli.common import Failed, with_options
from sliphook.cli.completion import tried_plugins
from sliphook.quoting import quote

from .settings import check_settings, settings_from

if TYPE_CHECKING:
    from sliphook.plugin.spec import PluginSpec
    from sliphook.registry.made import Made

__all__ = [
    "given",
    "plugin_options",
    "refuse_what_others_could_change",
    "server_of",
    "tried",
    "tried_files",
    "watch_option",
]

_F = TypeVar("_F", bound=Callable[..., Any])

watch_option = click.option(
    "--watch",
    is_flag=True,
    help="Do it again whenever the file of a plugin of --plugin has changed, until Ctrl+C.",
)


def plugin_options(command: _F) -> _F:
    """Add the options of plugins to try; the command gets `plugins`, a tuple of `PluginSpec`."""

    @functools.wraps(command)
    def with_specs(
        plugins: tuple[str, ...],
        mcp: tuple[str, ...],
        hooks: tuple[str, ...],
        env: tuple[str, ...],
        settings: tuple[str, ...],
        **others: Any,
    ) -> Any:
        from sliphook.cli.foreign_hooks import hooks_of

        named = [_installed(one) or _tried(Path(one)) for one in plugins]
        specs = [*named, *map(server_of, mcp), *map(hooks_of, hooks)]
        return command(plugins=given(specs, env, settings), **others)

    options = (
        click.option(
            "--plugin",
            "plugins",
            multiple=True,
            metavar="PATH|NAME",
            shell_complete=tried_plugins,
            help="Start the plugin with this executable, or the installed one of this name. May be"
            " given several times.",
        ),
        click.option(
            "--mcp",
            multiple=True,
            metavar="COMMAND",
            help="Start the MCP server of this command as a plugin. May be given several times.",
        ),
        click.option(
            "--hooks",
            multiple=True,
            metavar="PATH",
            help="Run the hooks of another agent's configuration. May be given several times.",
        ),
        click.option(
            "--env",
            multiple=True,
            metavar="VARIABLE",
            help="Give these plugins this environment variable, but for installed ones. May be"
            " given several times.",
        ),
        click.option(
            "--config",
            "settings",
            multiple=True,
            metavar="KEY=VALUE",
            help="A setting for this plugin, but for an installed one. May be given several times;"
            " of several plugins, each gets those that it has.",
        ),
    )
    return cast("_F", with_options(with_specs, *options))


def tried_files(plugins: Sequence[PluginSpec]) -> tuple[Path, ...]:
    """The files of those that are not installed: their authors may change them."""
    return tuple(spec.path for spec in plugins if spec.name is None and spec.made is None)


def refuse_what_others_could_change(path: Path) -> None:
    """Check an executable that an option names.

    Raises:
        Failed: another user of the machine could have changed it.
    """
    from sliphook.files.ownership import why_unsafe

    why = why_unsafe(path)
    if why is not None:
        raise Failed(f"{quote(str(path), 200)} is not started: {why}")


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
    from sliphook.registry.server_command import made_of_server, name_of_command

    try:
        words = shlex.split(command)
    except ValueError as error:
        raise click.UsageError(f"--mcp: {command!r} is no command: {error}") from None
    try:
        return tried(made_of_server(words, Path.cwd()), name_of_command(words))
    except RegistryError as error:
        raise Failed(f"--mcp: {error}") from None


def given(
    specs: Sequence[PluginSpec], env: Sequence[str], settings: Sequence[str]
) -> tuple[PluginSpec, ...]:
    """The plugins, with the variables and the settings for those that are not installed.

    Raises:
        click.UsageError: all are installed.
        Failed: a variable cannot be given, or a setting is no plugin's or wrong.
    """
    tried = [spec for spec in specs if spec.name is None]
    for option, values, instead in (
        ("--env", env, "give an installed one a variable by: sliphook config NAME --env VARIABLE"),
        ("--config", settings, "change an installed one's by: sliphook config NAME KEY=VALUE"),
    ):
        if values and not tried:
            raise click.UsageError(
                f"{option} is for the plugins of --plugin PATH, --mcp and --hooks; {instead}"
            )
    variables = _variables(env)
    tried = [replace(spec, env={**spec.env, **variables}) for spec in tried]
    if settings:
        tried = _configured(tried, settings)
    left = iter(tried)
    return tuple(next(left) if spec.name is None else spec for spec in specs)


def _installed(name: str) -> PluginSpec | None:
    """The installed plugin of that name; None if a file is meant."""
    from sliphook.cli.chosen_plugins import user_settings
    from sliphook.registry import Registry, RegistryError
    from sliphook.settings import with_settings
    from sliphook_sdk.protocol import nearest

    if "/" in name:
        return None
    try:
        names = Registry().names()
        if name in names:
            return with_settings(Registry().get(name).spec(os.environ), user_settings())
    except RegistryError as error:
        raise Failed(str(error)) from None
    near = nearest(name, names) if not os.path.lexists(name) else None
    if near is not None:
        raise Failed(
            f"there is no file {quote(name, 200)} here, and no such plugin is installed;"
            f" did you mean {near}?"
        )
    return None


def _tried(path: Path) -> PluginSpec:
    from sliphook.files.edition import edition_of
    from sliphook.plugin.spec import PluginSpec

    refuse_what_others_could_change(path)
    return PluginSpec(path, edition=edition_of(path))


def _variables(names: Sequence[str]) -> dict[str, str]:
    from sliphook.process.environment import why_not_granted

    for name in names:
        why = why_not_granted(name)
        if why is None and name not in os.environ:
            why = f"the variable {name} is not set here"
        if why is not None:
            raise Failed(f"--env: {why}")
    return {name: os.environ[name] for name in names}


def _configured(specs: Sequence[PluginSpec], given: Sequence[str]) -> list[PluginSpec]:
    """The plugins with their settings, read and checked by what each declares: each runs once.

    Raises:
        Failed: a plugin does not declare anything, or no plugin has one of the settings.
    """
    from sliphook.cli.run_once import run_once
    from sliphook.registry.settings_schema import unknown_setting

    advice = "give --config KEY=VALUE"
    blind = settings_from(given, None)
    homeless = dict.fromkeys(blind, "")
    configured: list[tuple[PluginSpec, Mapping[str, Any] | None]] = []
    for spec in specs:
        manifest = run_once(replace(spec, config=blind), aftermath="nothing was begun")
        schema = manifest.wire.config_schema
        known = {key: unknown_setting(key, schema) for key in blind}
        homeless = {key: why for key in homeless if (why := known[key]) is not None}
        own = {key: value for key, value in settings_from(given, schema).items() if not known[key]}
        configured.append((replace(spec, config=own), schema))
    for why in homeless.values():
        raise Failed(f"{quote(why, 300)}; {advice}")
    for spec, declared in configured:
        check_settings(spec.config, declared, advice)
    return [spec for spec, _ in configured]
