"""What `fire` and `call` share: a payload from the user's fields, and a host for named plugins."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from sliphook.cli.common import comment, did_you_mean, person_at_terminal
from sliphook.cli.report import says
from sliphook.cli.tracing import Tracing
from sliphook_sdk.protocol.describe import example_of, example_to_send

if TYPE_CHECKING:
    from sliphook.cli.running import Interruptible
    from sliphook.host.host import PluginHost
    from sliphook.plugin.spec import PluginSpec

__all__ = ["named_plugins", "payload_with"]

_P = TypeVar("_P", bound=msgspec.Struct)


def payload_with(given: Mapping[str, Any], struct: type[_P], *, of: str, option: str) -> _P:
    """A payload with the user's fields.

    The project's folder is the current one; the other fields have the protocol's example values.

    Args:
        given: some fields, by their names on the wire.
        struct: the payload's type.
        of: what the payload belongs to, for messages.
        option: where `given` comes from, for messages.

    Raises:
        click.UsageError: the payload has no such field, or a value has the wrong type; the message
            names it.
    """
    fields = example_to_send(struct)
    if "cwd" in fields:
        fields["cwd"] = os.getcwd()
    for name in given:
        if name in fields:
            continue
        if name in example_of(struct):
            hint = "; use --timeout" if name == "timeout_s" else ""
            raise click.UsageError(f"{option}: {name!r} is set by the host{hint}")
        hint = did_you_mean(name, fields, f"there are: {', '.join(fields)}")
        raise click.UsageError(f"{option}: {of} has no field {name!r}; {hint}")
    try:
        return msgspec.convert({**fields, **given}, struct)
    except msgspec.ValidationError as error:
        raise click.UsageError(f"{option}: {error}") from None


@asynccontextmanager
async def named_plugins(
    plugins: Sequence[PluginSpec], tracing: Tracing, running: Interruptible
) -> AsyncGenerator[PluginHost]:
    """An open host that runs these plugins alone, and shows their log and alerts on stderr.

    What they ask, the person at the terminal answers; without one, a line says that none did.
    """
    from sliphook import PluginHost
    from sliphook.cli.first_tools import wait_for_first_tools
    from sliphook.host.admission import lacks_in_environment

    person = person_at_terminal()
    with tracing.open() as sink:
        running.host = host = PluginHost(
            plugins,
            asker=person.ask if person is not None else None,
            on_log=_show,
            on_notify=_show,
            on_problem=_in_the_report,
            trace=sink,
            providers=_providers(),
        )
        async with host:
            for plugin, spec in zip(host.plugins, plugins, strict=True):
                if (lacks := lacks_in_environment(plugin.manifest, spec, plugin.name)) is not None:
                    comment(f"plugin {says(plugin.name)} {lacks}")
            await wait_for_first_tools(host, plugins, comment)
            yield host


def _providers() -> dict[str, str | None]:
    """The user's providers of models, to which a plugin may send calls."""
    from sliphook.files.toml import TomlError
    from sliphook.settings import read_settings

    try:
        return {name: one.base_url for name, one in read_settings().providers.items()}
    except TomlError:  # what a plugin does here does not hang on the settings
        return {}


def _show(plugin: str, level: str, message: str) -> None:
    comment(f"{says(plugin)}: {level}: {says(message)}")


def _in_the_report(_plugin: str, _message: str) -> None:
    """Show nothing: the command's report tells the failure."""
