"""`sliphook completion`, and the names that a shell completes.

A user waits in the middle of typing: the functions for names must neither fail nor be slow.
"""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from sliphook.files import paths

from .common import EXIT_OK

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = [
    "command",
    "event_names",
    "installable",
    "log_names",
    "model_names",
    "plugin_names",
    "session_ids",
    "settings_of_plugin",
    "tried_plugins",
]


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print the script that makes SHELL complete `sliphook`.

    It completes commands, options, files, and the names of plugins, sessions, hooks and events.

    Add one line to ~/.bashrc (bash 4.4 or newer), or to ~/.zshrc below `compinit`. For fish, write
    the script to a file:

    \b
      eval "$(sliphook completion bash)"
      eval "$(sliphook completion zsh)"
      sliphook completion fish > ~/.config/fish/completions/sliphook.fish
    """  # noqa: D301 - click takes the character for "as it stands"
    from click.shell_completion import get_completion_class

    completion = get_completion_class(shell)
    assert completion is not None, "click knows the shells of the choice"
    script = completion(ctx.find_root().command, {}, "sliphook", "_SLIPHOOK_COMPLETE").source()
    # as bytes, so that the terminal's encoding does not change click's script
    click.echo(script.encode(), file=sys.stdout)
    return EXIT_OK


def plugin_names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The installed plugins, by the names of their files.

    The files are not opened: a user who repairs a broken one needs its name too.
    """
    from sliphook_sdk.protocol import NAME_PATTERNS

    with suppress(OSError):  # no folder, or no home at all
        stems = sorted(
            file.stem
            for file in paths.plugin_files().glob("*.toml")
            if file.stem.startswith(incomplete)
        )
        # commands refuse all other names
        return [stem for stem in stems if re.fullmatch(NAME_PATTERNS["plugin"], stem)]
    return []


def installable(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The names of the plugins on PATH; files, if the text looks like a path or fits no name."""
    from click.shell_completion import CompletionItem

    from sliphook.registry.executables import available

    names = (
        []
        if incomplete.startswith((".", "/", "~"))
        else [name for name in available() if name.startswith(incomplete)]
    )
    return [CompletionItem(name) for name in names] or [CompletionItem(incomplete, type="file")]


def tried_plugins(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The installed plugins that begin so, and files."""
    from click.shell_completion import CompletionItem

    names = plugin_names(ctx, param, incomplete) if incomplete else []
    return [*map(CompletionItem, names), CompletionItem(incomplete, type="file")]


def settings_of_plugin(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The settings that the plugin NAME has, as `KEY=`, each with its type and default."""
    from click.shell_completion import CompletionItem

    from sliphook.quoting import quote
    from sliphook.registry import Registry, RegistryError
    from sliphook.registry.settings_schema import line_of, settings_of

    with suppress(OSError, RegistryError):
        schema = Registry().get(ctx.params.get("name") or "").manifest.config_schema
        return [
            CompletionItem(f"{name}=", help=quote(line_of(name, setting), 100))
            for name, setting in settings_of(schema).items()
            if name.startswith(incomplete) and name.isprintable()
        ]
    return []


def log_names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The plugins that have a log."""
    from sliphook.process.log_files import default_folder, names_in

    with suppress(OSError):
        return [name for name in names_in(default_folder()) if name.startswith(incomplete)]
    return []


def session_ids(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The recorded conversations, the last one first, each with its first words."""
    from click.shell_completion import CompletionItem

    from sliphook.agent.transcripts.store import TranscriptError, Transcripts, default_file
    from sliphook.quoting import quote

    with suppress(OSError, RuntimeError, TranscriptError):
        if default_file().exists():  # a look must not create the file
            with Transcripts.open(default_file()) as transcripts:
                rows = [
                    row for row in transcripts.sessions() if row.session_id.startswith(incomplete)
                ]
            return [
                CompletionItem(row.session_id, help=quote(row.prompt, 60))
                for row in rows
                if row.session_id.isprintable()
            ]
    return []


def model_names(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The scripted model and the providers of the settings; files, if none fits."""
    from click.shell_completion import CompletionItem

    from sliphook.files.toml import TomlError
    from sliphook.settings import SCRIPTED, read_settings

    names = [SCRIPTED]
    with suppress(OSError, RuntimeError, TomlError):
        names += read_settings().providers
    fitting = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return fitting or [CompletionItem(incomplete, type="file")]


def event_names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The hooks and events. Case does not matter, and `-` may stand for `_`."""
    from sliphook_sdk.protocol import CATALOGUE

    return [name for name in CATALOGUE if name.startswith(incomplete.lower().replace("-", "_"))]
