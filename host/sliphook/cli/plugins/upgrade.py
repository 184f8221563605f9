"""`sliphook upgrade`: new versions of installed plugins that pip or npm has brought."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import click

from sliphook.cli.common import EXIT_OK, Failed, comment
from sliphook.cli.completion import plugin_names
from sliphook.cli.report import says

from .consent import Consent
from .options import registry_errors
from .trust import command as trust

if TYPE_CHECKING:
    from sliphook.registry import Registered
    from sliphook.registry.delivered import Delivered


@click.command("upgrade")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=plugin_names)
@click.option(
    "--yes",
    is_flag=True,
    help="Agree to each command and to the plugin as it is then. Grants nothing.",
)
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...], yes: bool) -> int:
    """Bring the newest version of the plugins NAME..., or of all, with pip or npm; accept them.

    Shows which command it would run, and asks. Afterwards `sliphook trust` shows what has changed,
    and asks again: until you accept it, a changed plugin is refused.

    A plugin that came in another way is updated in that way, and then accepted with `sliphook
    trust`. So is one that was installed from a folder or an address: a package index may have
    another package of that name.
    """
    from sliphook.registry import Registered, Registry, RegistryError
    from sliphook.registry.delivered import delivered

    consent = Consent(yes=yes, quiet=False, command="upgrade")
    registry = Registry()
    with registry_errors():
        plugins = (
            [registry.get(name) for name in names]
            if names
            else [one for one in registry.read() if isinstance(one, Registered)]
        )
    for plugin in plugins:
        try:
            came = delivered(plugin.path) if plugin.recorded.made is None else None
            why = "" if came is not None else "neither pip nor npm has brought it"
        except RegistryError as error:
            came, why = None, str(error)
        if came is not None:
            _upgrade(ctx, consent, plugin, came, yes=yes)
        elif names:
            raise Failed(f"{plugin.name}: {why}; update it, and then: sliphook trust {plugin.name}")
        else:
            comment(f"{plugin.name}: left as it is: {why}")
    return EXIT_OK


def _upgrade(
    ctx: click.Context, consent: Consent, plugin: Registered, came: Delivered, *, yes: bool
) -> None:
    from sliphook.registry.delivered import delivered

    words = " ".join(came.command)
    consent.show([f"{plugin.name}: {says(came.package)} {says(came.version)}, from {came.by}"])
    consent.confirm(f"Run: {says(words)}?")
    try:
        done = subprocess.run(came.command, cwd=came.folder, stdout=sys.stderr, check=False)
    except OSError as error:
        raise Failed(f"{says(came.command[0])} cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        raise Failed(f"{came.by} ended with status {done.returncode}; {plugin.name} is as it was")
    now = delivered(plugin.path)
    version = now.version if now is not None else "?"
    changed = f"{came.version} is the newest" if version == came.version else f"now {version}"
    click.echo(f"{plugin.name}: {says(changed)}")
    ctx.invoke(trust, name=plugin.name, yes=yes, grants=(), env=(), servers=(), as_json=False)
