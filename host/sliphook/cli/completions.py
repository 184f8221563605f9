"""What a shell offers behind TAB for names.

Nothing here may fail or be slow: a person is in the middle of typing.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from sliphook.files import paths

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

__all__ = ["event_names", "installable", "plugin_names", "session_ids"]


def plugin_names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The installed plugins.

    By the names of their files alone, which are not opened: a broken one is to be repaired by its
    name too.
    """
    from sliphook_sdk.protocol import NAME_PATTERNS

    with suppress(OSError):  # no folder, or no home at all
        stems = sorted(
            file.stem
            for file in paths.plugin_files().glob("*.toml")
            if file.stem.startswith(incomplete)
        )
        return [
            stem for stem in stems if re.fullmatch(NAME_PATTERNS["plugin"], stem)
        ]  # no command takes another
    return []


def installable(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The plugins on PATH by their names; what looks like a path, or like none of them, is a file."""
    from click.shell_completion import CompletionItem

    from sliphook.registry.executables import available

    names = (
        []
        if incomplete.startswith((".", "/", "~"))
        else [name for name in available() if name.startswith(incomplete)]
    )
    return [CompletionItem(name) for name in names] or [CompletionItem(incomplete, type="file")]


def session_ids(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The conversations that were recorded, the last one first, each with the words it began with."""
    from click.shell_completion import CompletionItem

    from sliphook.agent.transcripts.store import TranscriptError, Transcripts, default_file
    from sliphook.quoting import quote

    with suppress(OSError, RuntimeError, TranscriptError):
        if default_file().exists():  # looking makes no file
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


def event_names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The hooks and events, as the command line reads them: case does not matter, and `-` may stand for `_`."""
    from sliphook_sdk.protocol import CATALOGUE

    return [name for name in CATALOGUE if name.startswith(incomplete.lower().replace("-", "_"))]
