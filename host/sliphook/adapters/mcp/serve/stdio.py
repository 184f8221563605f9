"""stdin and stdout belong to the wire: nothing else may read or write there."""

from __future__ import annotations

import fcntl
import os


def take_stdio() -> tuple[int, int]:
    """Keep stdin and stdout for the wire: what is printed from now on goes to stderr."""
    source = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    sink = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, sink
