"""The reaper: a process that outlives the host by two seconds at most, and takes the plugins with it.

Run as a script, with nothing but the standard library. It reads lines from its standard input:
`+ID` for a process group that lives, `-ID` for one that does not any more. When the pipe breaks, or
its parent is another one, the host is dead: the groups have a moment to end by themselves, as their
own pipes have broken too; what is left is killed.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

LOOK_S = 0.5
GRACE_S = 1.0
"""Together with `LOOK_S` under the two seconds that are promised."""


def keep() -> None:
    """Wait for the host's end, then see to it that nothing is left.

    Ends at once where nothing is to be kept.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
    groups = _watch(os.getppid())
    gives_up = time.monotonic() + GRACE_S
    while any(_lives(group) for group in groups) and time.monotonic() < gives_up:
        time.sleep(0.05)
    for group in groups:
        if _lives(group):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)


def _watch(parent: int) -> set[int]:
    """Read until the host is dead; returns the groups that lived then."""
    groups: set[int] = set()
    rest = b""
    while os.getppid() == parent:
        if not select.select([0], [], [], LOOK_S)[0]:
            continue
        data = os.read(0, 4096)
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            group = int(line[1:])
            if line.startswith(b"+"):
                groups.add(group)
            else:
                groups.discard(group)
    return groups


def _lives(group: int) -> bool:
    """Somebody is in the group, and its id has not been given to a stranger.

    An id cannot be given away while its group has members. So where the leader is gone and members
    are left, it is still theirs; where a process has the id now, it must be the leader of a session
    of its own, as our plugins are.
    """
    try:
        if os.getsid(group) != group or os.getpgid(group) != group:
            return False
    except ProcessLookupError:
        return _has_members(group)
    except PermissionError:
        return False
    return True


def _has_members(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    keep()
    sys.exit(0)
