"""The standard streams of a plugin's process: only the protocol may write to the host."""

from __future__ import annotations

import os
import select
import sys
import threading
from contextlib import suppress
from functools import partial
from typing import IO, Any, cast

from sliphook_sdk.forked import in_children

_taken: dict[int, tuple[int, int]] = {}
"""The private descriptors, by the id of the process that has taken them: one at most."""


def take_over() -> tuple[int, int]:
    """Move the protocol's streams to private descriptors.

    After that, for this process and its children, standard output is standard error (the plugin's
    log) and standard input is empty. So neither a `print` nor a program that the plugin starts can
    damage a message. In a child that is forked the private descriptors lead nowhere. A second call
    only returns the same descriptors.

    Returns:
        The private descriptors to read from and to write to.

    Raises:
        OSError: standard input or output is closed.
        RuntimeError: this is a forked child of the process that speaks to the host.
    """
    if _taken:
        if os.getpid() not in _taken:
            raise RuntimeError(
                "plugin.run() is for the process that the host has started, and not for its child"
            )
        return _taken[os.getpid()]
    try:
        # standard output becomes a copy of it below, so it must be open
        os.fstat(2)
    except OSError:
        _onto(os.open(os.devnull, os.O_WRONLY), 2)
    incoming, outgoing = _private(0), _private(1)
    _onto(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    for copy in _copies(incoming, outgoing):
        os.dup2(2, copy, inheritable=os.get_inheritable(copy))
    # a pipe is buffered in blocks: a `print` would reach the log late, or never after a kill. What
    # cannot be changed is an object of the author, and left alone
    with suppress(Exception):
        cast("Any", sys.stdout).reconfigure(line_buffering=True)
    _taken[os.getpid()] = incoming, outgoing
    in_children(partial(_let_go, incoming, outgoing))
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
    """Flush, and ignore a stream that is closed, broken, or an object of the author that cannot."""
    with suppress(Exception):
        if stream is not None:
            stream.flush()


def _private(fd: int) -> int:
    import fcntl

    # closed on exec: a program that the plugin starts cannot write to the host
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


def _copies(incoming: int, outgoing: int) -> list[int]:
    """Other descriptors of the way to the host, which the author's code has opened before.

    For example `sys.stdout = open("/dev/stdout", "w")`. If standard error leads there too, nothing
    can be told apart.
    """
    way = os.fstat(outgoing)
    if os.path.samestat(way, os.fstat(2)):
        return []
    found: list[int] = []
    with suppress(OSError):  # a system without this folder
        for fd in map(int, os.listdir("/dev/fd")):
            with suppress(OSError):  # the folder's own descriptor, which is closed by now
                if fd not in (0, 1, 2, incoming, outgoing) and os.path.samestat(way, os.fstat(fd)):
                    found.append(fd)
    return found


def _let_go(*private: int) -> None:
    # so that the host sees the end of the plugin, however long a child lives
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
    except OSError:  # no descriptor is left, or there is no such file here
        for fd in private:
            os.close(fd)
        return
    for fd in private:
        os.dup2(nowhere, fd, inheritable=False)
    os.close(nowhere)


def _onto(source: int, target: int) -> None:
    # the target was closed, and `os.open` was given its number
    if source == target:
        os.set_inheritable(target, True)
        return
    os.dup2(source, target)
    os.close(source)
