"""Executables that can be installed: by path, or by name from PATH. Nothing here runs them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from sliphook.files.held_file import Unreadable, sha256_of
from sliphook.files.ownership import why_unsafe
from sliphook.files.search_path import search_path, which
from sliphook.process.diagnosis import why_not_startable
from sliphook.process.interpreter import interpreter_of
from sliphook.quoting import quote
from sliphook_sdk.protocol import NAME_PATTERNS, Manifest, why_no_plugin_name

from .keys import Recorded
from .record import Registered, RegistryError, manifest_text

PREFIX: Final = "sliphook-plugin-"
"""pip, npm, cargo and apt can all put an executable with such a name on PATH."""


@dataclass(frozen=True)
class Executable:
    """A file that can be installed.

    Attributes:
        path: its path, symbolic links resolved.
        sha256: the hash of its bytes.
        interpreter: what runs it; None if it is no script, or the interpreter is not found.
    """

    path: Path
    sha256: str
    interpreter: str | None

    def recorded(self, manifest: Manifest, installed: datetime) -> Recorded:
        """What is recorded if the user approves this file and this manifest."""
        return Recorded(
            path=str(self.path),
            sha256=self.sha256,
            interpreter=self.interpreter,
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
        return Executable(resolved, sha256_of(resolved), interpreter_of(resolved))
    except Unreadable as error:
        raise RegistryError(str(error)) from None


def state_of(plugin: Registered) -> tuple[str, str | None]:
    """The state that a start would lead to, as far as the file shows, and why.

    Returns:
        `enabled`, `disabled` or `refused`; and one line if it is `refused`, else None.
    """
    if not plugin.enabled:
        return "disabled", None
    try:
        found = look_at(plugin.path)
    except RegistryError as error:
        return "refused", str(error)
    if found.sha256 != plugin.recorded.sha256:
        return (
            "refused",
            f"its file has changed; if that is right, run: sliphook trust {plugin.name}"
            f" (now its sha256 is {found.sha256})",
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
