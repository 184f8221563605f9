"""`--trace-file FILE`: every record as a line of JSON, for good."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from .lines import encode_line
from .record import TraceRecord
from .redact import Redactor
from .writer import CLOSE_S, RecordWriter

__all__ = ["FileTrace"]


class FileTrace:
    """A trace in a file, mode 0600. A disk that is full or slow loses records, never the host's time.

    Args:
        path: The file; what it held before is gone.
        redactor: Hides secrets.

    Raises:
        OSError: the file cannot be opened for writing.
    """

    def __init__(self, path: Path, redactor: Redactor | None = None) -> None:
        self.path = path
        self._redactor = redactor or Redactor()
        self._why: str | None = None
        self._torn = False
        self._fd = _open_private(path)
        self._writer = RecordWriter(self._write, name="sliphook-trace-file")

    def record(self, record: TraceRecord) -> None:
        """Queue one record. Never blocks, never raises."""
        self._writer.record(record)

    def close(self, timeout_s: float = CLOSE_S) -> str | None:
        """Write what is left, and close.

        Returns:
            A line for people where records were lost: how many, and why. None where none was.
        """
        lost = self._writer.close(timeout_s)
        if not lost:
            os.close(self._fd)
            return None
        # The descriptor stays open here: the thread may still be writing to it.
        why = self._why or "it could not be written as fast as it came"
        return f"the trace in {self.path} is not complete: {lost} record{'s' if lost != 1 else ''} lost ({why})"

    def _write(self, batch: Sequence[TraceRecord]) -> int:
        lines = [encode_line(self._redactor.record(record)) for record in batch]
        data = (b"\n" if self._torn else b"") + b"".join(lines)  # a torn line ends here, and spoils no other
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._fd, left) :]
        except OSError as error:
            self._why = error.strerror or str(error)
            written = bytes(data[: len(data) - len(left)])
            self._torn = self._torn if not written else not written.endswith(b"\n")
            whole = written.count(b"\n") - (1 if data.startswith(b"\n") and written else 0)
            return len(lines) - whole
        self._torn = False
        return 0


def _open_private(path: Path) -> int:
    # O_NONBLOCK: opening a named pipe that nobody reads fails at once, where it would wait for ever.
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    try:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            os.fchmod(fd, 0o600)  # before the first byte, whoever made the file
            os.ftruncate(fd, 0)
        os.set_blocking(fd, True)
    except BaseException:
        os.close(fd)
        raise
    return fd
