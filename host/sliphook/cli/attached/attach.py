"""`sliphook attach` and `detach`: write our hooks into an agent's configuration, or remove them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sliphook.cli.common import EXIT_OK, Failed, complain
from sliphook.cli.report import says

if TYPE_CHECKING:
    from sliphook.adapters.attachments.config_text import Change
    from sliphook.adapters.dialects.dialect import Dialect
    from sliphook_sdk.protocol import Manifest

agent_argument = click.argument("agent", metavar="AGENT")
_project = click.option(
    "--project", is_flag=True, help="The configuration of this folder's project."
)
_yes = click.option("--yes", is_flag=True, help="Do not ask.")
_print = click.option("--print", "only_print", is_flag=True, help="Show the change, write nothing.")


def dialect_of(agent: str) -> Dialect:
    """The agent's table; a UsageError if there is no such agent."""
    from sliphook.adapters.dialects.known import DIALECTS

    if agent not in DIALECTS:
        raise click.UsageError(f"there is no agent {agent!r}; there is {', '.join(DIALECTS)}")
    return DIALECTS[agent]


@click.command("attach")
@agent_argument
@_project
@_print
@_yes
@click.option(
    "--without",
    multiple=True,
    metavar="NAME",
    help="Attach although the guard of this plugin can never be asked. May be given several times.",
)
@click.option(
    "--mcp", is_flag=True, help="Offer the plugins' tools and commands there, by an MCP server."
)
def attach(
    agent: str, project: bool, only_print: bool, yes: bool, without: tuple[str, ...], mcp: bool
) -> int:
    """Have the installed plugins work in AGENT: write hooks into its own configuration.

    Only the events are written that installed plugins subscribe to, so run it again after an
    installation. What it wrote before is replaced. The old file is kept beside the new one.
    """
    from sliphook.adapters.attached.build import build
    from sliphook.adapters.attachments import configs, records, servers
    from sliphook.adapters.attachments.examine import wanted_in
    from sliphook.adapters.dialects.subscribed import events_to_write, guarding, unaskable
    from sliphook.errors import SliphookError
    from sliphook.registry import Registered, Registry
    from sliphook.settings import read_settings

    dialect = dialect_of(agent)
    try:
        installed = [one for one in Registry().read() if isinstance(one, Registered)]
        plugins = wanted_in(agent, installed, read_settings())
        manifests = [plugin.subscribed for plugin in plugins]
        for one in unaskable(dialect, manifests):
            if one.plugin not in without:
                raise Failed(
                    f"{one.plugin} guards {one.entry}, and {dialect.title} could never ask it:"
                    f" {one.why} To attach all the same: --without {one.plugin}"
                )
        events = events_to_write(dialect, manifests, serves=mcp)
        if not events:
            raise Failed(f"no installed plugin subscribes to what {dialect.title} tells")
        granted = [name for plugin in plugins for name in plugin.env]
        client = build(granted)
        root = Path.cwd() if project else None
        path = configs.config_file(dialect, project=root)
        server = servers.server_file(dialect, project=root) if mcp else None
        closed = guarding(dialect, manifests)
        change = _changed(
            lambda: configs.attached(dialect, path, client, events, closed),
            lambda: configs.by_hand(dialect, path, client, events, closed),
            only_print=only_print,
        )
        if not client.compiled:
            click.echo("no C compiler works here: a hook costs 20 ms instead of 2", err=True)
        _say_limits(dialect, manifests)
        _carry_out(change, configs.write, only_print=only_print, yes=yes)
        if not only_print:
            records.remember(agent, path)
        if server is not None:
            more = _changed(
                lambda: servers.attached(dialect, server, granted),
                lambda: servers.by_hand(dialect, server, granted),
                only_print=only_print,
            )
            _carry_out(more, servers.write, only_print=only_print, yes=yes)
            if not only_print:
                records.remember(agent, path, server)
    except (SliphookError, OSError) as error:
        raise Failed(str(error)) from None
    if not only_print and dialect.config.trust:
        click.echo(dialect.config.trust)
    return EXIT_OK


@click.command("detach")
@agent_argument
@_project
@_print
@_yes
def detach(agent: str, project: bool, only_print: bool, yes: bool) -> int:
    """Remove what `attach` wrote into AGENT's configuration, and nothing else."""
    from sliphook.adapters.attachments import configs, records, servers
    from sliphook.adapters.attachments.config_text import ConfigError
    from sliphook.errors import SliphookError

    dialect = dialect_of(agent)
    try:
        root = Path.cwd() if project else None
        if root is None or dialect.server.project is not None:
            change = servers.detached(dialect, servers.server_file(dialect, project=root))
            if change.new != change.old:
                _carry_out(change, servers.write, only_print=only_print, yes=yes)
        path = configs.config_file(dialect, project=root)
        _carry_out(configs.detached(dialect, path), configs.write, only_print=only_print, yes=yes)
        if not only_print:
            records.forget(agent, path)
    except ConfigError as error:
        ours = f"the hooks with {configs.MARK} in their command, and the MCP server sliphook"
        raise Failed(f"{error}; to be taken out by hand: {ours}") from None
    except (SliphookError, OSError) as error:
        raise Failed(str(error)) from None
    return EXIT_OK


def _changed(
    make: Callable[[], Change], by_hand: Callable[[], Change], *, only_print: bool
) -> Change:
    """The change, or what the user has to write if that file is not ours to change."""
    from sliphook.adapters.attachments.config_text import ConfigError

    try:
        return make()
    except ConfigError as error:
        if not only_print:
            raise Failed(f"{error}; --print shows what to write there by hand") from None
        complain(f"{error}; this is to be written there by hand:")
        return by_hand()


def _say_limits(dialect: Dialect, manifests: list[Manifest]) -> None:
    """Show what of the plugins' subscriptions is not in this agent as the catalogue says."""
    from sliphook.adapters.dialects.subscribed import inexact

    for entry in inexact(dialect, manifests):
        click.echo(f"{entry.ours} is {entry.how} in {dialect.title}: {entry.limits}")


def _carry_out(
    change: Change, write: Callable[[Change], Path | None], *, only_print: bool, yes: bool
) -> None:
    """Show the change, ask, write it."""
    diff = change.diff
    if change.new == change.old:
        click.echo(f"{says(str(change.path))} is as it should be")
        return
    click.echo("\n".join(says(line) for line in diff.splitlines()))
    if only_print:
        return
    if not yes:
        what = "Write" if change.new is not None else "Remove"
        click.confirm(f"{what} {says(str(change.path))}?", abort=True, err=True)
    backup = write(change)
    kept = f"; the old file is {says(str(backup))}" if backup is not None else ""
    done = "wrote" if change.new is not None else "removed"
    click.echo(f"{done} {says(str(change.path))}{kept}")
