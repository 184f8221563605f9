"""The command of an MCP server as a user gives it: found, made absolute, and named."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from sliphook.files.search_path import which
from sliphook.process.diagnosis import why_not_startable
from sliphook.quoting import quote
from sliphook_sdk.protocol import why_no_plugin_name

from .errors import RegistryError
from .made import Made, approve

_INTERPRETER: Final = re.compile(
    r"(python|pypy|node|bun|deno|ruby|perl|php|sh|bash|dash|zsh)[\d.]*t?"
)
_LAUNCHER: Final = re.compile(r"npx|bunx|uvx|uv|pipx|pnpm|yarn|npm|docker|podman|env")
_ACTION: Final = frozenset({"run", "exec", "dlx", "x", "tool"})


def made_of_command(words: Sequence[str], folder: Path) -> Made:
    """What the user approves with the command of an MCP server: its executable and its script.

    A server runs in its own data folder, so `.`, `./X` and `../X` are made absolute, and so is the
    script of an interpreter.

    Args:
        words: the command and its arguments.
        folder: where relative paths begin.

    Raises:
        RegistryError: it cannot be started, or another user could change it.
    """
    if not words or not words[0]:
        raise RegistryError("there is no command for the MCP server")
    program = Path(_program(words[0], folder))
    why = why_not_startable(program)
    if why is not None:
        raise RegistryError(why)
    arguments = [_absolute(word, folder) for word in words[1:]]
    files = [program]
    if _INTERPRETER.fullmatch(program.name):
        for at, word in enumerate(arguments):
            script = folder / word
            if not word.startswith("-") and script.is_file():
                arguments[at] = str(script)
                files.append(script)
                break
    return Made(kind="mcp", words=[str(program), *arguments], files=approve(files))


def name_of_command(words: Sequence[str]) -> str:
    """A plugin's name for the server of a command: of what it runs, without path and version."""
    for word in _said(words):
        base = word.rstrip("/").rpartition("/")[2].partition("@")[0]
        name = re.sub(r"[^a-z0-9_-]+", "-", re.sub(r"\.\w+$", "", base).lower()).strip("-_")[:50]
        if name:
            return name if why_no_plugin_name(name) is None else f"{name}-server"
    return "mcp-server"


def _said(words: Sequence[str]) -> Iterator[str]:
    """The words that may name the server, the likeliest first."""
    plain = [word for word in words if not word.startswith("-")]
    skipped = True
    for at, word in enumerate(plain):
        base = os.path.basename(word)
        known = _INTERPRETER.fullmatch(base) if at == 0 else word in _ACTION
        skipped = skipped and bool(known or (at == 0 and _LAUNCHER.fullmatch(base)))
        if not skipped:
            yield word
    yield from plain


def _program(word: str, folder: Path) -> str:
    if "/" in word:
        return os.path.abspath(folder / word)
    found = which(word)
    if found is None:
        raise RegistryError(f"there is no {quote(word, 80)} on PATH")
    return os.path.abspath(found)


def _absolute(word: str, folder: Path) -> str:
    if word in (".", "..") or word.startswith(("./", "../")):
        return os.path.abspath(folder / word)
    return word
