"""One child process: waited for without reaping it, signalled as a group, and reaped last.

The order matters. As long as a dead leader is not reaped, the system gives its process id, which is
also the id of its group, to no other process. So until then the group can be signalled safely.
After reaping, no signal is sent.
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
from typing import Protocol

import trio

from sliphook.files.held_file import Seal, is_there
from sliphook.quoting import quote
from sliphook.transport import descriptors

from .reaper import OrphanReaper
from .sandbox import status_of

POLL_S = 0.05
"""The interval of looking at a process for which no pidfd can be opened."""

CHANGED_MEANWHILE = (
    "its file {path} was changed while it was started;"
    " the running program may not be the approved one"
)

# without pidfds each living process occupies a thread: no limit, and none of the agent's threads
_waits = trio.CapacityLimiter(math.inf)


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


class ChildProcess:
    """A child process, living or dead (see `Process`).

    Args:
        popen: the process, started with three pipes as the leader of its own session.
        reaper: is told when the group has ended.
        sandboxed: the process is bubblewrap, which reports the plugin's status in its own way.
        approved: the approved file and its seal, or None.

    Attributes:
        returncode: the exit status as `subprocess` gives it; None until the process is reaped.

    Raises:
        OSError: no descriptors are left; the process is unchanged.
    """

    def __init__(
        self,
        popen: subprocess.Popen[bytes],
        reaper: OrphanReaper,
        *,
        sandboxed: bool = False,
        approved: tuple[Path, Seal] | None = None,
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
        self.pid = popen.pid
        self.returncode: int | None = None
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

    async def exited(self) -> None:
        """Wait until the process has ended; this does not reap it."""
        if self.returncode is not None:
            return
        if hasattr(os, "pidfd_open"):
            # a pidfd becomes readable when the process ends, so that no thread has to wait for it
            try:
                descriptor = os.pidfd_open(self.pid)
            except ProcessLookupError:
                return
            except OSError:
                # no descriptors are left: poll, for the end must be noticed all the same
                while not self._has_ended():  # noqa: ASYNC110
                    await trio.sleep(POLL_S)
                return
            try:
                await trio.lowlevel.wait_readable(descriptor)
            finally:
                trio.lowlevel.notify_closing(descriptor)  # trio's rule before a close
                os.close(descriptor)
        else:
            # WNOWAIT leaves the process unreaped, so that its id stays its own
            wait = partial(os.waitid, os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            with suppress(ChildProcessError):  # it has been reaped meanwhile
                await trio.to_thread.run_sync(wait, abandon_on_cancel=True, limiter=_waits)

    def _has_ended(self) -> bool:
        return (
            self.returncode is not None
            or os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
        )

    def signal_group(self, number: int) -> None:
        """Send a signal to the whole group; does nothing after the leader has been reaped."""
        if self.returncode is None:
            # the group may have ended; macOS says EPERM if only the unreaped leader is left
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def reap(self) -> int | None:
        """Reap a process that has ended, and return its status; None if it still lives.

        The rest of its group is killed first: after reaping, no signal can be sent safely.
        """
        if self.returncode is None:
            # WNOWAIT: it stays unreaped, so that the kill below cannot meet another group
            ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if ended is None:
                return None
            self.signal_group(signal.SIGKILL)
            self._reaper.remove(self.pid)  # before `wait`: after it the id may be another's
            returncode = self._popen.wait()
            self.returncode = status_of(returncode) if self._sandboxed else returncode
        return self.returncode


def _why_changed(path: Path, seal: Seal) -> str | None:
    return None if is_there(path, seal) else CHANGED_MEANWHILE.format(path=quote(str(path)))


def describe_exit(returncode: int) -> str:
    """The end of a process in words: `exited with status 3`, `was killed by SIGSEGV`."""
    if returncode >= 0:
        return f"exited with status {returncode}"
    try:
        return f"was killed by {signal.Signals(-returncode).name}"
    except ValueError:
        # most real-time signals have no name
        return f"was killed by signal {-returncode}"
