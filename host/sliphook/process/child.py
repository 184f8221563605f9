"""One child process: watched without being reaped, signalled as a group, reaped last.

The order matters. While a dead leader is not reaped, its process id and thus its group's id cannot
be given to a stranger, so the group can be signalled safely; after reaping no signal is ever sent.
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
"""How often a process is looked at that cannot be waited for."""

CHANGED_MEANWHILE = (
    "its file {path} was changed while it was started; what runs may not be what was approved"
)

_waits = trio.CapacityLimiter(math.inf)


class Process(Protocol):
    """What the host needs of a running plugin: a child process, or in tests something that behaves like one.

    Attributes:
        pid: of the process and its group.
        stdin, stdout, stderr: our ends, taken by `pipes.take`; whoever takes one closes it.
        why_changed: tells what became of the approved file since it was looked at, in a line, or
            None. Waits for the disk, so it is called in a thread. None where no file was approved.
    """

    pid: int
    stdin: int
    stdout: int
    stderr: int
    why_changed: Callable[[], str | None] | None

    async def exited(self) -> None:
        """Wait until it has ended."""
        ...

    def signal_group(self, number: int) -> None:
        """Signal the whole group; does nothing once it has been reaped."""
        ...

    def reap(self) -> int | None:
        """Collect one that has ended and kill the rest of its group; None: it still lives."""
        ...


class ChildProcess:
    """A living or dead child.

    `stdin`, `stdout` and `stderr` are our ends, non-blocking; whoever takes one closes it.
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
        # duplicates: Popen's own file objects would close them again when they are collected
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
        """Wait until the process has ended; it is not reaped by this."""
        if self.returncode is not None:
            return
        if hasattr(os, "pidfd_open"):
            try:
                descriptor = os.pidfd_open(self.pid)
            except ProcessLookupError:
                return
            except OSError:
                # no descriptors left: that must not keep anybody from noticing a death
                while not self._has_ended():  # noqa: ASYNC110
                    await trio.sleep(POLL_S)
                return
            try:
                await trio.lowlevel.wait_readable(descriptor)
            finally:
                trio.lowlevel.notify_closing(descriptor)
                os.close(descriptor)
        else:
            wait = partial(os.waitid, os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            with suppress(ChildProcessError):  # reaped meanwhile
                await trio.to_thread.run_sync(wait, abandon_on_cancel=True, limiter=_waits)

    def _has_ended(self) -> bool:
        return (
            self.returncode is not None
            or os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
        )

    def signal_group(self, number: int) -> None:
        """Signal the whole group; does nothing once the leader has been reaped."""
        if self.returncode is None:
            # nobody may be left; macOS says EPERM where only the unreaped leader remains
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def reap(self) -> int | None:
        """Collect a process that has ended; its group is killed first, as nothing can be sent afterwards. None: it still lives."""
        if self.returncode is None:
            ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if ended is None:
                return None
            self.signal_group(signal.SIGKILL)
            self._reaper.remove(self.pid)
            returncode = self._popen.wait()
            self.returncode = status_of(returncode) if self._sandboxed else returncode
        return self.returncode


def _why_changed(path: Path, seal: Seal) -> str | None:
    return None if is_there(path, seal) else CHANGED_MEANWHILE.format(path=quote(str(path)))


def describe_exit(returncode: int) -> str:
    """`exited with status 3`, `was killed by SIGSEGV`."""
    if returncode >= 0:
        return f"exited with status {returncode}"
    try:
        return f"was killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was killed by signal {-returncode}"
