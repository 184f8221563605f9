"""`sliphook new`: a small plugin that works, to begin with."""

from __future__ import annotations

import os
import re
import shutil
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple

import click

from .common import EXIT_OK, Failed

_MARK: Final = "@NAME@"


class _Language(NamedTuple):
    """How a language's file ends, how it is built ({} is the name), and what it subscribes to."""

    suffix: str
    build: str = ""
    fires: str = "pre_tool_call"
    payload: str = """ --payload '{"tool_name": "shell", "arguments": {"command": "rm -rf build"}}'"""


_LANGUAGES: Final = {
    "python": _Language(".py"),
    "node": _Language(".mjs"),
    "sh": _Language(".sh"),
    "c": _Language(".c", "cc -O2 -o {0} {0}.c"),
    "rust": _Language(".rs", "rustc -O -o {0} {0}.rs", "stop", ""),
}


@click.command("new")
@click.argument("name")
@click.option("--lang", "language", type=click.Choice(list(_LANGUAGES)), default="python", show_default=True, help="The language.")
def command(name: str, language: str) -> int:
    """Write a plugin called NAME into the current folder: one file that works, and passes `sliphook check`.

    In Python it uses the SDK, in the other languages nothing but what the language brings along.
    """
    from sliphook_sdk.protocol import NAME_PATTERNS

    if re.fullmatch(NAME_PATTERNS["plugin"], name) is None:
        raise click.UsageError(f"{name!r} cannot be a plugin's name: names are {NAME_PATTERNS['plugin']}")
    chosen = _LANGUAGES[language]
    path = Path(name + chosen.suffix)
    text = resources.files("sliphook").joinpath("templates", f"{language}.txt").read_text(encoding="utf-8").replace(_MARK, name)
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
            if not chosen.build:
                os.fchmod(file.fileno(), 0o755)
    except FileExistsError:
        raise Failed(f"{path} is there already; choose another name, or move it away") from None
    except OSError as error:
        raise Failed(f"cannot write {path}: {error.strerror or error}") from None
    runs = f"./{name if chosen.build else path}"
    click.echo(f"wrote {path}")
    click.echo("\nTry it:")
    for line in (chosen.build.format(name), f"sliphook check {runs}", f"sliphook fire {chosen.fires}{chosen.payload} --plugin {runs}"):
        if line:
            click.echo(f"  {line}")
    tool = chosen.build.split(" ")[0] if chosen.build else {"python": "python3"}.get(language, language)
    if shutil.which(tool) is None:
        click.echo(f"\nIt needs {tool}, which is not on PATH.")
    return EXIT_OK
