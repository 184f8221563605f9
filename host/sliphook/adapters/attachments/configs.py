"""The configuration of an agent: our hooks are written into it and taken out, nothing else."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from sliphook.adapters.attached.build import Client
from sliphook.adapters.attached.request import ANSWER_S
from sliphook.adapters.dialects.dialect import Dialect
from sliphook.files.paths import user_home
from sliphook.quoting import quote

from .config_text import Change, ConfigError, document_of, kept, put, read_text, written

MARK: Final = "/sliphook/attached/"
"""In every command of ours, and in no other: the client's place in the data folder."""
_LATER_S: Final = 5.0
"""The agent waits longer than the client, which then denies in its place."""


def config_file(dialect: Dialect, *, project: Path | None = None) -> Path:
    """Where the agent reads hooks: the user's file, or a project's.

    Raises:
        ConfigError: the agent runs no hooks of a project.
        OSError: the user's home is not known.
    """
    config = dialect.config
    if project is not None:
        if config.project is None:
            raise ConfigError(f"{dialect.title} runs no hooks of a project, as far as is known")
        return project / config.project
    folder = os.environ.get(config.folder_variable or "", "")
    return Path(folder) / Path(config.user).name if folder else user_home() / config.user


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
    for event, item in _items(dialect, client, events, closed):
        if not isinstance(hooks.setdefault(event, []), list):
            raise ConfigError(f"{quote(str(path), 200)} has no list of hooks for {event}")
        hooks[event].append(item)
    return Change(path, old, written(document, old))


def by_hand(
    dialect: Dialect, path: Path, client: Client, events: Sequence[str], closed: Sequence[str]
) -> Change:
    """Our hooks alone, for a file that is not changed by us."""
    hooks = {event: [item] for event, item in _items(dialect, client, events, closed)}
    return Change(path, None, written({**dialect.config.first, "hooks": hooks}, None))


def _items(
    dialect: Dialect, client: Client, events: Sequence[str], closed: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for event in events:
        yield (
            event,
            dialect.config.hook(
                event,
                client.command(dialect.name, event, closed=event in closed),
                timeout_s=ANSWER_S + _LATER_S,
                closed=event in closed,
            ),
        )


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


def read_config(path: Path) -> tuple[str | None, dict[str, Any]]:
    """The text of an agent's configuration, None if there is none, and what is in it.

    Raises:
        ConfigError: as `attached`.
    """
    text = read_text(path)
    return text, document_of(path, text, "hooks")


def _lists(document: Mapping[str, Any]) -> dict[str, list[Any]]:
    hooks = cast("dict[str, Any]", document.get("hooks", {}))
    return {event: items for event, items in hooks.items() if isinstance(items, list)}


def _commands(handler: Mapping[str, Any]) -> list[str]:
    found = (handler.get("command"), handler.get("bash"))
    return [command for command in found if isinstance(command, str)]


def _take_out(document: dict[str, Any]) -> bool:
    """Remove our handlers, and the groups and lists that are empty without them.

    Returns:
        Whether there were any.
    """
    taken = False
    for event, items in _lists(document).items():
        left = [one for item in items for one in _left(item)]
        if left == items:
            continue
        taken = True
        if left:
            document["hooks"][event] = left
        else:
            del document["hooks"][event]
    if taken and not document["hooks"]:
        del document["hooks"]
    return taken


def _left(item: Any) -> list[Any]:
    """The item without our handlers, to which the user may have added others; empty: ours alone."""
    ours = [handler for handler, _ in _handlers(item) if _is_ours(handler)]
    if not ours:
        return [item]
    if ours == [item]:
        return []
    handlers = [one for one in item["hooks"] if one not in ours]
    return [{**item, "hooks": handlers}] if handlers else []


def _is_ours(handler: Mapping[str, Any]) -> bool:
    return any(MARK in command for command in _commands(handler))
