"""What the commands for installed plugins share: the plugin's name, grants and settings."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from typing import Any, Final, TypeVar, cast, get_args

import click

from sliphook.cli.common import Failed
from sliphook.cli.completion import plugin_names
from sliphook_sdk.protocol import Uses

_F = TypeVar("_F", bound=Callable[..., Any])
_HIDDEN: Final = "***"

name_argument = click.argument("name", shell_complete=plugin_names)


def grant_options(command: _F) -> _F:
    """Add `--grant`, `--env` and `--server`, as the parameters `grants`, `env` and `servers`."""
    uses = click.option(
        "--grant",
        "grants",
        multiple=True,
        type=click.Choice(get_args(Uses)),
        help="Let it ask this of the agent. May be given several times.",
    )
    env = click.option(
        "--env",
        multiple=True,
        metavar="VARIABLE",
        help="Give it this environment variable. May be given several times.",
    )
    servers = click.option(
        "--server",
        "servers",
        multiple=True,
        metavar="HOST[:PORT]",
        callback=_servers,
        help="Let it have model calls sent there; needs the grant route. Several are possible.",
    )
    return uses(env(servers(command)))


def _servers(
    ctx: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    from sliphook.plugin.model_servers import why_no_server

    for server in given:
        if (why := why_no_server(server)) is not None:
            raise click.BadParameter(f"{server!r} {why}")
    return given


@contextlib.contextmanager
def registry_errors() -> Generator[None]:
    """Turn an error of the registry into one that ends the command.

    Raises:
        Failed: the block raised a `RegistryError`.
    """
    from sliphook.registry import RegistryError

    try:
        yield
    except RegistryError as error:
        raise Failed(str(error)) from None


def grants_among(names: Iterable[str], plugin: str, asked: Collection[str]) -> frozenset[Uses]:
    """The grants of these names.

    Args:
        names: names of grants.
        plugin: the plugin's name, for the error.
        asked: what the plugin asks for.

    Raises:
        Failed: one of the names is not among `asked`.
    """
    for name in names:
        if name not in asked:
            all_of_them = ", ".join(sorted(asked)) or "nothing"
            raise Failed(f"{plugin} does not ask for {name}; it asks for {all_of_them}")
    return frozenset(cast("Iterable[Uses]", names))


def check_variables(names: Iterable[str]) -> None:
    """Refuse environment variables that no plugin is given.

    Raises:
        Failed: one of the names is of such a variable.
    """
    from sliphook.process.environment import why_not_granted

    for name in names:
        why = why_not_granted(name)
        if why is not None:
            raise Failed(why)


def masked(value: Any, secrets: frozenset[str]) -> Any:
    """The settings with every secret hidden."""
    if isinstance(value, Mapping):
        return {
            key: masked(inner, secrets) for key, inner in cast("Mapping[str, Any]", value).items()
        }
    if isinstance(value, list):
        return [masked(inner, secrets) for inner in cast("list[object]", value)]
    return _HIDDEN if not isinstance(value, bool) and str(value) in secrets else value
