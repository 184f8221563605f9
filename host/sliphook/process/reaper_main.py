"""The reaper's process: within two seconds after the host's death it kills the plugins, and ends.

It is run as a script and uses the standard library alone. It reads lines from its standard input:
each holds the ids of all process groups that live, and the last one counts. If the stream ends, or
the parent process is another one, the host is dead. Then the groups get a moment to end by
themselves, because their own pipes have broken too. The groups that are left are killed, and on
Linux what else belongs to their sessions.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Collection, Iterator

LOOK_S = 0.5
"""The interval of looking at the parent: a forked child of the agent may keep the stream open."""
GRACE_S = 1.0
"""Together with `LOOK_S` less than the two seconds that are promised."""
MAX_SWEEPS = 20
"""How often the processes are looked through: members that are found may have forked meanwhile."""
_PR_SET_DUMPABLE = 4


def main() -> None:
    """Wait for the host's death, then kill the groups that do not end by themselves."""
    # what ends the agent may be sent to all its processes; this one has to outlive it
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
    _shut_out_others()
    groups = _watch(os.getppid())
    gives_up = time.monotonic() + GRACE_S
    while any(_lives(group) for group in groups) and time.monotonic() < gives_up:
        time.sleep(0.05)
    for group in groups:
        # looked at once more: the id of a group that has ended may belong to others by now
        if _lives(group):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
    kill_sessions(groups)


def kill_sessions(sessions: Collection[int]) -> None:
    """Kill the processes of these sessions, whatever their groups; on Linux, else nothing is done.

    A plugin leads a session, whose id its children keep if they get a group of their own: the jobs
    of a shell, what `timeout` starts. A daemon that has called `setsid` is in another session.
    """
    for _ in range(MAX_SWEEPS):
        found = 0
        for process, session in members_of(sessions):
            # what has ended since it was read, or is another user's
            with contextlib.suppress(OSError):
                _kill_member(process, session)
                found += 1
        if not found:
            return


def members_of(sessions: Collection[int]) -> Iterator[tuple[int, int]]:
    """Each living process of the sessions, and which of them it is in."""
    try:
        entries = os.listdir("/proc")
    except OSError:  # another system
        return
    for entry in filter(str.isdigit, entries):
        with contextlib.suppress(OSError, IndexError, ValueError):
            with open(f"/proc/{entry}/stat", "rb") as file:
                # the name before it may hold anything, brackets too
                state, _, _, session = file.read().rpartition(b")")[2].split()[:4]
            if state not in (b"Z", b"X") and int(session) in sessions:
                yield int(entry), int(session)


def _kill_member(process: int, session: int) -> None:
    descriptor = os.pidfd_open(process)
    try:
        # asked again, of the very process that the descriptor is for
        if os.getsid(process) == session:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    finally:
        os.close(descriptor)


def _shut_out_others() -> None:
    """Keep the user's other processes from this one's memory and descriptors, on Linux.

    Else a plugin could trace it, or take its stream and say that the plugin's group has ended.
    """
    # without ctypes, or on another system, the reaper does its work all the same
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _watch(parent: int) -> set[int]:
    """Read until the host `parent` is dead; returns the groups that lived then."""
    groups: set[int] = set()
    rest = b""
    while os.getppid() == parent:
        if not select.select([0], [], [], LOOK_S)[0]:
            continue
        data = os.read(0, 65536)
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        if lines:
            groups = {int(group) for group in lines[-1].split()}
    return groups


def _lives(group: int) -> bool:
    """True if the group has members and its id was not reused for other processes.

    The system does not reuse an id while its group has members. So if there is no process with this
    id, members that are left are the plugin's. If there is one, it must be the leader of a session
    and of a group, as every plugin is.
    """
    try:
        if os.getsid(group) != group or os.getpgid(group) != group:
            return False
    except ProcessLookupError:
        return _has_members(group)
    except PermissionError:  # a process of another user: not ours
        return False
    return True


def _has_members(group: int) -> bool:
    try:
        os.killpg(group, 0)  # signal 0 only checks
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    main()
    sys.exit(0)
