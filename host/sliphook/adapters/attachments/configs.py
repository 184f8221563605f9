"""The configuration of an agent: our hooks are written into it and taken out, nothing else."""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from sliphook.adapters.attached.build import Client
from sliphook.adapters.attached.request import ANSWER_S
from sliphook.adapters.dialects.dialect import Dialect
from sliphook.errors import SliphookError
from sliphook.files.atomic import write_atomically
from sliphook.files.ownership import why_unsafe
from sliphook.files.private import make_private_folder
from sliphook.quoting import quote

MAX_CONFIG_BYTES: Final = 4 * 1024 * 1024
MARK: Final = "/sliphook/attached/"
"""In every command of ours, and in no other: the client's place in the data folder."""
SERVER_MARK: Final = re.compile(r'"sliphook",\s*"mcp",\s*"--agent"')
"""In the text of a file with our MCP server, in JSON and in TOML."""
_LATER_S: Final = 5.0
"""The agent waits longer than the client, which then denies in its place."""


class ConfigError(SliphookError):
    """The agent's configuration cannot be changed. str() is one line."""


class Change(msgspec.Struct, frozen=True):
    """What is to be written.

    Attributes:
        path: the file.
        old: its text; None if there is none.
        new: the text that it gets; None: it is removed.
    """

    path: Path
    old: str | None
    new: str | None

    @property
    def diff(self) -> str:
        """For people; empty if nothing changes."""
        name = str(self.path)
        lines = difflib.unified_diff(
            (self.old or "").splitlines(), (self.new or "").splitlines(), name, name, lineterm=""
        )
        return "\n".join(lines)


def config_file(dialect: Dialect, *, project: Path | None = None) -> Path:
    """Where the agent reads hooks: the user's file, or a project's.

    Raises:
        ConfigError: the agent runs no hooks of a project.
    """
    config = dialect.config
    if project is not None:
        if config.project is None:
            raise ConfigError(f"{dialect.title} runs no hooks of a project, as far as is known")
        return project / config.project
    folder = os.environ.get(config.folder_variable or "", "")
    return Path(folder) / Path(config.user).name if folder else Path.home() / config.user


def attached(
    dialect: Dialect, path: Path, client: Client, events: Sequence[str], closed: Sequence[str]
) -> Change:
    """Our hooks for these events, in place of what we wrote before.

    Raises:
        ConfigError: the file cannot be read, is no JSON, or others could change it.
    """
    old, document = read_config(path)
    _take_out(document)
    if old is None:
        document = {**dialect.config.first, **document}
    hooks = document.setdefault("hooks", {})
    for event in events:
        item = dialect.config.hook(
            event,
            client.command(dialect.name, event, closed=event in closed),
            timeout_s=ANSWER_S + _LATER_S,
            closed=event in closed,
        )
        hooks.setdefault(event, []).append(item)
    return Change(path, old, written(document, old))


def detached(dialect: Dialect, path: Path) -> Change:
    """The file without our hooks: to the byte as it was, if nothing else has changed since.

    Raises:
        ConfigError: as `attached`.
    """
    old, document = read_config(path)
    if not _take_out(document):
        return Change(path, old, old)
    before = kept(path)
    if before is not None and _same(before, document):
        return Change(path, old, before)
    # without a copy of an older file there was none
    made = before is None and _same(json.dumps(dialect.config.first), document)
    return Change(path, old, None if made else written(document, old))


def copy_of(path: Path) -> Path:
    """Where the text of the file without anything of ours is kept."""
    return path.with_name(f"{path.name}.before-sliphook")


def _same(text: str, document: dict[str, Any]) -> bool:
    # as texts: the order counts, and 1 is not 1.0
    try:
        return json.dumps(json.loads(text or "{}")) == json.dumps(document)
    except (ValueError, RecursionError):  # a copy that was changed
        return False


class HookLine(msgspec.Struct, frozen=True):
    """One hook of ours in a file.

    Attributes:
        event: the agent's name of the event.
        words: the command: the client, the agent, the event, `--closed`.
        place: which item of the event's list it is in, and which of its handlers it is; from 0.
        handler: all of its fields.
        matcher: of its group; None if there is none.
    """

    event: str
    words: tuple[str, ...]
    place: tuple[int, int]
    handler: dict[str, Any]
    matcher: str | None

    @property
    def closed(self) -> bool:
        """It denies if no plugin can be asked."""
        return "--closed" in self.words


def lines(document: Mapping[str, Any]) -> list[HookLine]:
    """Our hooks in a document of `read_config`."""
    return [
        HookLine(event, tuple(words), (at, inner), handler, matcher)
        for event, items in _lists(document).items()
        for at, item in enumerate(items)
        for inner, (handler, matcher) in enumerate(_handlers(item))
        for command in _commands(handler)
        if MARK in command and (words := _words(command))
    ]


def _handlers(item: Any) -> list[tuple[dict[str, Any], str | None]]:
    """The handlers of a group, with its matcher, or the one that the item is."""
    if not isinstance(item, dict):
        return []
    fields = cast("dict[str, Any]", item)
    if not isinstance(fields.get("hooks"), list):
        return [(fields, None)]
    matcher = fields.get("matcher")
    return [
        (cast("dict[str, Any]", one), matcher if isinstance(matcher, str) else None)
        for one in fields["hooks"]
        if isinstance(one, dict)
    ]


