"""`sliphook trust`: accept what a plugin has become."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING

import click

from sliphook.cli.common import EXIT_OK, json_option, print_json

from .consent import WITH_YOUR_RIGHTS, Questions, lines_of_file, show, uses_among
from .enable import name_argument
from .install import meet, tell_what_is_missing
from .options import check_env, failing, grant_options

if TYPE_CHECKING:
    from sliphook.plugin.manifest import ReadManifest
    from sliphook.registry import Registered


@click.command("trust")
@name_argument
@click.option(
    "--yes", is_flag=True, help="Agree to run it and to record it. Grants nothing: name each grant."
)
@grant_options
@json_option
def command(
    name: str, yes: bool, grants: tuple[str, ...], env: tuple[str, ...], as_json: bool
) -> int:
    """Accept the plugin NAME as it is now: its file, and what it asks for.

    Shows what has changed since it was approved, asks, runs it once, and shows what it asks for
    beyond what it did.
    """
    from msgspec.structs import replace

    from sliphook.files import paths
    from sliphook.registry import Registry
    from sliphook.registry.executables import look_at
    from sliphook.registry.record import manifest_text

    registry = Registry()
    with failing():
        check_env(env)
        old = registry.get(name)
        found = look_at(old.path)
    questions = Questions(yes=yes, what="trust")
    quiet = as_json and yes
    before = old.recorded.sha256
    if found.sha256 != before:
        show([*lines_of_file(found), f"  before    {before}", "", WITH_YOUR_RIGHTS], quiet=quiet)
        questions.confirm("Its file has changed. Run it once, to see what it wants?")
    spec = dataclasses.replace(
        old.spec(os.environ), path=found.path, sha256=found.sha256, recorded=None
    )
    manifest = meet(spec, paths.plugin_data() / name)
    more = _more(old, manifest)
    if more:
        show(["It asks for more than was approved:", *(f"  {one}" for one in more)], quiet=quiet)
    new_uses = sorted(manifest.uses - frozenset(old.manifest.uses or ()))
    new_env = [
        want.name
        for want in manifest.env
        if want.name not in {known.name for known in old.manifest.env or ()}
    ]
    added = uses_among(
        questions.grants("Grant {}?", new_uses, grants), manifest.name, manifest.uses
    )
    more_env = questions.grants("Give it the variable {}?", new_env, env)
    if more or found.sha256 != before:
        questions.confirm(f"Accept {name} as it is now?")

    def renew(current: Registered) -> Registered:
        return replace(
            current,
            recorded=replace(
                current.recorded,
                path=str(found.path),
                sha256=found.sha256,
                interpreter=found.interpreter,
                manifest=manifest_text(manifest.wire),
            ),
            grants=(current.grants | added)
            & manifest.uses,  # what was revoked while we asked is not granted again
            env=tuple(dict.fromkeys([*current.env, *more_env])),
        )

    with failing():
        new = registry.change(name, renew)
    changed = found.sha256 != before or manifest.wire != old.manifest
    if as_json:
        print_json(
            {
                "name": name,
                "changed": changed,
                "sha256": found.sha256,
                "more": more,
                "grants": sorted(new.grants),
                "env": new.env,
            }
        )
        return EXIT_OK
    click.echo(f"{name} is accepted as it is now" if changed else f"{name} is as it was approved")
    tell_what_is_missing(name, manifest, new.grants, new.env)
    return EXIT_OK


def _more(old: Registered, manifest: ReadManifest) -> list[str]:
    from sliphook.plugin.approval import asks_for_more
    from sliphook.plugin.checks import ManifestError
    from sliphook.plugin.manifest import read_manifest
    from sliphook.wire import envelope

    try:
        return asks_for_more(read_manifest(envelope.encode(old.manifest)), manifest)
    except ManifestError:
        return ["everything: what was recorded cannot be read any more"]
