"""`sliphook logs`: what a plugin wrote to its log, and what the host says of it."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import deque
from datetime import datetime
from io import BufferedReader
from pathlib import Path
from typing import Final

import click

from sliphook.cli.colours import coloured
from sliphook.cli.common import EXIT_OK, Failed, comment, did_you_mean
from sliphook.cli.completion import log_names
from sliphook.files.regular import open_regular
from sliphook.process.log_files import default_folder, files_of, names_in
from sliphook.quoting import quote

_LINE_CHARS: Final = 8_000
_PIECE_BYTES: Final = 64 * 1024
_POLL_S: Final = 0.2
_COLOURS: Final = {"error": "red", "warning": "yellow", "stderr": "cyan", "debug": "bright_black"}


@click.command("logs")
@click.argument("name", required=False, shell_complete=log_names)
@click.option("-f", "--follow", is_flag=True, help="Go on with what is added, until Ctrl+C.")
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(0),
    default=100,
    show_default=True,
    metavar="N",
    help="Begin with the last N lines.",
)
def command(name: str | None, follow: bool, lines: int) -> int:
    """Show the log of the plugin NAME; without NAME, which logs there are.

    It has what the plugin logs and writes to stderr, also by `print` in the Python SDK, and what
    the host says of it: why it did not start, what it did wrong. Each line says when, which
    process of an agent wrote it, whose words they are (plugin or host), and the level.

    A plugin of --plugin has a log too, by the name of its file.
    """
    folder = default_folder()
    try:
        names = names_in(folder)
        if name is None:
            _list(folder, names)
            return EXIT_OK
        if name not in names:
            there = f"there are: {', '.join(names)}" if names else "no plugin has written one yet"
            hint = did_you_mean(name, names, there)
            raise Failed(f"there is no log of {quote(name, 80)}; {hint}")
        comment(quote(str(folder / f"{name}.log"), 4_096))
        *older, newest = files_of(folder, name)
        with newest.open("rb") as file:
            _show(_last_lines(older, file, lines))
            if follow:
                with contextlib.suppress(KeyboardInterrupt):  # the way out that its help names
                    _follow(newest, file)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise Failed(f"the logs in {folder} cannot be read: {error.strerror or error}") from None
    return EXIT_OK


def _list(folder: Path, names: list[str]) -> None:
    if not names:
        click.echo(f"there are no logs in {folder} yet")
    for name in names:
        parts = [path.stat() for path in files_of(folder, name)]
        when = datetime.fromtimestamp(parts[-1].st_mtime).strftime("%Y-%m-%d %H:%M:%S")
        click.echo(f"{when}  {sum(part.st_size for part in parts):>10,} bytes  {name}")


def _last_lines(older: list[Path], newest: BufferedReader, count: int) -> list[bytes]:
    """The last lines of a log; the parts together are bounded by the rotation."""
    last = deque[bytes](maxlen=count)
    for part in older:
        with contextlib.suppress(FileNotFoundError), part.open("rb") as file:  # rotated meanwhile
            last.extend(file)
    last.extend(newest)
    return list(last)


def _show(lines: list[bytes]) -> None:
    for line in lines:
        text = quote(line.rstrip(b"\n"), _LINE_CHARS)
        words = text.split(" ", 4)  # TIME PID WHOSE LEVEL: MESSAGE
        level = words[3].rstrip(":") if len(words) > 4 else ""
        click.echo(coloured(text, _COLOURS.get(level)))


def _follow(path: Path, file: BufferedReader) -> None:
    """Show the lines that are added to the file, and to those that take its name."""
    rest = b""
    while True:
        while piece := file.read(_PIECE_BYTES):
            *whole, rest = (rest + piece).split(b"\n")
            _show(whole)
        sys.stdout.flush()
        time.sleep(_POLL_S)
        with contextlib.suppress(FileNotFoundError):
            if not os.path.samestat(os.stat(path), os.fstat(file.fileno())) and not file.peek(1):
                file.close()
                file = open(path, "rb", opener=open_regular)  # noqa: SIM115 - open to the end
