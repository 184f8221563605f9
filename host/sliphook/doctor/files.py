"""Rules about the disk: executables that are not started now, and data of removed plugins."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sliphook.files import paths
from sliphook.files.held_file import Unreadable, sha256_of
from sliphook.files.ownership import why_unsafe
from sliphook.process.interpreter import interpreter_of
from sliphook.quoting import quote
from sliphook.registry import Registered

from .finding import Finding, Rule, Scene


def executables(scene: Scene) -> Iterator[Finding]:
    """Changed or unsafe executables of disabled plugins; for the others, their start shows it."""
    for plugin in scene.plugins:
        # Also for enabled plugins: the interpreter is not hashed, so a start does not notice it.
        if (what := _runs_in_another(plugin)) is not None:
            yield Finding(area="files", level="note", about=plugin.name, what=what)
        if plugin.enabled:
            continue
        for path, sha256 in plugin.recorded.hashes.items():
            yield from _approved_file(plugin, Path(path), sha256)


def _approved_file(plugin: Registered, path: Path, sha256: str) -> Iterator[Finding]:
    """What would keep a disabled plugin from its start, if it were enabled."""
    try:
        changed = sha256_of(path) != sha256
    except Unreadable as error:
        yield Finding(
            area="files", level="note", about=plugin.name, what=f"{error}; it could not be enabled"
        )
        return
    if changed:
        what = f"{quote(str(path))} has changed since it was approved; enabled, it would be refused"
        yield Finding(
            area="files",
            level="note",
            about=plugin.name,
            what=what,
            do=f"sliphook trust {plugin.name}",
        )
    if (why := why_unsafe(path)) is not None:
        yield Finding(area="files", level="problem", about=plugin.name, what=why)


def left_data(scene: Scene) -> Iterator[Finding]:
    """Data folders of plugins that are not installed.

    Empty folders do not count: a plugin that was only tried leaves one.
    """
    known = {plugin.name for plugin in scene.plugins} | {broken.name for broken in scene.broken}
    home = paths.plugin_data()
    try:
        stale = sorted(
            path
            for path in home.iterdir()
            if path.name not in known and path.is_dir() and _holds_something(path)
        )
    except OSError:
        return  # there is none yet
    for path in stale:
        what = f"{quote(str(path))} is the data of a plugin that is not installed"
        yield Finding(
            area="files",
            level="note",
            about=quote(path.name, 64),
            what=what,
            do=f"if you do not need it: rm -r {shlex.quote(str(path))}",
        )


def homes(_: Scene) -> Iterator[Finding]:
    """Folders in which nothing can be kept: without them a plugin does not start."""
    for folder, holds in (
        (paths.data_home(), "plugins, their data and conversations"),
        (paths.state_home(), "logs"),
        (paths.config_home(), "settings"),
    ):
        there = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
        if not there.is_dir():
            why = f"{quote(str(there))} is no folder"
        elif not os.access(there, os.W_OK | os.X_OK):
            why = f"{quote(str(there))} cannot be written to"
        else:
            continue
        yield Finding(
            area="files",
            level="problem",
            about=folder.parent.name,
            what=f"{holds} cannot be kept in {quote(str(folder))}: {why}",
            do="set HOME, or the XDG variables of docs/installing.md, to folders of yours",
        )


def _runs_in_another(plugin: Registered) -> str | None:
    """A line if the interpreter of a script is another one than at its approval, or None."""
    before = plugin.recorded.interpreter
    if before is None or plugin.pin:  # the start itself refuses a pinned one that is gone
        return None
    approved = f"when it was approved, {quote(before)} ran it"
    if not os.path.exists(before):
        return f"{approved}, which is not there any more"
    now = interpreter_of(plugin.path)
    if now is None or _without_links_above(now) == _without_links_above(before):
        return None
    return f"{approved}; now {quote(now)} does, which may lack what it imports"


def _without_links_above(program: str) -> str:
    """The path with the links of its folder resolved, for a comparison.

    The link of the program itself stays. The interpreters of virtual environments are links to one
    program, but each of these links finds other modules.
    """
    return os.path.join(os.path.realpath(os.path.dirname(program)), os.path.basename(program))


def _holds_something(folder: Path) -> bool:
    try:
        return any(folder.iterdir())
    except OSError:
        return True  # it cannot be read, so it may hold something


RULES: Final[tuple[Rule, ...]] = (homes, executables, left_data)
