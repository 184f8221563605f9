"""`--trace-file FILE`: every record as a line of JSON."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sliphook.files.rotating_file import RotatingFile

from .background_sink import CLOSE_S, BackgroundSink
from .line_format import encode_line, header_line, lost_line
from .record import TraceRecord
from .render import count

__all__ = ["FileTrace"]

FILE_BYTES: Final = 100_000_000
"""A file that has grown over this becomes `FILE.1`, and a new one begins."""

OLD_FILES: Final = 3
"""How many old files are kept; `FILE.1` is the newest of them."""


class FileTrace(BackgroundSink):
    """A trace in a file, mode 0600.

    A full or slow disk costs records; the host never waits for it. If the file is moved or deleted
    while the trace is written, a new one is begun under its name.

    Args:
        path: The file; it is emptied first. It may be a pipe or a device, which is never renamed.
        max_bytes: A file that has grown over this is followed by another; None: `FILE_BYTES`.

    Raises:
        OSError: the file cannot be opened for writing, no thread can be started, or another trace
            is being written to it and it is left as it is; `strerror` is for people.
    """

    def __init__(self, path: Path, *, max_bytes: int | None = None) -> None:
        self.path = path
        self._file = RotatingFile(
            path,
            open_file=_open_private,
            max_bytes=max_bytes or FILE_BYTES,
            old_files=OLD_FILES,
        )
        self._part = 1
        self._headed = False
        self._told_lost = 0
        self._why: str | None = None
        self._ending = threading.Lock()
        self._ended = False
        # Last, so that a file that cannot be opened leaves no thread behind.
        try:
            super().__init__("sliphook-trace-file", at_end=self._close_file)
        except OSError:
            self._file.close()
            raise

    def close(self, timeout_s: float = CLOSE_S) -> str | None:
        """Write what is left, and close; a thread that hangs in a write closes when it is through.

        Returns:
            If records were lost, a line for people: how many, and why. Else None.
        """
        lost = self._writer.close(timeout_s)
        if not lost:
            return None
        with self._ending, contextlib.suppress(OSError):
            if not self._ended:
                # without the lock another trace can use the file
                fcntl.flock(self._file, fcntl.LOCK_UN)
        why = self._why or _TOO_FAST
        return f"the trace in {self.path} is not complete: {count(lost, 'record')} lost ({why})"

    # -- in the writer's thread

    def _close_file(self) -> None:
        with self._ending, contextlib.suppress(OSError):  # some disks report only now what is lost
            self._ended = True
            self._file.close()

    def _write(self, batch: Sequence[TraceRecord]) -> int:
        self._attend()
        own = self._own_lines(batch[0])
        lines = own + [self._line(record) for record in batch]
        lost = self._writer.lost  # now: more may be lost while these lines are written
        whole, error = self._file.append(lines)
        if error is not None:
            self._why = _reason(error)
        # A loss counts as told only when its line is in the file; else the next batch tells it.
        if whole >= len(own) and own:
            self._headed = True
            self._told_lost = lost
        # Only records count as lost: the trace's own lines are written again with the next batch.
        return len(lines) - max(whole, len(own))

    def _attend(self) -> None:
        """Go on in another file if it is time; if that fails, the present one goes on."""
        try:
            if self._file.attend():
                self._part += 1
                self._headed = False
        except OSError as error:
            self._why = _reason(error)

    def _line(self, record: TraceRecord) -> bytes:
        # Redacted first: what `encode_line` takes out of the body could be a secret.
        redacted = self._redacted(record)
        # The host has parsed or made these bodies: they are JSON, unless a secret was replaced.
        return encode_line(
            redacted, is_json=redacted is record and not record.cut and record.kind in _JSON
        )

    def _own_lines(self, first: TraceRecord) -> list[bytes]:
        """What comes before the next record: the header of a new file, and how many are missing."""
        lines: list[bytes] = []
        if not self._headed:
            lines.append(header_line(first, part=self._part))
        lost = self._writer.lost - self._told_lost
        if lost:
            lines.append(lost_line(first, count=lost, why=self._why or _TOO_FAST))
        return lines


_JSON: Final = frozenset({"message", "late", "drop", "outcome", "unheard"})
_TOO_FAST: Final = "it could not be written as fast as it came"


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _open_private(path: Path) -> int:
    # No O_TRUNC: until it is locked, the file may be the trace of another program.
    # O_NONBLOCK: opening a named pipe that has no reader fails at once instead of waiting for one.
    try:
        fd = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o600
        )
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(error.errno, "nobody reads from this pipe") from None
        raise
    try:
        # A device such as /dev/null keeps its mode, and several traces may write to it.
        if stat.S_ISREG(os.fstat(fd).st_mode):
            _claim(fd)
            os.fchmod(fd, 0o600)  # before the first byte, also if the file was there
            os.ftruncate(fd, 0)
        # Only the thread writes, and it may wait; else a full pipe would cut lines short.
        os.set_blocking(fd, True)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _claim(fd: int) -> None:
    """Lock the file: a second trace would empty it and mix its lines with the first one's."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise OSError(
            error.errno, "another trace is being written to it; give this one a name of its own"
        ) from None
    except OSError:
        pass  # the file system has no locks