def _words(command: str) -> list[str]:
    """The program and its arguments; empty if it is none."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    return words[1:] if words[:1] == ["exec"] else words


def write(change: Change) -> Path | None:
    """Write our hooks, or what is left without them; see `put`."""
    document = document_of(change.path, change.old, "hooks")
    return put(change, has_ours=bool(lines(document)))


def put(change: Change, *, has_ours: bool) -> Path | None:
    """Write a change; returns the copy of what was there without anything of ours, if it is new.

    Args:
        change: what is to be written.
        has_ours: something of ours of the caller's kind stands in the old text already.

    Raises:
        ConfigError: the file has changed meanwhile.
        OSError: it cannot be written; the old one is as it was.
    """
    path, copy = change.path, copy_of(change.path)
    make_private_folder(path.parent)
    if read_text(path) != change.old:
        raise ConfigError(f"{quote(str(path))} has changed meanwhile; try again")
    if change.new is None:
        path.unlink(missing_ok=True)
        return None
    mode = 0o600 if change.old is None else stat.S_IMODE(path.stat().st_mode)
    # one file may have both our hooks and our server
    is_theirs = change.old is not None and not has_ours and not SERVER_MARK.search(change.old)
    if is_theirs:
        write_atomically(copy, change.old or "")
        copy.chmod(mode)
    write_atomically(path, change.new)
    path.chmod(mode)
    if not is_theirs and kept(path) == change.new:
        copy.unlink()
    return copy if is_theirs else None


def kept(path: Path) -> str | None:
    """The text of the copy that `put` has kept; None if there is none that can be read."""
    try:
        return read_text(copy_of(path))
    except ConfigError:
        return None


def read_text(path: Path) -> str | None:
    """The text of an agent's configuration; None if there is none.

    Raises:
        ConfigError: the file cannot be read, or others could change it.
    """
    shown = quote(str(path), 200)
    if path.is_symlink():
        raise ConfigError(f"{shown} is a link; use --print, and write it by hand")
    if (why := why_unsafe(path)) is not None:
        raise ConfigError(f"{shown} is not changed: {why}")
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise ConfigError(f"{shown} is over {MAX_CONFIG_BYTES // 2**20} MiB")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{shown} cannot be read: {quote(str(error), 200)}") from None


def read_config(path: Path) -> tuple[str | None, dict[str, Any]]:
    """The text of an agent's configuration, None if there is none, and what is in it.

    Raises:
        ConfigError: as `attached`.
    """
    text = read_text(path)
    return text, document_of(path, text, "hooks")


def document_of(path: Path, text: str | None, member: str) -> dict[str, Any]:
    """What is in the text of a file in JSON; `member` of it is an object, or missing.

    Raises:
        ConfigError: it is no such JSON.
    """
    shown = quote(str(path), 200)
    try:
        document = json.loads(text or "{}", object_pairs_hook=_without_doubles)
    except _Doubled as error:
        raise ConfigError(f"{shown} has {quote(str(error), 80)} twice in one object") from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{shown} is no JSON; use --print, and write it by hand") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{shown} is no JSON object")
    found = cast("dict[str, Any]", document)
    if not isinstance(found.get(member, {}), dict):
        raise ConfigError(f"{shown} has no {member} as its agent reads them")
    return found


class _Doubled(Exception):
    """A name stands twice in one object: to write the file anew would lose one."""


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Doubled(next(name for name in names if names.count(name) > 1))
    return found


def _lists(document: Mapping[str, Any]) -> dict[str, list[Any]]:
    hooks = cast("dict[str, Any]", document.get("hooks", {}))
    return {event: items for event, items in hooks.items() if isinstance(items, list)}


def _commands(item: Any) -> list[str]:
    """The commands of one item: of a group of handlers, or of a handler alone."""
    if not isinstance(item, dict):
        return []
    fields = cast("dict[str, Any]", item)
    inner: list[Any] = fields["hooks"] if isinstance(fields.get("hooks"), list) else []
    own = [value for value in (fields.get("command"), fields.get("bash")) if isinstance(value, str)]
    return own + [command for one in inner for command in _commands(one)]


def _take_out(document: dict[str, Any]) -> bool:
    """Remove our items, and the lists that are empty without them; whether there were any."""
    taken = False
    for event, items in _lists(document).items():
        left = [item for item in items if not _is_ours(item)]
        if len(left) == len(items):
            continue
        taken = True
        if left:
            document["hooks"][event] = left
        else:
            del document["hooks"][event]
    if taken and not document["hooks"]:
        del document["hooks"]
    return taken


def _is_ours(item: Any) -> bool:
    commands = _commands(item)
    return bool(commands) and all(MARK in command for command in commands)


def written(document: dict[str, Any], old: str | None) -> str:
    """The JSON as the file was laid out: its indent, and a line's end at its end."""
    second = (old or "").splitlines()[1:2]
    indent = second[0][: len(second[0]) - len(second[0].lstrip())] if second else ""
    end = "\n" if old is None or old.endswith("\n") else ""
    text = json.dumps(document, indent=indent or 2, ensure_ascii=False) + end
    if any("\ud800" <= char <= "\udfff" for char in text):  # half a character, which was an escape
        text = json.dumps(document, indent=indent or 2) + end
    return text
