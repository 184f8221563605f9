"""One child process: waited for without reaping it, signalled as a group, and reaped last.

The order matters. As long as a dead leader is not reaped, the system gives its process id, which is
also the id of its group, to no other process. So until then the group can be signalled safely.
After reaping, no signal is sent.

Others in the agent's process may reap first: a thread that waits for any child, or the system, if
the agent or who started it ignores SIGCHLD. Then the process has ended and its status is unknown;
a pidfd, opened when it was started, still tells this process from a later one of the same id.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import trio

from sliphook.files.held_file import Seal, is_there
from sliphook.files.path_watch import PathWatch
from sliphook.quoting import quote
from sliphook.transport import descriptors

from .own_threads import OwnThreads
from .reaper import OrphanReaper
from .sandbox import status_of
from .session_members import end_session, pid_is_free

POLL_S = 0.05
"""The interval of looking at a process for which no pidfd can be opened."""

UNKNOWN_STATUS: Final = 1 << 16
"""The status of a process that others have reaped; no process ends with such a number."""

CHANGED_MEANWHILE = (
    "its file {path} was changed while it was started;"
    " the running program may not be the approved one"
)

_waits = OwnThreads("waits for plugins", math.inf)
"""Without pidfds each living process occupies one."""


class Process(Protocol):
    """What the host needs of a running plugin: a child process, or a fake one in tests.

    Attributes:
        pid: the id of the process and of its group.
        stdin, stdout, stderr: our ends of the pipes, from `descriptors.take`. The code that uses
            one closes it with `descriptors.close`.
        why_changed: returns a line if the approved file has changed since it was hashed, or None.
            It waits for the disk, so call it in a thread. None if no file was approved.
    """

    pid: int
    stdin: int
    stdout: int
    stderr: int
    why_changed: Callable[[], str | None] | None

    async def exited(self) -> None:
        """Wait until the process has ended; this does not reap it."""
        ...

    def signal_group(self, number: int) -> None:
        """Send a signal to the whole group; does nothing after `reap` has returned a status."""
        ...

    def reap(self) -> int | None:
        """Reap a process that has ended and kill the rest of its group; None if it still lives."""
        ...

    async def end_session(self) -> None:
        """Kill what is left of its session, in groups of their own. Called after `reap`."""
        ...


class ChildProcess:
    """A child process, living or dead (see `Process`).

    Args:
        popen: the process, started with three pipes as the leader of its own session.
        reaper: is told when the group has ended.
        sandboxed: the process is bubblewrap, which reports the plugin's status in its own way.
        approved: the approved file, its seal and the watch on its path, which is closed here; None.

    Attributes:
        returncode: the exit status as `subprocess` gives it, or `UNKNOWN_STATUS`; None until the
            process is reaped.

    Raises:
        OSError: no descriptors are left; the process is unchanged.
    """

    def __init__(
        self,
        popen: subprocess.Popen[bytes],
        reaper: OrphanReaper,
        *,
        sandboxed: bool = False,
        approved: tuple[Path, Seal, PathWatch] | None = None,
    ) -> None:
        assert popen.stdin is not None
        assert popen.stdout is not None
        assert popen.stderr is not None
        self._popen = popen
        self._reaper = reaper
        self._sandboxed = sandboxed
        self.why_changed: Callable[[], str | None] | None = (
            partial(_why_changed, *approved) if approved is not None else None
        )
        self._path_watch = approved[2] if approved is not None else None
        self.pid = popen.pid
        self.returncode: int | None = None
        self._owner = os.getpid()
        # duplicates: Popen's file objects close their own descriptors when they are collected
        taken: list[int] = []
        try:
            for pipe in (popen.stdin, popen.stdout, popen.stderr):
                taken.append(descriptors.take(pipe.fileno()))
                pipe.close()
        except OSError:
            for descriptor in taken:
                descriptors.close(descriptor)
            raise
        self.stdin, self.stdout, self.stderr = taken
        self._pidfd = descriptors.take_pidfd(self.pid)

    async def exited(self) -> None:
        """Wait until the process has ended; this does not reap it."""
        if self._pidfd is not None and not self._has_ended():
            # a pidfd becomes readable when the process ends, so that no thread has to wait for it;
            # a duplicate, since several tasks wait and trio lets one wait at each descriptor
            try:
                descriptor = descriptors.take(self._pidfd)
            except OSError:
                await self._poll()
                return
            try:
                await trio.lowlevel.wait_readable(descriptor)
            finally:
                descriptors.close(descriptor)
        elif hasattr(os, "pidfd_open"):
            await self._poll()
        else:
            # WNOWAIT leaves the process unreaped, so that its id stays its own
            wait = partial(os.waitid, os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            with suppress(ChildProcessError):  # it has been reaped meanwhile
                await _waits.run(wait, abandon_on_cancel=True)

    async def _poll(self) -> None:
        # no descriptors are left: the end must be noticed all the same
        while not self._has_ended():  # noqa: ASYNC110
            await trio.sleep(POLL_S)

    def _has_ended(self) -> bool:
        return self.returncode is not None or self._look() is not None

    def _look(self) -> int | None:
        """The status of a process that has ended, without reaping it; None if it lives."""
        by, id = (os.P_PID, self.pid) if self._pidfd is None else (os.P_PIDFD, self._pidfd)
        try:
            ended = os.waitid(by, id, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        except ChildProcessError:
            return UNKNOWN_STATUS
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def signal_group(self, number: int) -> None:
        """Send a signal to the whole group; does nothing after the leader has been reaped."""
        # a forked child of the agent has a copy of this object and no business with the process
        if self.returncode is None and os.getpid() == self._owner and self._group_is_its_own():
            # the group may have ended; macOS says EPERM if only the unreaped leader is left
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def _group_is_its_own(self) -> bool:
        """False if others have reaped the leader and its id belongs to another process by now."""
        if self._look() != UNKNOWN_STATUS:
            return True
        # the system gives the id of a group that has members to no new process
        return pid_is_free(self.pid)

    def reap(self) -> int | None:
        """Reap a process that has ended, and return its status; None if it still lives.

        The rest of its group is killed first: after reaping, no signal can be sent safely.
        """
        if self.returncode is None:
            # this does not reap, so that the kill below cannot meet another group
            status = self._look()
            if status is None:
                return None
            self.signal_group(signal.SIGKILL)
            self._reaper.remove(self.pid)  # before `wait`: after it the id may be another's
            if status == UNKNOWN_STATUS:
                self._popen.returncode = status  # nothing to wait for, not even when it is dropped
            else:
                self._popen.wait()
                status = status_of(status) if self._sandboxed else status
            self.returncode = status
            if self._pidfd is not None:
                descriptors.close(self._pidfd)
                self._pidfd = None
            if self._path_watch is not None:
                self._path_watch.close()
        return self.returncode

    async def end_session(self) -> None:
        """Kill what is left of its session, in groups of their own. Called after `reap`."""
        if self.returncode is not None and os.getpid() == self._owner:
            await end_session(self.pid)


def _why_changed(path: Path, seal: Seal, watch: PathWatch) -> str | None:
    unchanged = is_there(path, seal) and not watch.has_moved()
    watch.close()
    return None if unchanged else CHANGED_MEANWHILE.format(path=quote(str(path)))


def describe_exit(returncode: int) -> str:
    """The end of a process in words: `exited with status 3`, `was killed by SIGSEGV`."""
    if returncode == UNKNOWN_STATUS:
        return (
            "ended with an unknown status (the agent's process ignores SIGCHLD, or reaps"
            " children that are not its own)"
        )
    if returncode >= 0:
        return f"exited with status {returncode}"
    try:
        return f"was killed by {signal.Signals(-returncode).name}"
    except ValueError:
        # most real-time signals have no name
        return f"was killed by signal {-returncode}"
