"""Our ends of the plugins' pipes: closed once, and never kept open by a forked child of the agent.

A plugin ends when its standard input does. If a child that the agent forked held that pipe too, the
plugin would outlive the agent.
"""

from __future__ import annotations

import contextlib
import os

import trio

_ours: set[int] = set()


def take(descriptor: int) -> int:
    """Our duplicate of `descriptor`: non-blocking, not inherited by programs that are started."""
    ours = os.dup(descriptor)
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


def close(descriptor: int) -> None:
    """Close one of ours and wake the task that waits for it; a second time it does nothing."""
    # after a first close the number may be another file's
    if descriptor in _ours:
        _ours.discard(descriptor)
        # before the close: a task that waits must let go of the number while it is ours
        trio.lowlevel.notify_closing(descriptor)
        os.close(descriptor)


def _close_in_child() -> None:
    for descriptor in _ours:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _ours.clear()


# close-on-exec is not enough: a child of os.fork() runs on without exec
os.register_at_fork(after_in_child=_close_in_child)
