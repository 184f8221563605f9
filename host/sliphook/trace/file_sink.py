"""`--trace-file FILE`: every record as a line of JSON, for good."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from .background_sink import CLOSE_S, BackgroundSink
from .line_format import encode_line, header_line, lost_line
from .record import TraceRecord
from .render import count

__all__ = ["FileTrace"]

FILE_BYTES: Final = 100_000_000
"""Where the file has grown over this, it becomes `FILE.1`, and a new one begins."""

OLD_FILES: Final = 3
"""So many old files are kept; `FILE.1` is the newest of them."""


class FileTrace(BackgroundSink):
    """A trace in a file, mode 0600.

    A disk that is full or slow loses records, never the host's time.

    A file that somebody moves or deletes meanwhile is begun anew under its name.

    Args:
        path: The file; what it held before is gone, unless another trace is being written to it:
            then it is left alone. Pipes and devices do, too; those are never moved.
        max_bytes: Begin another file where it has grown over this; None: `FILE_BYTES`.

    Raises:
        OSError: the file cannot be opened for writing, or another trace is being written to it; its
            `strerror` is for people.
    """

    def __init__(self, path: Path, *, max_bytes: int | None = None) -> None:
        self.path = path
        self._real = Path(os.path.realpath(path))  # a link stays where it is when the file is moved
        self._max_bytes = max_bytes or FILE_BYTES
        self._why: str | None = None
        self._fd = _open_private(path)
        self._node = os.fstat(self._fd)
        self._is_file = stat.S_ISREG(self._node.st_mode)
        self._part = 1
        self._begin()
        self._told_lost = 0
        super().__init__("sliphook-trace-file")

    def _begin(self) -> None:
        self._size = 0
        self._torn = False
        self._headed = False

    def close(self, timeout_s: float = CLOSE_S) -> str | None:
        """Write what is left, and close.

        Returns:
            A line for people where records were lost: how many, and why. None where none was.
        """
        lost = self._writer.close(timeout_s)
        if not lost:
            os.close(self._fd)
            return None
        # The descriptor stays open here: the thread may still be writing to it. The name is free
        # all the same.
        with contextlib.suppress(OSError):
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        why = self._why or _TOO_FAST
        return f"the trace in {self.path} is not complete: {count(lost, 'record')} lost ({why})"

    # -- in the writer's thread
    # --------------------------------------------------------------------------------------

    def _write(self, batch: Sequence[TraceRecord]) -> int:
        self._attend()
        own = self._own_lines(batch[0])
        lines = own + [self._line(record) for record in batch]
        whole = self._append(lines)
        if whole >= len(own) and own:
            self._headed = True
            self._told_lost = self._writer.lost
        return len(lines) - max(whole, len(own))

    def _line(self, record: TraceRecord) -> bytes:
        redacted = self._redactor.record(record)
        # what the host has read or written as a message is JSON, unless a secret was cut out of it
        return encode_line(redacted, is_json=redacted is record and record.kind in _JSON)

    def _own_lines(self, first: TraceRecord) -> list[bytes]:
        """What the file has to say of itself before the next record: what it is, and what is missing."""
        lines: list[bytes] = []
        if not self._headed:
            lines.append(header_line(first, part=self._part))
        lost = self._writer.lost - self._told_lost
        if lost:
            lines.append(lost_line(first, count=lost, why=self._why or _TOO_FAST))
        return lines

    def _append(self, lines: Sequence[bytes]) -> int:
        """Write the lines; returns how many of them are whole in the file."""
        data = (b"\n" if self._torn else b"") + b"".join(
            lines
        )  # a torn line ends here, and spoils no other
        left = memoryview(data)
        try:
            while left:
                written = os.write(self._fd, left)
                self._size += written
                left = left[written:]
        except OSError as error:
            self._why = error.strerror or str(error)
            there = bytes(data[: len(data) - len(left)])
            whole = there.count(b"\n") - (1 if self._torn and there else 0)
            self._torn = self._torn if not there else not there.endswith(b"\n")
            return whole
        self._torn = False
        return len(lines)

    def _attend(self) -> None:
        """Begin another file where this one is full, or is not there any more.

        Where that fails, this one goes on.
        """
        if not self._is_file:
            return
        try:
            if self._is_gone():
                self._reopen()
            elif self._size >= self._max_bytes:
                for number in range(OLD_FILES, 0, -1):
                    old = self._numbered(number - 1)
                    if old.exists():
                        old.replace(self._numbered(number))
                self._reopen()
        except OSError as error:
            self._why = error.strerror or str(error)

    def _is_gone(self) -> bool:
        try:
            node = self._real.stat()
        except OSError:
            return True
        return (node.st_dev, node.st_ino) != (self._node.st_dev, self._node.st_ino)

    def _reopen(self) -> None:
        fd = _open_private(self._real)
        os.close(self._fd)
        self._fd, self._node = fd, os.fstat(fd)
        self._part += 1
        self._begin()

    def _numbered(self, number: int) -> Path:
        return self._real.with_name(f"{self._real.name}.{number}") if number else self._real


_JSON: Final = frozenset({"message", "late", "drop", "outcome", "unheard"})
_TOO_FAST: Final = "it could not be written as fast as it came"


def _open_private(path: Path) -> int:
    # O_NONBLOCK: opening a named pipe that nobody reads fails at once, where it would wait for
    # ever.
    try:
        fd = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o600
        )
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(error.errno, "nobody reads from this pipe") from None
        raise
    try:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            _claim(fd)
            os.fchmod(fd, 0o600)  # before the first byte, whoever made the file
            os.ftruncate(fd, 0)
        os.set_blocking(fd, True)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _claim(fd: int) -> None:
    """Two traces in one file would be none, and the second would empty the first."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise OSError(
            error.errno, "another trace is being written to it; give this one a name of its own"
        ) from None
    except OSError:
        pass  # there are file systems without locks
