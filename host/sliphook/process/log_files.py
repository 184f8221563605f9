"""The log files of the plugins, one each: written by a thread of their own, so that no disk can hold the host."""

from __future__ import annotations

import contextlib
import io
import logging
import os
from collections.abc import Sequence
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

from sliphook.files.background_writer import BackgroundWriter
from sliphook.files.paths import state_home

FILE_BYTES: Final = 1024 * 1024
OLD_FILES: Final = 3
"""`NAME.log` is renamed to `NAME.log.1` when it is full, and so on; what is older is deleted."""
MAX_WAITING: Final = 10_000
"""Lines that wait for the disk at most; what comes beyond is lost and counted."""
CLOSE_S: Final = 0.5
"""How long `close` waits for the disk."""

_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "stderr": logging.INFO,
}


def default_folder() -> Path:
    """`$XDG_STATE_HOME/sliphook/logs`."""
    return state_home() / "logs"


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

    What cannot be written is lost and counted; nothing here waits or raises.

    Args:
        folder: where the files are; it is made with the first line, for the user alone.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, _File] = {}
        self._given_up = False
        self._writer = BackgroundWriter(
            self._write_all, name="sliphook-logs", max_items=MAX_WAITING, at_end=self._close_files
        )

    @property
    def lost(self) -> int:
        """Lines so far that are missing in the files."""
        return self._writer.lost

    def write(self, plugin: str, level: str, message: str) -> None:
        """Take one line, already escaped. Called from the host's own loop."""
        record = logging.LogRecord(
            safe_name(plugin), _LEVELS.get(level, logging.INFO), "", 0, message, None, None
        )
        record.levelname = level
        if not self._writer.is_running:  # the first line, or it came to a system without threads
            with contextlib.suppress(RuntimeError):
                self._writer.start()
        self._writer.put(record)

    def close(self) -> int:
        """Write what waits, for `CLOSE_S` at most; returns how many lines were lost in all."""
        lost = self._writer.close(CLOSE_S)
        self._given_up = True
        return lost

    # -- in the writer's thread

    def _write_all(self, records: Sequence[logging.LogRecord]) -> int:
        return sum(not self._write(record) for record in records)

    def _write(self, record: logging.LogRecord) -> bool:
        if self._given_up:
            return False
        file = self._files.get(record.name)
        try:
            if file is None:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                file = self._files[record.name] = _File(self._folder / f"{record.name}.log")
            file.emit(record)
        except (OSError, ValueError):
            if file is not None:
                file.missing += 1
            return False
        return True

    def _close_files(self) -> None:
        for file in self._files.values():
            file.drop_stream()
            file.close()


class _File(RotatingFileHandler):
    """One file.

    Unlike its parent it raises where it cannot write, and says how many lines are missing when it
    can again.
    """

    def __init__(self, path: Path) -> None:
        self.missing = 0
        super().__init__(
            path,
            maxBytes=FILE_BYTES,
            backupCount=OLD_FILES,
            encoding="utf-8",
            errors="backslashreplace",
        )
        self.setFormatter(
            logging.Formatter(
                "%(asctime)s.%(msecs)03d %(process)d %(levelname)s: %(message)s",
                "%Y-%m-%dT%H:%M:%S",
            )
        )

    def _open(self) -> io.TextIOWrapper:
        descriptor = os.open(
            self.baseFilename,
            os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW,
            0o600,
        )
        return open(descriptor, "a", encoding=self.encoding, errors=self.errors)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, after a rotation where one is due."""
        if self.stream is None or not os.path.exists(self.baseFilename):
            self._reopen()  # the folder was emptied, or a rotation failed half way
        if self.shouldRollover(record):
            self.doRollover()
        try:
            self._append(self.format(record))
        except OSError:
            self.drop_stream()  # with what it may still hold
            raise

    def _append(self, line: str) -> None:
        said = f"{self.missing} lines could not be written\n" if self.missing else ""
        stream = self.stream or self._reopen()
        stream.write(f"{said}{line}\n")
        stream.flush()
        self.missing = 0

    def _reopen(self) -> io.TextIOWrapper:
        self.drop_stream()
        self.stream = self._open()
        return self.stream

    def drop_stream(self) -> None:
        """Close the file, whatever the disk says to that."""
        stream, self.stream = self.stream, None
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
