"""`sliphook sessions`: lists, shows and removes recorded conversations."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from typing import Final

import click
import msgspec

from sliphook.agent.transcripts.store import (
    Line,
    SessionRow,
    TranscriptError,
    Transcripts,
    default_file,
)
from sliphook.quoting import quote
from sliphook_sdk.protocol import Message

from .common import EXIT_OK, Failed, json_option, print_json
from .completion import session_ids

_PROMPT_CHARS: Final = 60
_LINE_CHARS: Final = 10_000
_NOTES: Final = {
    "whole": "",
    "interrupted": ", interrupted",
    "abandoned": ", did not count: the model was asked again",
}


@click.group("sessions", invoke_without_command=True)
@json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> int:
    """List the recorded conversations, the last one first.

    The beginning of an ID is enough. `sliphook chat --resume ID` continues a conversation.
    """
    if context.invoked_subcommand is not None:
        return EXIT_OK
    with _transcripts() as transcripts:
        rows = transcripts.sessions() if transcripts is not None else []
    if as_json:
        print_json(rows)
    elif not rows:
        click.echo("no conversation has been recorded yet")
    else:
        click.echo(_table(rows))
    return EXIT_OK


@command.command("show")
@click.argument("session_id", metavar="ID", shell_complete=session_ids)
@json_option
def show(session_id: str, as_json: bool) -> int:
    """Print the conversation ID."""
    with _transcripts() as transcripts:
        row = _find(transcripts, session_id)
        lines = transcripts.lines(row.session_id) if transcripts is not None else []
    if as_json:
        print_json({"session": row, "lines": lines})
    else:
        click.echo("\n\n".join([_head(row), *(_page(line) for line in lines)]))
    return EXIT_OK


@command.command("remove")
@click.argument("session_id", metavar="ID", shell_complete=session_ids)
def remove(session_id: str) -> int:
    """Remove the conversation ID for good."""
    with _transcripts() as transcripts:
        row = _find(transcripts, session_id)
        if transcripts is not None:
            transcripts.remove(row.session_id)
    click.echo(f"removed {_shown(row.session_id)}: {_shown(row.prompt, _PROMPT_CHARS)}")
    return EXIT_OK


@contextmanager
def _transcripts() -> Generator[Transcripts | None]:
    """The transcripts, or None if there is no file: a look must not create it."""
    path = default_file()
    try:
        if not path.exists():
            yield None
            return
        with Transcripts.open(path) as transcripts:
            yield transcripts
    except TranscriptError as error:
        raise Failed(quote(str(error), 500)) from None
    except OSError as error:
        raise Failed(f"cannot read the transcripts in {path}: {error.strerror or error}") from None


def _find(transcripts: Transcripts | None, session_id: str) -> SessionRow:
    if transcripts is None:
        raise Failed("no conversation has been recorded yet")
    return transcripts.find(session_id)


def _table(rows: list[SessionRow]) -> str:
    cells = [("ID", "LAST", "PLATFORM", "MODEL", "MESSAGES", "PROMPT")]
    for row in rows:
        prompt = _shown(" ".join(row.prompt.split()), _PROMPT_CHARS)
        cells.append(
            (
                _shown(row.session_id),
                _when(row.last_at),
                _shown(row.platform),
                _shown(row.model),
                str(row.messages),
                prompt,
            )
        )
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )


def _head(row: SessionRow) -> str:
    about = (
        ("model", row.model),
        ("platform", row.platform),
        ("key", row.session_key),
        ("in", row.cwd),
    )
    ended = (
        f"ended {_when(row.ended_at)} ({_shown(row.end_reason)})" if row.ended_at else "not ended"
    )
    return ", ".join(
        [
            f"session {_shown(row.session_id)}",
            *(f"{word} {_shown(value)}" for word, value in about if value),
            ended,
        ]
    )


def _page(line: Line) -> str:
    message = line.message
    lines = message.content.split("\n") if message.content else []
    # `quote` would show a tab as an escape, which spoils indented code
    text = [f"  {_shown(each.expandtabs(4), _LINE_CHARS)}" for each in lines]
    calls = [
        f"  calls {_shown(call.name)} {_shown(msgspec.json.encode(call.arguments).decode())}"
        for call in message.tool_calls or ()
    ]
    return "\n".join([f"{_who(message)}, {_when(line.at)}{_NOTES[line.state]}", *text, *calls])


def _who(message: Message) -> str:
    return (
        f"result of {_shown(message.call_id)}" if message.role == "tool" else _shown(message.role)
    )


def _shown(text: str | None, limit: int = 200) -> str:
    return quote(text, limit) if text is not None else "-"


def _when(stamp: str) -> str:
    """A time stamp in the user's time zone."""
    try:
        return datetime.fromisoformat(stamp).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return _shown(stamp)
