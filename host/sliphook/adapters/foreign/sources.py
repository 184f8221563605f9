"""One configuration of hooks: found, recognised and read. Nothing of it is run here."""

from __future__ import annotations

import importlib
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from sliphook.adapters.dialects.hosted.handler import (
    Definitions,
    Handler,
    RefusedHook,
    canonical,
)
from sliphook.adapters.dialects.hosted.hosted import Hosted
from sliphook.adapters.dialects.hosted.known import SYSTEMS
from sliphook.adapters.dialects.hosted.matchers import BadMatcher, matcher
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.adapters.dialects.reading import WrongField
from sliphook.errors import SliphookError
from sliphook.files.ownership import why_unsafe
from sliphook.files.regular import open_regular
from sliphook.quoting import quote

MAX_FILES: Final = 64
MAX_BYTES: Final = 1024 * 1024
"""Of all files together."""
MAX_VALUES: Final = 50_000
"""Values of all files together; aliases of YAML count as often as they stand there."""
MAX_COMMAND_CHARS: Final = 32 * 1024
"""Of one command with its arguments. `shlex` takes time by the square of a word."""

_PLUGIN_FILE: Final = "hooks/hooks.json"
_FOLDERS: Final = {
    ".claude": "claude-code",
    ".codex": "codex",
    ".gemini": "gemini",
    ".cursor": "cursor",
    ".copilot": "copilot",
    ".github": "copilot",
}
_BY_ENDING: Final = {".yaml": "docker-agent", ".yml": "docker-agent", ".toml": "agent-code"}
_EVENTS_OF_ONE: Final = {
    "BeforeTool": "gemini",
    "AfterTool": "gemini",
    "BeforeAgent": "gemini",
    "AfterAgent": "gemini",
    "beforeSubmitPrompt": "cursor",
    "beforeShellExecution": "cursor",
    "beforeMCPExecution": "cursor",
    "beforeReadFile": "cursor",
    "afterFileEdit": "cursor",
    "stop": "cursor",
    "userPromptSubmitted": "copilot",
    "agentStop": "copilot",
}


class SourceError(SliphookError):
    """The configuration cannot be used. str() is one line: the file, and why."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration.

    Attributes:
        system: whose it is.
        path: the file or folder that was given, absolute.
        base: the folder that its commands' relative paths are looked for in, if no project is.
        root: of a plugin folder, itself; else the folder of the file.
        is_plugin: it is a plugin folder of Claude Code.
        handlers: what can run, in order.
        refused: what cannot.
    """

    system: Hosted
    path: Path
    base: Path
    root: Path
    is_plugin: bool
    handlers: tuple[Handler, ...]
    refused: tuple[RefusedHook, ...]

    @property
    def never(self) -> tuple[str, ...]:
        """A line for each event with hooks that never comes here."""
        lines: dict[str, str] = {}
        for handler in self.handlers:
            rows = self.system.named(handler.event)
            if not rows:
                known = f"{self.system.title} has no event of that name that is known here."
                lines[handler.event] = known
            elif all(row.how == "impossible" for row in rows):
                lines[handler.event] = rows[0].limits
        return tuple(f"{event}: {why}" for event, why in lines.items())


def plugin_name(source: Source) -> str:
    """A plugin's name for it: of a plugin's folder, else its system's."""
    base = source.root.name if source.is_plugin else source.system.name
    name = re.sub(r"[^a-z0-9_-]+", "-", base.lower()).strip("-_")[:50] or source.system.name
    return f"{name}-hooks"


def read_source(given: str, system: str | None = None) -> Source:
    """The configuration that is meant by `PATH`, `SYSTEM:PATH`, or the user's own of `SYSTEM`.

    Args:
        given: a file or a folder.
        system: whose it is, if that is known.

    Raises:
        SourceError: there is none, it cannot be read, or other users could change it.
    """
    front, colon, rest = given.partition(":")
    if colon and front in SYSTEMS:
        system, given = front, rest
    elif given in DIALECTS and not Path(given).exists():
        system, given = given, f"~/{DIALECTS[given].config.user}"
    try:
        path = Path(given).expanduser().absolute()
    except RuntimeError as error:  # no such user
        raise SourceError(f"{quote(given, 200)}: {error}") from None
    files, root, is_plugin = _files(path)
    room = _Room()
    decoded = [(file, _decoded(file, room)) for file in files]
    if system is None:
        system = _recognised(path, is_plugin, decoded[0][1])
    hosted = SYSTEMS[system]
    handlers: list[Handler] = []
    known: set[str] = set()
    refused: list[RefusedHook] = []
    for file, config in decoded:
        found = _defined(hosted, file, config)
        keys = [canonical(one) for one in found.handlers]
        handlers += [one for one, key in zip(found.handlers, keys, strict=True) if key not in known]
        known.update(keys)
        refused += found.refused
    good = [one for one in handlers if _why_bad(hosted, one, refused) is None]
    return Source(
        system=hosted,
        path=path,
        base=_base(path, root),
        root=root,
        is_plugin=is_plugin,
        handlers=tuple(good),
        refused=tuple(refused),
    )


def _files(path: Path) -> tuple[list[Path], Path, bool]:
    """The files to read, their folder, and whether that is a plugin's."""
    if not path.is_dir():
        if path.name == "hooks.json" and _is_plugin(path.parent.parent):
            return [path], path.parent.parent, True
        return [path], path.parent, False
    if (path / _PLUGIN_FILE).is_file():
        return [path / _PLUGIN_FILE], path, True
    files = sorted(file for file in path.glob("*.json") if file.is_file())
    if not files:
        raise SourceError(
            f"{quote(str(path), 200)} has neither {_PLUGIN_FILE} nor a file *.json with hooks"
        )
    if len(files) > MAX_FILES:
        raise SourceError(f"{quote(str(path), 200)} has more than {MAX_FILES} files")
    return files, path, False


