"""The configuration of an agent: our hooks are written into it and taken out, nothing else."""

from __future__ import annotations

import difflib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from sliphook.adapters.dialects.dialect import Dialect
from sliphook.errors import SliphookError
from sliphook.files.atomic import write_atomically
from sliphook.files.ownership import why_unsafe
from sliphook.files.private import make_private_folder
from sliphook.quoting import quote

from .build import Client
from .request import ANSWER_S

MAX_CONFIG_BYTES: Final = 4 * 1024 * 1024
_MARK: Final = "/sliphook/attached/"
"""In every command of ours, and in no other: the client's place in the data folder."""
_LATER_S: Final = 5.0
"""The agent waits longer than the client, which then denies in its place."""


class ConfigError(SliphookError):
    """The agent's configuration cannot be changed. str() is one line."""


class Change(msgspec.Struct, frozen=True):
    """What is to be written.

    Attributes:
        path: the file.
        old: its text; None if there is none.
        new: the text that it gets.
    """

    path: Path
    old: str | None
    new: str

    @property
    def diff(self) -> str:
        """For people; empty if nothing changes."""
        name = str(self.path)
        lines = difflib.unified_diff(
            (self.old or "").splitlines(), self.new.splitlines(), name, name, lineterm=""
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
    old, document = _read(path)
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
    return Change(path, old, _written(document, old))


def detached(path: Path) -> Change:
    """The file without our hooks.

    Raises:
        ConfigError: as `attached`.
    """
    old, document = _read(path)
    taken = _take_out(document)
    return Change(path, old, _written(document, old) if taken else old or "")


def written_events(path: Path) -> dict[str, str]:
    """Our commands in the file, by event.

    Raises:
        ConfigError: as `attached`.
    """
    _, document = _read(path)
    return {
        event: command
        for event, items in _lists(document).items()
        for item in items
        for command in _commands(item)
        if _MARK in command
    }


def write(change: Change) -> Path | None:
    """Write it; returns the copy of what was there, which is kept beside it.

    Raises:
        ConfigError: the file has changed meanwhile.
        OSError: it cannot be written; the old one is as it was.
    """
    make_private_folder(change.path.parent)
    now, _ = _read(change.path)
    if now != change.old:
        raise ConfigError(f"{quote(str(change.path))} has changed meanwhile; try again")
    backup: Path | None = None
    mode = 0o600
    if change.old is not None:
        backup = change.path.with_name(f"{change.path.name}.before-sliphook")
        write_atomically(backup, change.old)
        mode = stat.S_IMODE(change.path.stat().st_mode)
    write_atomically(change.path, change.new)
    change.path.chmod(mode)
    return backup


def _read(path: Path) -> tuple[str | None, dict[str, Any]]:
    shown = quote(str(path), 200)
    if path.is_symlink():
        raise ConfigError(f"{shown} is a link; use --print, and write the hooks by hand")
    if (why := why_unsafe(path)) is not None:
        raise ConfigError(f"{shown} is not changed: {why}")
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise ConfigError(f"{shown} is over {MAX_CONFIG_BYTES // 2**20} MiB")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None, {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{shown} cannot be read: {quote(str(error), 200)}") from None
    try:
        document = json.loads(text or "{}")
    except (ValueError, RecursionError):
        raise ConfigError(f"{shown} is no JSON; use --print, and write the hooks by hand") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{shown} is no JSON object")
    found = cast("dict[str, Any]", document)
    if not isinstance(found.get("hooks", {}), dict):
        raise ConfigError(f"{shown} has no hooks as its agent reads them")
    return text, found


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
    return bool(commands) and all(_MARK in command for command in commands)


def _written(document: dict[str, Any], old: str | None) -> str:
    """As the file was laid out: its indent, and a line's end at its end."""
    second = (old or "").splitlines()[1:2]
    indent = second[0][: len(second[0]) - len(second[0].lstrip())] if second else ""
    end = "\n" if old is None or old.endswith("\n") else ""
    return json.dumps(document, indent=indent or 2, ensure_ascii=False) + end
