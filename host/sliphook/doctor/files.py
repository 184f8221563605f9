"""What lies on the disk: who may write to it, and what nobody needs any more."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sliphook import places
from sliphook.integrity import Unreadable, sha256_of
from sliphook.ownership import why_unsafe
from sliphook.quoting import quote
from sliphook.registry import Registry
from sliphook.settings import settings_file

from .finding import Finding, Rule, Scene


def open_to_others(_: Scene) -> Iterator[Finding]:
    """Files of ours that other users could write to: they say what is started, and with which grants."""
    registry = Registry()
    files = sorted(registry.folder.glob("*.toml")) if registry.folder.is_dir() else []
    for path in (settings_file(), registry.folder, *files):
        why = _why_open(path)
        if why is not None:
            yield Finding(area="files", level="problem", about=path.name, what=f"{quote(str(path))} {why[0]}", do=why[1])


def _why_open(path: Path) -> tuple[str, str] | None:
    try:
        info = path.stat()
    except OSError:
        return None  # it is not there, or whoever wanted to read it has told
    if info.st_uid not in (os.geteuid(), 0):
        return "belongs to another user", f"chown {os.geteuid()} {shlex.quote(str(path))}"
    if stat.S_IMODE(info.st_mode) & 0o022:
        return "can be written by other users", f"chmod go-w {shlex.quote(str(path))}"
    return None


def executables(scene: Scene) -> Iterator[Finding]:
    """Files that would be refused, of plugins that are not started now; the others have been told of by their start."""
    for plugin in scene.plugins:
        if plugin.interpreter is not None and not os.path.exists(plugin.interpreter):
            what = f"when it was approved, {quote(plugin.interpreter)} ran it, which is not there any more"
            yield Finding(area="files", level="note", about=plugin.name, what=what)
        if plugin.enabled:
            continue
        try:
            changed = sha256_of(plugin.path) != plugin.sha256
        except Unreadable as error:
            yield Finding(area="files", level="note", about=plugin.name, what=f"{error}; it could not be enabled")
            continue
        if changed:
            what = f"{quote(str(plugin.path))} has changed since it was approved; enabled, it would be refused"
            yield Finding(area="files", level="note", about=plugin.name, what=what, do=f"sliphook trust {plugin.name}")
        if (why := why_unsafe(plugin.path)) is not None:
            yield Finding(area="files", level="problem", about=plugin.name, what=why)


def data_of_nobody(scene: Scene) -> Iterator[Finding]:
    """Data directories of plugins that are not installed."""
    known = {plugin.name for plugin in scene.plugins} | {broken.name for broken in scene.broken}
    home = places.data_home() / "data"
    try:
        stale = sorted(path for path in home.iterdir() if path.is_dir() and path.name not in known)
    except OSError:
        return  # there is none yet
    for path in stale:
        what = f"{quote(str(path))} is the data of a plugin that is not installed"
        yield Finding(
            area="files",
            level="note",
            about=quote(path.name, 64),
            what=what,
            do=f"where you do not need it: rm -r {shlex.quote(str(path))}",
        )


RULES: Final[tuple[Rule, ...]] = (open_to_others, executables, data_of_nobody)
