"""What a process has to do as the first one of a container: wait for orphans.

The system gives it every process whose parent has ended, such as what a plugin leaves behind. An
ended process keeps its place in the table of processes until its parent has waited for it.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from functools import cache
from typing import Final

__all__ = ["reap_as_init"]

LOOK_S: Final = 1.0
_AT_ONCE: Final = 100
_OWN_WAIT_LOOKS: Final = 2
"""After more looks at one ended child it counts as an orphan: ours are waited for at once."""


@cache
def reap_as_init() -> None:
    """Begin to wait for orphans, in a thread, if this process is PID 1 and does not do so yet."""
    if os.getpid() == 1:
        threading.Thread(target=_reap_for_ever, name="sliphook-orphans", daemon=True).start()


def _reap_for_ever() -> None:
    seen: list[int] = []
    while True:
        time.sleep(LOOK_S)
        for _ in range(_AT_ONCE):
            pid = _oldest_ended_child()
            seen = [*seen, pid] if seen[-1:] == [pid] else [pid]
            if pid == 0 or not (_is_orphan(pid) or len(seen) > _OWN_WAIT_LOOKS):
                break
            _reap(pid)


def _oldest_ended_child() -> int:
    """Its id, without waiting for it, as it may be one of ours; 0 if there is none."""
    try:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return 0
    return 0 if ended is None else ended.si_pid


def _is_orphan(pid: int) -> bool:
    """True if this process did not start it: ours lead a session, or are in this process's."""
    try:
        return os.getsid(pid) not in (pid, os.getsid(0))
    except ProcessLookupError:
        return False


def _reap(pid: int) -> None:
    with suppress(ChildProcessError):  # it was waited for meanwhile
        os.waitpid(pid, os.WNOHANG)
