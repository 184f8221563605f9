"""A trace file that is still being written, as `tail -F` reads it: more is waited for, and rotation and truncation are survived."""

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
"""How often the file is looked at: a person sees no delay, and the machine no work."""

_PIECE_BYTES: Final = 256 * 1024


def _sleep() -> None:
    time.sleep(POLL_S)


def follow(
    path: Path, trouble: Trouble, missing: Callable[[], None], pause: Callable[[], None] = _sleep
) -> Iterator[TraceRecord]:
    """Every record of the file, from its beginning, and what is added later. Never ends by itself.

    Another file under the same name (it was rotated) is read from its beginning, after the rest of
    the old one; so is the same file where it has become shorter.

    Args:
        path: The file; where there is none, one is waited for.
        trouble: Told of each line that is no record.
        missing: Called once where the file is not there yet.
        pause: Waits until it is worth while to look again.

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
        replaced = _is_replaced(
            path, descriptor
        )  # asked first: what the old file got before that is still read
        while data := os.read(descriptor, _PIECE_BYTES):
            read += len(data)
            yield from reader.feed(data)
        if replaced or os.fstat(descriptor).st_size < read:
            yield from reader.close()
            return
        pause()


def _is_replaced(path: Path, descriptor: int) -> bool:
    try:
        now = path.stat()
    except FileNotFoundError:
        return False  # between two files: the new one is not there yet
    mine = os.fstat(descriptor)
    return (now.st_dev, now.st_ino) != (mine.st_dev, mine.st_ino)
