"""Our ends of the plugins' pipes: closed once, and never kept open by a forked child of the agent.

A plugin ends when its standard input does. If a child that the agent forked held that pipe too, the
plugin would outlive the agent.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
from collections.abc import Callable
from functools import partial

import trio

NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)
"""The flag of `socket.send`: a stream that the other side has closed is an error, and no SIGPIPE,
which would end an agent that does not ignore it."""

_ours: set[int] = set()
_sockets: dict[int, socket.socket] = {}


def take(descriptor: int) -> int:
    """Our duplicate of `descriptor`: non-blocking, not inherited by programs that are started."""
    # no standard stream, if one of these is closed: C code may write there
    ours = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.set_blocking(ours, False)
    _ours.add(ours)
    return ours


def take_pidfd(pid: int) -> int | None:
    """A pidfd of a child process; None if the process is gone, or none can be opened."""
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return None
    _ours.add(descriptor)
    return descriptor


def sender(descriptor: int) -> tuple[Callable[..., int], tuple[int, ...]]:
    """What writes to one of ours without SIGPIPE, and what it takes behind the data."""
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        return partial(os.write, descriptor), ()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, descriptor)
    sock.setblocking(False)  # the agent may have set a default timeout, which would wait here
    _sockets[descriptor] = sock
    return sock.send, (NO_SIGNAL,)


def close(descriptor: int) -> None:
    """Close one of ours and wake the task that waits for it; a second time it does nothing."""
    # after a first close the number may be another file's
    if descriptor in _ours:
        _ours.discard(descriptor)
        # before the close: a task that waits must let go of the number while it is ours
        trio.lowlevel.notify_closing(descriptor)
        _let_go(descriptor)
        os.close(descriptor)


def _let_go(descriptor: int) -> None:
    """Keep the socket object from closing the number once more, which may be another file's."""
    sock = _sockets.pop(descriptor, None)
    if sock is not None:
        sock.detach()


def _close_in_child() -> None:
    for descriptor in _ours:
        _let_go(descriptor)
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _ours.clear()


# close-on-exec is not enough: a child of os.fork() runs on without exec
os.register_at_fork(after_in_child=_close_in_child)
