"""Ends what plugins that have ended leave behind: members of their session in other groups."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial

import trio

from .own_threads import OwnThreads
from .reaper_main import kill_sessions, members_of


class _Ended:
    """The sessions of one event loop that wait to be looked through."""

    def __init__(self) -> None:
        self.waiting: set[int] = set()
        self.looks = trio.Lock()


_kills = OwnThreads("kills", 1)
# one for each loop: hosts may run in several threads
_ended: trio.lowlevel.RunVar[_Ended] = trio.lowlevel.RunVar("sliphook sessions")


async def end_session(session: int) -> None:
    """Kill what is left of a session whose leader has been reaped; on Linux, else nothing is done.

    All processes of the machine are looked through, in a thread. Sessions that end at the same time
    share one look: fifty threads, and fifty looks, would hold the agent.

    Args:
        session: its id, which was the plugin's process id.
    """
    try:
        ended = _ended.get()
    except LookupError:
        ended = _Ended()
        _ended.set(ended)
    ended.waiting.add(session)
    async with ended.looks:
        # gone if the look that this task has waited for was for it too
        if session in ended.waiting:
            sessions, ended.waiting = ended.waiting, set()
            # no room for a thread: then only the reaper looks, at the death of the agent
            with suppress(RuntimeError):
                await _kills.run(partial(_kill, sessions))


def _kill(sessions: set[int]) -> None:
    # the system gives the id of a session that has members to no new process
    kill_sessions({session for session in sessions if pid_is_free(session)})


def only_zombies(session: int) -> bool:
    """True if nothing of a session lives: what is left has ended, and waits for its parent.

    Linux alone can tell; elsewhere False.
    """
    return os.path.isdir("/proc/self") and next(members_of({session}), None) is None


def pid_is_free(pid: int) -> bool:
    """True if no process has this id."""
    try:
        os.kill(pid, 0)  # signal 0 only checks
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
