"""What can be installed: an executable by path or by name from PATH. Nothing here runs it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from sliphook.files.held_file import Unreadable, sha256_of
from sliphook.files.ownership import why_unsafe
from sliphook.files.search_path import search_path, which
from sliphook.plugin.spec import PluginSpec
from sliphook.process.diagnosis import why_not_startable
from sliphook.process.interpreter import interpreter_of
from sliphook.quoting import quote
from sliphook_sdk.protocol import NAME_PATTERNS, Manifest, why_no_plugin_name

from .errors import RegistryError
from .keys import Recorded
from .made import Made, approved_files
from .record import Registered, manifest_text

PREFIX: Final = "sliphook-plugin-"
"""pip, npm, cargo and apt can all put an executable with such a name on PATH."""


@dataclass(frozen=True)
class Executable:
    """What can be installed: a file, or what an adapter makes a plugin of.

    Attributes:
        path: its path, symbolic links resolved; of a made plugin, what runs the adapter.
        sha256: the hash of its bytes; None for a made plugin.
        interpreter: what runs it; None if it is no script, or the interpreter is not found.
        made: what the plugin is made of, or None.
        size: of the file, in bytes; None for a made plugin.
    """

    path: Path
    sha256: str | None
    interpreter: str | None = None
    made: Made | None = None
    size: int | None = None

    @classmethod
    def of(cls, made: Made) -> Executable:
        """What an adapter makes a plugin of."""
        return cls(made.program, None, made=made)

    def in_place_of(self, spec: PluginSpec, name: str) -> PluginSpec:
        """The spec, with this to start.

        Args:
            spec: all else.
            name: what a made plugin is called.
        """
        made = self.made.by(name) if self.made is not None else None
        return replace(spec, path=self.path, sha256=self.sha256, made=made)

    @property
    def hashes(self) -> dict[str, str]:
        """The files that are approved with it, each with the hash of its bytes."""
        return approved_files(str(self.path), self.sha256, self.made)

    def is_as(self, recorded: Recorded) -> bool:
        """Whether it is what was approved."""
        return (self.sha256, self.made) == (recorded.sha256, recorded.made)

    def recorded(self, manifest: Manifest, installed: datetime) -> Recorded:
        """What is recorded if the user approves this file and this manifest."""
        return Recorded(
            path=None if self.made is not None else str(self.path),
            made=self.made,
            sha256=self.sha256,
            interpreter=self.interpreter,
            size=self.size,
            installed=installed,
            manifest=manifest_text(manifest),
        )


def find_executable(given: str) -> Path:
    """The path that the user means: a path, or NAME for `sliphook-plugin-NAME` on PATH.

    Raises:
        RegistryError: there is no such executable on PATH.
    """
    if "/" in given or not re.fullmatch(NAME_PATTERNS["plugin"], given):
        return Path(given)
    found = which(PREFIX + given)
    if found is None:
        hint = (
            f"; if you mean the file, say ./{given}"
            if Path(given).exists()
            else "; `sliphook list --available` shows what is there"
        )
        raise RegistryError(f"there is no {PREFIX}{given} on PATH{hint}")
    return Path(found)


def look_at(path: Path) -> Executable:
    """The executable at `path`, if it can be installed.

    Raises:
        RegistryError: it cannot be started, or another user could change it.
    """
    why = why_not_startable(path) or why_unsafe(path)
    if why is not None:
        raise RegistryError(why)
    resolved = path.resolve()
    try:
        # The record is TOML, which can only hold UTF-8.
        str(resolved).encode()
    except UnicodeEncodeError:
        shown = quote(str(resolved), 200)
        raise RegistryError(
            f"{shown} is no UTF-8 and cannot be recorded; rename the file or its folder"
        ) from None
    try:
        hashed, interpreter = sha256_of(resolved), interpreter_of(resolved)
        return Executable(resolved, hashed, interpreter, size=resolved.stat().st_size)
    except (Unreadable, FileNotFoundError) as error:
        raise RegistryError(str(error)) from None


def look_again(plugin: Registered) -> Executable:
    """What an installed plugin is now.

    Raises:
        RegistryError: it cannot be started, or another user could change it.
    """
    made = plugin.recorded.made
    return Executable.of(made.again()) if made is not None else look_at(plugin.path)


def state_of(plugin: Registered) -> tuple[str, str | None]:
    """The state that a start would lead to, as far as the file shows, and why.

    Returns:
        `enabled`, `disabled` or `refused`; and one line if it is `refused`, else None.
    """
    if not plugin.enabled:
        return "disabled", None
    try:
        found = look_again(plugin)
    except RegistryError as error:
        return "refused", str(error)
    if not found.is_as(plugin.recorded):
        now = ", ".join(found.hashes.values())
        return (
            "refused",
            f"its file has changed; if that is right, run: sliphook trust {plugin.name}"
            f" (now its sha256 is {now})",
        )
    return "enabled", None


def available() -> dict[str, Path]:
    """The plugins on PATH by name. Of several with one name, the one that a shell would run."""
    found: dict[str, Path] = {}
    for folder in search_path():
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            name = entry.name.removeprefix(PREFIX)
            fits = entry.name.startswith(PREFIX) and why_no_plugin_name(name) is None
            if (
                fits
                and name not in found
                and os.access(entry.path, os.X_OK)
                and not os.path.isdir(entry.path)
            ):
                found[name] = Path(entry.path)
    return dict(sorted(found.items()))


def owner_of(path: Path) -> str:
    """The owner of a file, by name if the system knows one."""
    try:
        return quote(path.owner(), 64)
    except (KeyError, OSError):
        return "nobody that this system knows"
