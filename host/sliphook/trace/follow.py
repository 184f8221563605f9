"""Reads a trace file while it is written, as `tail -F` does: across rotation and truncation."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from .reading import TraceReader, Trouble
from .record import TraceRecord

__all__ = ["POLL_S", "follow"]

POLL_S: Final = 0.1
"""How often the file is checked: too short for a person to notice, too long to cost anything."""

_PIECE_BYTES: Final = 256 * 1024


def _sleep() -> None:
    time.sleep(POLL_S)


def follow(
    path: Path, trouble: Trouble, missing: Callable[[], None], pause: Callable[[], None] = _sleep
) -> Iterator[TraceRecord]:
    """Every record of the file, from its beginning, and what is added later. It never ends.

    If another file takes its name (a rotation), that one is read from its beginning after the rest
    of the old one. If the file becomes shorter, it is read again from its beginning.

    Args:
        path: The file; if there is none, `follow` waits for it.
        trouble: Called for each line that is no record.
        missing: Called once if the file does not exist yet.
        pause: Waits before the file is checked again.

    Raises:
        OSError: the file is there and cannot be read.
        NotATrace: it has a format that is not known here.
    """
    told = False
    while True:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            if not told:
                missing()
                told = True
            pause()
            continue
        try:
            yield from _read_one(path, descriptor, trouble, pause)
        finally:
            os.close(descriptor)


def _read_one(
    path: Path, descriptor: int, trouble: Trouble, pause: Callable[[], None]
) -> Iterator[TraceRecord]:
    """Read one file until another one has its name, or it has become shorter."""
    reader = TraceReader(trouble)
    read = 0
    while True:
        # Checked before reading, so that the rest of a replaced file is read too.
        replaced = _is_replaced(path, descriptor)
        while data := os.read(descriptor, _PIECE_BYTES):
            read += len(data)
            yield from reader.feed(data)
        # A new trace with the same name empties the file in place, so the inode tells nothing.
        if replaced or os.fstat(descriptor).st_size < read:
            yield from reader.close()
            return
        pause()


def _is_replaced(path: Path, descriptor: int) -> bool:
    try:
        now = path.stat()
    except FileNotFoundError:
        return False  # renamed, and the new one is not there yet
    mine = os.fstat(descriptor)
    return (now.st_dev, now.st_ino) != (mine.st_dev, mine.st_ino)