def _is_plugin(folder: Path) -> bool:
    return (folder / ".claude-plugin").is_dir() or (folder / "gemini-extension.json").is_file()


def _base(path: Path, root: Path) -> Path:
    """The project that a configuration is in: above `.claude`, `.github/hooks` and the like."""
    for folder in (root, *root.parents):
        if folder.name in (*_FOLDERS, ".agent"):
            return folder.parent
    return root


class _Room:
    """What the files that are still to be read may have."""

    def __init__(self) -> None:
        self.bytes = MAX_BYTES
        self.values = MAX_VALUES


def _decoded(file: Path, room: _Room) -> Mapping[str, Any]:
    why = why_unsafe(file)
    if why is not None:
        raise SourceError(why)
    shown = quote(str(file), 200)
    has = f"{shown} has" if room.bytes == MAX_BYTES else f"{shown} and the files before it have"
    try:
        with open(file, "rb", opener=open_regular) as opened:
            data = opened.read(room.bytes + 1)
    except OSError as error:
        raise SourceError(f"{shown} cannot be read: {error.strerror or error}") from None
    room.bytes -= len(data)
    if room.bytes < 0:
        raise SourceError(f"{has} more than 1 MiB")
    try:
        text = data.decode()
        decoded = _decode(file.suffix, text)
    except (ValueError, RecursionError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise SourceError(f"{shown} cannot be read: {quote(first, 200)}") from None
    if not isinstance(decoded, dict):
        raise SourceError(f"{shown} is no table of settings")
    config = cast(Mapping[str, Any], decoded)
    if not _fits(config, room):
        raise SourceError(f"{has} more than {MAX_VALUES:,} values")
    return config


def _decode(ending: str, text: str) -> Any:
    if ending == ".toml":
        return tomllib.loads(text)
    return _from_yaml(text) if ending in (".yaml", ".yml") else json.loads(text)


def _from_yaml(text: str) -> Any:
    try:
        yaml = importlib.import_module("ruamel.yaml")
    except ImportError:
        raise SourceError(
            "a configuration in YAML needs ruamel.yaml: pip install 'sliphook[hooks]'"
        ) from None
    reader = yaml.YAML(typ="safe", pure=True)
    reader.constructor.flatten_mapping = _bounded_merges(reader.constructor.flatten_mapping)
    try:
        return reader.load(text)
    except yaml.error.YAMLError as error:
        raise ValueError(str(error)) from None


def _bounded_merges(flatten: Callable[[Any], None]) -> Callable[[Any], None]:
    """What copies the merged keys (`<<`) into a mapping, with a limit for all mappings together.

    Each `<<` may name a mapping twice that does the same: 600 bytes could be millions of keys.
    """
    left = MAX_VALUES

    def bounded(mapping: Any) -> None:
        nonlocal left
        for key, given in mapping.value:
            if key.tag == "tag:yaml.org,2002:merge":
                for merged in given.value if given.id == "sequence" else (given,):
                    if merged.id == "mapping":
                        bounded(merged)
                        left -= len(merged.value)
                    if left < 0:
                        raise ValueError(f"it merges more than {MAX_VALUES:,} keys")
        flatten(mapping)

    return bounded


def _fits(decoded: object, room: _Room) -> bool:
    waiting: list[Any] = [decoded]
    while waiting:
        value = waiting.pop()
        room.values -= 1
        inner: list[Any] = []
        if isinstance(value, dict):
            inner = list(cast(Mapping[str, Any], value).values())
        elif isinstance(value, list):
            inner = list(cast(Sequence[Any], value))
        if room.values < len(waiting) + len(inner):
            return False
        waiting += inner
    return True


def _recognised(path: Path, is_plugin: bool, config: Mapping[str, Any]) -> str:
    hooks: Any = config.get("hooks")
    events: Sequence[str] = list(cast(Mapping[str, Any], hooks)) if isinstance(hooks, dict) else []
    if path.suffix in _BY_ENDING:
        return _BY_ENDING[path.suffix]
    for event in events:
        if event in _EVENTS_OF_ONE:
            return _EVENTS_OF_ONE[event]
    if is_plugin:
        return "claude-code"
    for part in reversed(path.parts):
        if part in _FOLDERS:
            return _FOLDERS[part]
    if any(event[:1].islower() for event in events):
        return "copilot"
    if events or "hooks" in config:
        return "claude-code"
    known = ", ".join(SYSTEMS)
    raise SourceError(
        f"{quote(str(path), 200)} has no hooks that are known here; if it is one of {known},"
        " say SYSTEM:PATH"
    )


def _defined(hosted: Hosted, file: Path, config: Mapping[str, Any]) -> Definitions:
    try:
        return hosted.define(config)
    except WrongField as error:
        raise SourceError(
            f"{quote(str(file), 200)} is no configuration of {hosted.title}: {quote(str(error))}"
        ) from None


def _why_bad(hosted: Hosted, handler: Handler, refused: list[RefusedHook]) -> str | None:
    """Why it cannot be used for its matcher or its length; it is among the refused then."""
    why: str | None = None
    if sum(map(len, (handler.command, *(handler.args or ())))) > MAX_COMMAND_CHARS:
        why = f"its command has more than {MAX_COMMAND_CHARS:,} characters."
    else:
        try:
            matcher(hosted.rule, handler.matcher)
        except BadMatcher as error:
            why = f"its matcher {quote(handler.matcher or '', 80)} cannot be used: {error}."
    if why is not None:
        refused.append(RefusedHook(event=handler.event, what=handler.what[:200], why=why))
    return why
