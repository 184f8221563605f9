"""Our MCP server in the configuration of an agent: written and taken out, nothing else."""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, cast

from sliphook.adapters.dialects.dialect import Dialect
from sliphook.adapters.relayed.messages import SERVER
from sliphook.files.paths import user_home
from sliphook.quoting import quote

from .config_text import (
    Change,
    ConfigError,
    document_of,
    kept,
    put,
    read_text,
    with_line_ends,
    written,
)
from .configs import MARK

_VARIABLES: Final = ("XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
"""Where the session's daemon is, and what is installed."""


def server_file(dialect: Dialect, *, project: Path | None = None) -> Path:
    """Where the agent reads MCP servers: the user's file, or a project's.

    Raises:
        ConfigError: it is not known where the agent reads those of a project.
    """
    config = dialect.server
    if project is not None:
        if config.project is None:
            raise ConfigError(f"it is not known where {dialect.title} has servers of a project")
        return project / config.project
    folder = os.environ.get(config.folder_variable or "", "")
    return Path(folder) / Path(config.user).name if folder else user_home() / config.user


def server_words(dialect: Dialect) -> list[str]:
    """The command of our server."""
    return [sys.executable, "-I", "-m", "sliphook", "mcp", "--agent", dialect.name]


def server_entry(dialect: Dialect, granted: Iterable[str] = ()) -> dict[str, Any]:
    """Our server, as the agent's configuration has it.

    Args:
        dialect: the agent's.
        granted: the variables that the user has granted to plugins.
    """
    config = dialect.server
    command, *arguments = server_words(dialect)
    entry: dict[str, Any] = {**config.fields, "command": command, "args": arguments}
    if config.variables is not None:
        entry[config.variables] = list(dict.fromkeys([*_VARIABLES, *granted]))
    return entry


def server_in(dialect: Dialect, path: Path) -> dict[str, Any] | None:
    """Our server as it stands in the file, or None.

    Raises:
        ConfigError: the file cannot be read, or has a server of this name that is not ours.
    """
    text, name = read_text(path), dialect.server.servers
    is_toml = path.suffix == ".toml"
    document = _parsed(path, text or "") if is_toml else document_of(path, text, name)
    servers: Any = document.get(name, {})
    if not isinstance(servers, dict):
        return None
    _refuse_foreign(path, servers)
    return cast("dict[str, Any]", servers).get(SERVER)


def attached(dialect: Dialect, path: Path, granted: Iterable[str] = ()) -> Change:
    """Our server in the file, in place of what we wrote before.

    Args:
        dialect: the agent's.
        path: the file.
        granted: the variables that the user has granted to plugins.

    Raises:
        ConfigError: the file cannot be read, or has a server of this name that is not ours.
    """
    old = read_text(path)
    return Change(path, old, with_server(dialect, path, old, granted))


def by_hand(dialect: Dialect, path: Path, granted: Iterable[str] = ()) -> Change:
    """Our server alone, for a file that is not changed by us."""
    return Change(path, None, with_server(dialect, path, None, granted))


def detached(dialect: Dialect, path: Path) -> Change:
    """The file without our server: to the byte as it was, if nothing else has changed since.

    Raises:
        ConfigError: as `attached`.
    """
    old = read_text(path)
    return Change(path, old, without_server(dialect, path, old, kept(path)))


def write(change: Change) -> Path | None:
    """Write our server, or what is left without it; see `put`."""
    return put(change, has_ours=MARK in (change.old or ""))


def with_server(dialect: Dialect, path: Path, text: str | None, granted: Iterable[str] = ()) -> str:
    """The text of the file with our server, in place of what we wrote before.

    Args:
        dialect: the agent's.
        path: the file.
        text: what is in it; None if there is none.
        granted: the variables that the user has granted to plugins.

    Raises:
        ConfigError: the text cannot be read, or has a server of this name that is not ours.
    """
    config = dialect.server
    entry = server_entry(dialect, granted)
    if path.suffix == ".toml":
        before = _without_table(dialect, path, text or "")
        block = [f"[{config.servers}.{SERVER}]", *(f"{k} = {_toml(v)}" for k, v in entry.items())]
        end = with_line_ends("\n", before)
        front = "".join([before.rstrip("\r\n"), end, end]) if before.strip() else ""
        new = front + "".join(f"{line}{end}" for line in block)
        _check(path, before, new, config.servers, entry)
        return new
    document = document_of(path, text, config.servers)
    _refuse_foreign(path, document.get(config.servers, {}))
    document.setdefault(config.servers, {})[SERVER] = entry
    return written(document, text)


def without_server(
    dialect: Dialect, path: Path, text: str | None, before: str | None = None
) -> str | None:
    """The text of the file without our server.

    Args:
        dialect: the agent's.
        path: the file.
        text: what is in it; None if there is none.
        before: what was in it before we wrote anything; None: there was no file.

    Returns:
        None if there is to be no file: nothing is left in one that we have made.

    Raises:
        ConfigError: as `with_server`.
    """
    name = dialect.server.servers
    if text is None:
        return None
    if path.suffix == ".toml":
        left = _without_table(dialect, path, text)
        if before is None:
            return left or None
        return before if left.strip() == before.strip() else left
    document = document_of(path, text, name)
    servers = document.get(name, {})
    if not _is_ours(servers.get(SERVER)):
        return text
    del servers[SERVER]
    old = document_of(path, before, name)
    if not servers and name not in old:
        del document[name]
    # as texts: the order counts, and 1 is not 1.0
    if before is not None and json.dumps(old) == json.dumps(document):
        return before
    return written(document, text) if document or before is not None else None


def _is_ours(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    words: Any = cast("dict[str, Any]", entry).get("args")
    return isinstance(words, list) and words[2:5] == ["sliphook", "mcp", "--agent"]


def _refuse_foreign(path: Path, servers: Any) -> None:
    if SERVER in servers and not _is_ours(servers[SERVER]):
        raise ConfigError(f"{quote(str(path), 200)} has another server called {SERVER}")


# -- TOML: no library of ours writes it, so a table is cut out or added as text, and then read


def _without_table(dialect: Dialect, path: Path, text: str) -> str:
    name = dialect.server.servers
    document = _servers(path, text, name)
    if SERVER not in document.get(name, {}):
        return text
    _refuse_foreign(path, document[name])
    head = re.escape(f"[{name}.{SERVER}]")
    found = re.search(rf"(?m)(?:^\r?\n)?^{head}[ \t]*\r?\n((?:(?!\[).*(?:\n|\Z))*)", text)
    new = text
    if found is not None:
        # what stands behind the last key may be a remark on the next table
        new = text[: found.start()] + _remarks_at_the_end(found[1]) + text[found.end() :]
    _check(path, new, text, name, document[name][SERVER])
    return new


def _remarks_at_the_end(text: str) -> str:
    """The last lines, as many as are empty or remarks; each has its end."""
    at = len(text)
    while text.endswith("\n", 0, at):
        begin = text.rfind("\n", 0, at - 1) + 1
        if text[begin:at].strip(" \t\r\n")[:1] not in ("", "#"):
            break
        at = begin
    return text[at:]


def _check(path: Path, without: str, with_it: str, name: str, entry: dict[str, Any]) -> None:
    """That our table is all that differs."""
    document = _servers(path, without, name)
    is_left = SERVER in document.get(name, {})
    document.setdefault(name, {})[SERVER] = entry
    try:
        differs = is_left or tomllib.loads(with_it) != document
    except (tomllib.TOMLDecodeError, RecursionError):
        differs = True
    if differs:
        raise ConfigError(f"{quote(str(path), 200)} could not be changed")


def _servers(path: Path, text: str, name: str) -> dict[str, Any]:
    """The whole document, in which the servers are a table, or missing."""
    document = _parsed(path, text)
    if not isinstance(document.get(name, {}), dict):
        raise ConfigError(f"{quote(str(path), 200)} has no {name} as its agent reads them")
    return document


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{quote(str(path), 200)} is no TOML: {quote(str(error), 100)}") from None


def _toml(value: Any) -> str:
    """Texts, numbers and lists of them are the same as in JSON."""
    return json.dumps(value)
