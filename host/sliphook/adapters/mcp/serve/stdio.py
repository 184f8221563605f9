"""stdin and stdout belong to the wire: nothing else may read or write there."""

from __future__ import annotations

import fcntl
import logging
import os
import select
from contextlib import suppress


class LogLines(logging.Handler):
    """Writes log lines to a descriptor; they are lost while no one reads there.

    A client that does not read stderr would hold the loop otherwise: what it sends, and calls that
    it cancels, are told there.
    """

    def __init__(self, sink: int) -> None:
        super().__init__()
        self._sink = sink

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record, as far as there is room."""
        line = (self.format(record) + "\n").encode(errors="replace")
        with suppress(OSError):
            for at in range(0, len(line), select.PIPE_BUF):
                # a pipe that is writable takes so many bytes at once
                if not select.select([], [self._sink], [], 0)[1]:
                    break
                os.write(self._sink, line[at : at + select.PIPE_BUF])


def take_stdio() -> tuple[int, int]:
    """Keep stdin and stdout for the wire: what is printed from now on goes to stderr."""
    source = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    sink = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    logging.basicConfig(handlers=[LogLines(2)], format="%(message)s", level=logging.WARNING)
    return source, sink
