"""`sliphook trust`: accept a plugin as it is now."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING

import click

from sliphook.cli.common import EXIT_OK, json_option, print_json

from .consent import Consent, tell_what_is_missing
from .options import check_variables, grant_options, name_argument, registry_errors

if TYPE_CHECKING:
    from sliphook.plugin.manifest import ReadManifest
    from sliphook.registry import Registered
    from sliphook.registry.executables import Executable


@click.command("trust")
@name_argument
@click.option(
    "--yes", is_flag=True, help="Agree to run it and to record it. Grants nothing: name each grant."
)
@grant_options
@json_option
def command(
    name: str,
    yes: bool,
    grants: tuple[str, ...],
    env: tuple[str, ...],
    servers: tuple[str, ...],
    as_json: bool,
) -> int:
    """Accept the plugin NAME as it is now: its file, and what it asks for.

    Shows what has changed since it was approved, asks, runs it once, and shows what it asks for
    beyond what was approved.
    """
    from msgspec.structs import replace

    from sliphook.cli.chosen_plugins import user_settings
    from sliphook.cli.foreign_hooks import hooks_again
    from sliphook.cli.run_once import run_once
    from sliphook.files import paths
    from sliphook.registry import Registry
    from sliphook.registry.executables import look_again
    from sliphook.registry.kept_text import changes, keep
    from sliphook.settings import with_settings

    registry = Registry()
    lines: list[str] = []
    with registry_errors():
        check_variables(env)
        old = registry.get(name)
        found = look_again(old)
        if found.made is not None and found.made.kind == "hooks":
            found, lines = hooks_again(found.made)
    consent = Consent(yes=yes, quiet=as_json and yes, command="trust")
    consent.show(lines)
    file_changed = not found.is_as(old.recorded)
    if file_changed:
        consent.show_file(found, old.recorded)
        if found.made is None:
            before = old.recorded.sha256
            consent.show_changes(changes(name, str(found.path), before, found.sha256))
        consent.confirm("Its file has changed. Run it once, to see what it wants?")
    interpreter = _interpreter(old, found)
    spec = found.in_place_of(dataclasses.replace(old.spec(os.environ), recorded=None), name)
    spec = with_settings(spec, user_settings())
    spec = dataclasses.replace(spec, interpreter=interpreter if old.pin else None)
    manifest = run_once(spec, paths.plugin_data() / name)
    more = _asks_for_more(old, manifest)
    if more:
        consent.show(["It asks for more than was approved:", *(f"  {one}" for one in more)])
    new_grants = consent.grants(
        manifest, manifest.uses - frozenset(old.manifest.uses or ()), grants
    )
    wanted_before = {want.name for want in old.manifest.env or ()}
    new_variables = consent.variables(
        (want.name for want in manifest.env if want.name not in wanted_before), env
    )
    new_servers = consent.servers(
        (one for one in manifest.servers if one not in (old.manifest.servers or ())),
        servers,
        old.grants | new_grants,
    )
    if more or file_changed:
        consent.confirm(f"Accept {name} as it is now?")

    def renew(current: Registered) -> Registered:
        return replace(
            current,
            recorded=replace(
                found.recorded(manifest.wire, current.recorded.installed), interpreter=interpreter
            ),
            # a grant that was revoked while this command asked is not given back
            grants=(current.grants | new_grants) & manifest.uses,
            env=tuple(dict.fromkeys([*current.env, *new_variables])),
            servers=tuple(dict.fromkeys([*current.servers, *new_servers])),
        )

    with registry_errors():
        new = registry.change(name, renew)
        keep(name, str(found.path), found.sha256)
    changed = file_changed or manifest.wire != old.manifest
    if as_json:
        print_json(
            {
                "name": name,
                "changed": changed,
                "sha256": found.sha256,
                "made": found.made,
                "more": more,
                "grants": sorted(new.grants),
                "env": new.env,
                "servers": new.servers,
            }
        )
        return EXIT_OK
    click.echo(f"{name} is accepted as it is now" if changed else f"{name} is as it was approved")
    tell_what_is_missing(new, manifest)
    return EXIT_OK


def _interpreter(plugin: Registered, found: Executable) -> str | None:
    """The interpreter to record: the pinned one as long as it is there."""
    from sliphook.process.interpreter import looked_up, why_not_pinned

    pinned = plugin.recorded.interpreter
    if plugin.pin and pinned is not None and why_not_pinned(found.path, pinned) is None:
        return pinned
    return looked_up(found.path) if plugin.pin else found.interpreter


def _asks_for_more(old: Registered, manifest: ReadManifest) -> list[str]:
    from sliphook.plugin.approval import asks_for_more
    from sliphook.plugin.checks import ManifestError
    from sliphook.plugin.manifest import read_manifest
    from sliphook.wire import envelope

    try:
        return asks_for_more(read_manifest(envelope.encode(old.manifest)), manifest)
    except ManifestError:
        return ["everything: what was recorded cannot be read any more"]
