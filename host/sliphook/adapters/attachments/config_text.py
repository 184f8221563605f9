"""The text of an agent's configuration: read, kept beside itself, and written again."""

from __future__ import annotations

import difflib
import json
import re
import stat
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from sliphook.adapters.dialects.reading import loads_finite
from sliphook.errors import SliphookError
from sliphook.files.atomic import write_atomically
from sliphook.files.ownership import why_unsafe
from sliphook.files.private import make_private_folder
from sliphook.quoting import quote

MAX_CONFIG_BYTES: Final = 4 * 1024 * 1024
SERVER_MARK: Final = re.compile(r'"sliphook",\s*"mcp",\s*"--agent"')
"""In the text of a file with our MCP server, in JSON and in TOML."""
_INDENT: Final = re.compile(r"\s*\{\r?\n([ \t]+)")


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


def copy_of(path: Path) -> Path:
    """Where the text of the file without anything of ours is kept."""
    return path.with_name(f"{path.name}.before-sliphook")


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
    """The text of an agent's configuration, with the ends of its lines; None if there is none.

    Raises:
        ConfigError: the file cannot be read, or others could change it.
    """
    shown = quote(str(path), 200)
    if path.is_symlink():
        raise ConfigError(f"{shown} is a link")
    if (why := why_unsafe(path)) is not None:
        raise ConfigError(f"{shown} is not changed: {why}")
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            raise ConfigError(f"{shown} is no file")
        if info.st_size > MAX_CONFIG_BYTES:
            raise ConfigError(f"{shown} is over {MAX_CONFIG_BYTES // 2**20} MiB")
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{shown} cannot be read: {quote(str(error), 200)}") from None


def document_of(path: Path, text: str | None, member: str) -> dict[str, Any]:
    """What is in the text of a file in JSON; `member` of it is an object, or missing.

    Raises:
        ConfigError: it is no such JSON.
    """
    shown = quote(str(path), 200)
    try:
        document = loads_finite(text or "{}", _without_doubles)
    except _Doubled as error:
        raise ConfigError(f"{shown} has {quote(str(error), 80)} twice in one object") from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{shown} is no JSON that can be kept") from None
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


def written(document: dict[str, Any], old: str | None) -> str:
    """The JSON as the file was laid out: its indent, and the ends of its lines."""
    found = _INDENT.match(old or "")
    indent = found[1] if found is not None else 2
    end = "\n" if old is None or old.endswith("\n") else ""
    text = json.dumps(document, indent=indent, ensure_ascii=False) + end
    if any("\ud800" <= char <= "\udfff" for char in text):  # half a character, which was an escape
        text = json.dumps(document, indent=indent) + end
    return with_line_ends(text, old)


def with_line_ends(text: str, old: str | None) -> str:
    """The text with the line ends of the old one. In JSON no value has one of its own."""
    return text.replace("\n", "\r\n") if "\r\n" in (old or "") else text
