"""The log of the daemons of one agent: they have no terminal."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from sliphook.files import paths
from sliphook.files.private import make_private_folder, open_private

MAX_LOG_BYTES: Final = 1024 * 1024


def log_file(agent: str) -> Path:
    """The log of all daemons of an agent; the one before it has another name."""
    return paths.state_home() / "logs" / f"attached-{agent}.log"


def log_to_file(agent: str) -> None:
    """Write what is logged to the agent's file; nothing if that cannot be written."""
    try:
        handler = SharedLog(log_file(agent))
    except OSError:
        return
    logging.basicConfig(
        handlers=[handler],
        level=logging.INFO,
        format=f"%(asctime)s {os.getpid()} %(levelname)s %(name)s %(message)s",
    )


class SharedLog(logging.Handler):
    """Writes a file to which other processes write, too; the one that finds it full begins another.

    What cannot be written is lost.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._descriptor = _opened(path)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        line = (self.format(record) + "\n").encode(errors="backslashreplace")
        with suppress(OSError):
            if os.fstat(self._descriptor).st_size > MAX_LOG_BYTES:
                full, self._descriptor = self._descriptor, _opened(self._path)
                os.close(full)
            os.write(self._descriptor, line)


def _opened(path: Path) -> int:
    make_private_folder(path.parent)
    if path.exists() and path.stat().st_size > MAX_LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))
    return open_private(path, os.O_WRONLY | os.O_APPEND)
