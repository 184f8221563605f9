"""A log file for each plugin, written by a thread, so that no disk can hold the host."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from sliphook.files.background_writer import BackgroundWriter
from sliphook.files.paths import state_home
from sliphook.files.private import make_private_folder, open_private
from sliphook.files.rotating_file import RotatingFile

FILE_BYTES: Final = 1024 * 1024
OLD_FILES: Final = 3
"""`NAME.log` is renamed to `NAME.log.1` when it is full, and so on; what is older is deleted."""
MAX_WAITING: Final = 10_000
"""Lines that wait for the disk at most; further ones are lost and counted."""
CLOSE_S: Final = 0.5
"""How long `close` waits for the disk."""


def default_folder() -> Path:
    """`$XDG_STATE_HOME/sliphook/logs`."""
    return state_home() / "logs"


def files_of(folder: Path, name: str) -> list[Path]:
    """The parts of a log that are there, the oldest first."""
    newest = folder / f"{name}.log"
    parts = [folder / f"{name}.log.{number}" for number in range(OLD_FILES, 0, -1)]
    return [path for path in (*parts, newest) if path.is_file()]


def names_in(folder: Path) -> list[str]:
    """The names of the logs in a folder, sorted; none if there is no folder.

    Raises:
        OSError: it cannot be read.
    """
    try:
        found = {entry.name.partition(".log")[0] for entry in os.scandir(folder)}
    except FileNotFoundError:
        return []
    return sorted(name for name in found if name == safe_name(name) and files_of(folder, name))


def safe_name(plugin: str) -> str:
    """The plugin's name as a name of a file, whatever the plugin calls itself."""
    return (
        "".join(
            char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in plugin
        )
        or "_"
    )


class PluginLogs:
    """`NAME.log` for each plugin, mode 0600, rotated.

    Lines that cannot be written are lost and counted; no method raises, and only `close` waits.

    Args:
        folder: the folder of the files; it is made with the first line, for the user alone.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, _LogFile] = {}
        self._given_up = False
        self._writer = BackgroundWriter(
            self._write_all, name="sliphook-logs", max_items=MAX_WAITING, at_end=self._close_files
        )

    @property
    def lost(self) -> int:
        """Lines so far that are missing in the files."""
        return self._writer.lost

    def write(self, plugin: str, level: str, message: str, *, by_host: bool = False) -> None:
        """Take one line, already escaped. Called from the host's own loop.

        Args:
            plugin: whose file it is.
            level: how serious, or `stderr`.
            message: the line.
            by_host: the host says it of the plugin; each line tells whose it is.
        """
        if not self._writer.is_running:  # the first line, or it came to a system without threads
            with contextlib.suppress(RuntimeError):
                self._writer.start()
        whose = "host" if by_host else "plugin"
        self._writer.put(_LogLine(safe_name(plugin), time.time(), whose, level, message))

    def close(self) -> int:
        """Write what waits, for `CLOSE_S` at most; returns how many lines were lost in all."""
        lost = self._writer.close(CLOSE_S)
        self._given_up = True
        return lost

    # -- in the writer's thread

    def _write_all(self, lines: Sequence[_LogLine]) -> int:
        return sum(not self._write(line) for line in lines)

    def _write(self, line: _LogLine) -> bool:
        if self._given_up:
            return False
        file = self._files.get(line.name)
        try:
            if file is None:
                make_private_folder(self._folder)
                file = self._files[line.name] = _LogFile(self._folder / f"{line.name}.log")
            file.write(line.encoded())
        except OSError:
            if file is not None:
                file.missing += 1
            return False
        return True

    def _close_files(self) -> None:
        for file in self._files.values():
            file.close()


class _LogLine(NamedTuple):
    name: str
    wall_s: float
    whose: str
    level: str
    message: str

    def encoded(self) -> bytes:
        clock = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(self.wall_s))
        milliseconds = int(self.wall_s % 1 * 1000)
        # the process id tells agents apart that write to the same file
        who = f"{os.getpid()} {self.whose} {self.level}"
        line = f"{clock}.{milliseconds:03d} {who}: {self.message}\n"
        return line.encode("utf-8", "backslashreplace")


class _LogFile:
    """One file; after a failure it says how many lines are missing, as soon as it can."""

    def __init__(self, path: Path) -> None:
        self.missing = 0
        self._file = RotatingFile(
            path, open_file=_open_log, max_bytes=FILE_BYTES, old_files=OLD_FILES
        )

    def write(self, line: bytes) -> None:
        """Write a line.

        Raises:
            OSError: it is not in the file, or not all of it.
        """
        if self.missing:
            line = b"%d lines could not be written\n%b" % (self.missing, line)
        self._file.attend(len(line))
        _, error = self._file.append([line])
        if error is not None:
            raise error
        self.missing = 0

    def close(self) -> None:
        with contextlib.suppress(OSError):  # some disks report only now what they have lost
            self._file.close()


def _open_log(path: Path) -> int:
    # O_NOFOLLOW: a symbolic link of this name could make the host write to any file of the user
    return open_private(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
