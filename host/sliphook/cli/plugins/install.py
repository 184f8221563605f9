"""`sliphook install`: from an executable to an installed plugin."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sliphook.cli.common import EXIT_OK, EXIT_PLUGIN, Failed, json_option, print_json
from sliphook.cli.completion import installable
from sliphook.cli.report import says
from sliphook_sdk.protocol import Uses

from .consent import WITH_YOUR_RIGHTS, Questions, lines_of_file, lines_of_manifest, show, uses_among
from .options import check_config, check_env, failing, grant_options, settings_from

if TYPE_CHECKING:
    from sliphook.plugin.manifest import ReadManifest
    from sliphook.plugin.spec import PluginSpec
    from sliphook.registry import Registered, Registry
    from sliphook.registry.executables import Executable


@click.command("install")
@click.argument("target", metavar="PATH|NAME", shell_complete=installable)
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
    help="A setting for it; may be given several times.",
)
@grant_options
@json_option
def command(
    target: str,
    yes: bool,
    name: str | None,
    settings: tuple[str, ...],
    grants: tuple[str, ...],
    env: tuple[str, ...],
    as_json: bool,
) -> int:
    """Install the executable at PATH, or the one called sliphook-plugin-NAME on PATH, as a plugin.

    Shows the file and asks before it is run; then runs it once to see what it declares and what it
    wants, and asks for each grant. Its file is recorded by its hash: if it changes, the plugin is
    refused until `sliphook trust` accepts it.
    """
    from sliphook.plugin.spec import PluginSpec
    from sliphook.registry import Registered, Registry
    from sliphook.registry.executables import find_executable, look_at
    from sliphook.registry.keys import Recorded
    from sliphook.registry.record import manifest_text

    registry = Registry()
    with failing():
        check_env(env)
        if name is not None:
            registry.check_free(name)
        given_path = find_executable(target)
        found = look_at(given_path)
        if name is None:
            _refuse_what_is_installed(registry, given_path.name, found)
    questions = Questions(yes=yes, what="install")
    quiet = as_json and yes
    show([*lines_of_file(found), "", WITH_YOUR_RIGHTS], quiet=quiet)
    questions.confirm("Run it once, to see what it wants?")
    config = settings_from(settings, None)
    given = {variable: os.environ[variable] for variable in env if variable in os.environ}
    spec = PluginSpec(found.path, config=config, env=given, sha256=found.sha256)
    manifest = meet(spec)
    show(["", *lines_of_manifest(manifest)], quiet=quiet)
    with failing():
        registry.check_free(name or manifest.name)
    config = settings_from(settings, manifest.wire.config_schema)
    check_config(config, manifest.wire.config_schema, "give --config KEY=VALUE")
    granted = uses_among(
        questions.grants("Grant {}?", sorted(manifest.uses), [*grants]),
        manifest.name,
        manifest.uses,
    )
    variables = questions.grants(
        "Give it the variable {}?", (want.name for want in manifest.env), [*env]
    )
    plugin = Registered(
        name=name or manifest.name,
        recorded=Recorded(
            path=str(found.path),
            sha256=found.sha256,
            interpreter=found.interpreter,
            installed=datetime.now(UTC).replace(microsecond=0),
            manifest=manifest_text(manifest.wire),
        ),
        grants=granted,
        env=tuple(variables),
        config=config,
    )
    questions.confirm(f"Install it as {plugin.name}?")
    with failing():
        check_env(variables)
        plugin = registry.add(plugin)
        for other in registry.read():
            if (
                isinstance(other, Registered)
                and other.enabled
                and (shared := _shared(plugin, other))
            ):
                click.echo(
                    f"sliphook: {plugin.name} will be refused while {other.name} is enabled: both have {shared}",
                    err=True,
                )
    if as_json:
        print_json(
            {
                "name": plugin.name,
                "path": str(plugin.path),
                "sha256": found.sha256,
                "grants": sorted(granted),
                "env": variables,
            }
        )
        return EXIT_OK
    click.echo(f"installed {plugin.name}")
    tell_what_is_missing(plugin.name, manifest, granted, variables)
    return EXIT_OK


def _refuse_what_is_installed(registry: Registry, file_name: str, found: Executable) -> None:
    """As far as it can be known before the plugin has run.

    Raises:
        Failed: this very file is installed.
        RegistryError: another of this name is.
    """
    from sliphook.registry import Registered
    from sliphook.registry.executables import PREFIX

    for other in registry.read():
        if isinstance(other, Registered) and other.path == found.path:
            do = "uninstall it first, or give another --name"
            if other.recorded.sha256 != found.sha256:
                do = f"its file has changed since; if that is right, run: sliphook trust {other.name}"
            elif not other.enabled:
                do = f"it is disabled; to start it again: sliphook enable {other.name}"
            raise Failed(f"{says(str(found.path))} is installed already, as {other.name}; {do}")
    own_name = file_name.removeprefix(PREFIX)
    if own_name != file_name and own_name in registry.names():
        registry.check_free(own_name)


def _shared(plugin: Registered, other: Registered) -> str | None:
    """A name that only one of two plugins can have, in words."""
    if other.name == plugin.name:
        return None
    tools = {tool.name for tool in plugin.manifest.tools or ()} & {
        tool.name for tool in other.manifest.tools or ()
    }
    commands = {one.name for one in plugin.manifest.commands or ()} & {
        one.name for one in other.manifest.commands or ()
    }
    names = [
        *(f"the tool {name}" for name in sorted(tools)),
        *(f"the command /{name}" for name in sorted(commands)),
    ]
    return ", ".join(names) or None


def meet(spec: PluginSpec, data_dir: Path | None = None) -> ReadManifest:
    """Run the plugin once and see what it declares.

    Args:
        spec: the plugin.
        data_dir: its folder; None: an empty one for this once.

    Raises:
        DidNotAnswer: it did not declare itself as it should.
    """
    from sliphook.cli.running import Interruptible, run_trio
    from sliphook.registry.handshake import InterviewError, interview

    found: list[ReadManifest] = []

    async def ask(_: Interruptible) -> int:
        if data_dir is not None:
            found.append(await interview(spec, data_dir))
        else:
            with tempfile.TemporaryDirectory(prefix="sliphook-install-") as folder:
                found.append(await interview(spec, Path(folder) / "data"))
        return EXIT_OK

    try:
        status = run_trio(ask)
    except InterviewError as error:
        raise DidNotAnswer(f"{spec.name or spec.path.name}: {error}; nothing was changed") from None
    if status != EXIT_OK:
        raise click.exceptions.Exit(status)
    return found[0]


class DidNotAnswer(Failed):
    """A plugin did not answer as it should. Exit 3."""

    exit_code = EXIT_PLUGIN


def tell_what_is_missing(
    name: str, manifest: ReadManifest, granted: frozenset[Uses], variables: Sequence[str]
) -> None:
    """What it wants and was not given, and how that is done later."""
    for use in sorted(manifest.uses - granted):
        click.echo(f"  not granted: {use}; to grant it: sliphook config {name} --grant {use}")
    for want in manifest.env:
        if want.name not in variables:
            click.echo(
                f"  not given: {want.name}; to give it: sliphook config {name} --env {want.name}"
            )
