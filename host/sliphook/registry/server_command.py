"""The command of an MCP server as a user gives it: found, made absolute, and named."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from sliphook.files.search_path import which
from sliphook.process.diagnosis import why_not_startable
from sliphook.process.environment import VARIABLE_NAME, why_not_granted
from sliphook.quoting import quote
from sliphook_sdk.protocol import why_no_plugin_name

from .errors import RegistryError
from .made import Made, approve

_INTERPRETER: Final = re.compile(
    r"(python|pypy|node|bun|deno|ruby|perl|php|sh|bash|dash|zsh)[\d.]*t?"
)
_LAUNCHER: Final = re.compile(r"npx|bunx|uvx|uv|pipx|pnpm|yarn|npm|docker|podman|env")
_ACTION: Final = frozenset({"run", "exec", "dlx", "x", "tool"})


_ADDRESS: Final = re.compile(r"https?://[^\s/?#@]+(/\S*)?")


def made_of_server(words: Sequence[str], folder: Path) -> Made:
    """What the user approves with an MCP server.

    Args:
        words: a command with its arguments, behind `NAME=VALUE` for variables of its own; or the
            address of a server elsewhere, and the variable that holds the token.
        folder: where relative paths begin.

    Raises:
        RegistryError: it cannot be started, or another user could change it.
    """
    if not words or not words[0].startswith(("http:", "https:")):
        return _made_of_command(words, folder)
    if not _ADDRESS.fullmatch(words[0]):
        raise RegistryError(
            f"{quote(words[0], 200)} is no address of an MCP server: it needs a host, and no login"
        )
    if len(words) > 2 or not all(map(VARIABLE_NAME.fullmatch, words[1:])):
        raise RegistryError(
            "behind the address stands only the name of the variable that holds the token"
        )
    return Made(kind="mcp", words=list(words))


def variables_of(made: Made) -> tuple[str, ...]:
    """The variables that the words name: of the token of a server elsewhere."""
    if made.kind != "mcp" or not _ADDRESS.fullmatch(made.words[0]):
        return ()
    return tuple(made.words[1:2])


def _made_of_command(given: Sequence[str], folder: Path) -> Made:
    """Its executable and its script are approved.

    A server runs in its own data folder, so `.`, `./X` and `../X` are made absolute, and so are the
    script of an interpreter and what names a file in the folder.
    """
    own = _own_variables(given)
    words = given[len(own) :]
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
            script = os.path.join(folder, word)
            if not word.startswith("-") and os.path.isfile(script):
                arguments[at] = script
                files.append(Path(script))
                break
    return Made(kind="mcp", words=[*own, str(program), *arguments], files=approve(files))


def name_of_command(words: Sequence[str]) -> str:
    """A plugin's name for the server of a command: of what it runs, without path and version."""
    if words and _ADDRESS.fullmatch(words[0]):
        words = [words[0].partition("://")[2].partition("/")[0]]
    for word in _said(words[len(_own_variables(words)) :]):
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


def _own_variables(words: Sequence[str]) -> list[str]:
    """The `NAME=VALUE` in front of a command."""
    own: list[str] = []
    for word in words:
        name, equals, _ = word.partition("=")
        if not equals or not VARIABLE_NAME.fullmatch(name):
            break
        if (why := why_not_granted(name)) is not None:
            raise RegistryError(why)
        own.append(word)
    return own


def _program(word: str, folder: Path) -> str:
    if "/" in word:
        return os.path.abspath(folder / word)
    found = which(word)
    if found is None:
        raise RegistryError(f"there is no {quote(word, 80)} on PATH")
    return os.path.abspath(found)


def _absolute(word: str, folder: Path) -> str:
    path = os.path.join(folder, word)
    is_relative = word in (".", "..") or word.startswith(("./", "../"))
    names_a_file = os.path.exists(path) if "/" in word else "." in word and os.path.isfile(path)
    return os.path.abspath(path) if is_relative or (names_a_file and path != word) else word
