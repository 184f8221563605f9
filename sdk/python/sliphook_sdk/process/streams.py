"""The standard streams of a plugin's process: only the protocol may write to the host."""

from __future__ import annotations

import os
import select
import sys
import threading
from typing import IO, Any, cast

_taken: list[tuple[int, int]] = []


def take_over() -> tuple[int, int]:
    """Move the protocol's streams to private descriptors.

    After that, for this process and its children, standard output is standard error (the plugin's
    log) and standard input is empty. So neither a `print` nor a program that the plugin starts can
    damage a message. A second call only returns the same descriptors.

    Returns:
        The private descriptors to read from and to write to.

    Raises:
        OSError: standard input or output is closed.
    """
    if _taken:
        return _taken[0]
    try:
        # standard output becomes a copy of it below, so it must be open
        os.fstat(2)
    except OSError:
        _onto(os.open(os.devnull, os.O_WRONLY), 2)
    incoming, outgoing = _private(0), _private(1)
    _onto(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    if sys.stdout is not None:  # None if the stream was closed at the start
        # a pipe is buffered in blocks: a `print` would reach the log late, or never after a kill
        cast("Any", sys.stdout).reconfigure(line_buffering=True)
    _taken.append((incoming, outgoing))
    return incoming, outgoing


class Output:
    """Writes to the host: whole frames, one after the other, from any thread."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()

    def write(self, data: bytes) -> None:
        """Write all of `data`; if the host is gone, drop it.

        Then standard input ends too, and the engine ends the process.
        """
        with self._lock:
            try:
                written = os.write(self._fd, data)
                while written < len(data):
                    data = data[written:]
                    written = os.write(self._fd, data)
            except BlockingIOError:
                self._write_slowly(data)
            except (BrokenPipeError, ConnectionResetError):
                pass

    def _write_slowly(self, data: bytes) -> None:
        # other code has made the pipe non-blocking
        while data:
            select.select([], [self._fd], [])
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                return


def flush(stream: IO[str] | None) -> None:
    """Flush, and ignore a stream that is closed or broken."""
    try:
        if stream is not None:
            stream.flush()
    except (OSError, ValueError):
        pass


def _private(fd: int) -> int:
    import fcntl

    # closed on exec: a program that the plugin starts cannot write to the host
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


def _onto(source: int, target: int) -> None:
    # the target was closed, and `os.open` was given its number
    if source == target:
        os.set_inheritable(target, True)
        return
    os.dup2(source, target)
    os.close(source)
