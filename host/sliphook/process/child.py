"""One child process: spawned in a session of its own, watched without being reaped, ended as a group, reaped last.

The order matters. While a dead leader is not reaped, its process id and thus its group's id cannot
be given to a stranger, so the group can be signalled safely; after reaping no signal is ever sent.
"""

from __future__ import annotations

import errno
import math
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Protocol

import trio

from sliphook.errors import SliphookError
from sliphook.files.held_file import Abandoned, HeldFile, Seal, Unreadable, is_there
from sliphook.files.ownership import why_unsafe
from sliphook.quoting import quote
from sliphook.transport import descriptors

from .diagnosis import explain_spawn_error, why_not_startable
from .reaper import OrphanReaper
from .sandbox import command_for, status_of, why_no_sandbox

TEXT_BUSY_S = 2.0
"""How long a file that is still being written (ETXTBSY) is tried again."""
POLL_S = 0.05
"""How often a process is looked at that cannot be waited for."""

_CHANGED_MEANWHILE = (
    "its file {path} was changed while it was started; what runs may not be what was approved"
)

_spawns = trio.CapacityLimiter(8)
_waits = trio.CapacityLimiter(math.inf)


class CannotStart(SliphookError):
    """The program could not be started; trying again will not help. str() is one line that says what to do."""


class Refused(CannotStart):
    """The program is not to be started as things are."""


class Changed(Refused):
    """The program is not the one that was approved.

    Args:
        what: what is wrong.
        hashes: more about it, long, to stand behind everything else.
    """

    def __init__(self, what: str, hashes: str = "") -> None:
        super().__init__(what)
        self.hashes = hashes


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
    return None if is_there(path, seal) else _CHANGED_MEANWHILE.format(path=quote(str(path)))


def describe_exit(returncode: int) -> str:
    """`exited with status 3`, `was killed by SIGSEGV`."""
    if returncode >= 0:
        return f"exited with status {returncode}"
    try:
        return f"was killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was killed by signal {-returncode}"


class _Handover:
    """A child on its way from the thread that started it to a task that may have been cancelled meanwhile."""

    def __init__(self, reaper: OrphanReaper, sandboxed: bool) -> None:
        self._reaper = reaper
        self._sandboxed = sandboxed
        self._lock = threading.Lock()
        self._popen: subprocess.Popen[bytes] | None = None
        self._abandoned = False
        self.approved: tuple[Path, Seal] | None = None

    @property
    def abandoned(self) -> bool:
        return self._abandoned

    def deliver(self, popen: subprocess.Popen[bytes]) -> None:
        self._reaper.add(popen.pid)
        with self._lock:
            if not self._abandoned:
                self._popen = popen
                return
        _destroy(popen, self._reaper)

    def abandon(self) -> None:
        with self._lock:
            self._abandoned = True
            popen, self._popen = self._popen, None
        if popen is not None:
            _destroy(popen, self._reaper)

    def take(self) -> ChildProcess:
        assert self._popen is not None
        return ChildProcess(
            self._popen, self._reaper, sandboxed=self._sandboxed, approved=self.approved
        )


def _destroy(popen: subprocess.Popen[bytes], reaper: OrphanReaper) -> None:
    os.killpg(popen.pid, signal.SIGKILL)  # not reaped, so the id is still its own
    reaper.remove(popen.pid)
    popen.wait()
    for pipe in (popen.stdin, popen.stdout, popen.stderr):
        if pipe is not None:
            pipe.close()


async def spawn(
    path: Path,
    *,
    cwd: Path,
    env: Mapping[str, str],
    reaper: OrphanReaper,
    sandbox: bool = False,
    sha256: str | None = None,
) -> ChildProcess:
    """Start `path` without arguments and without a shell.

    Runs in a thread; if the caller is cancelled, what was started is killed.

    Args:
        path: the executable.
        cwd: its folder; it is made where it is missing.
        env: its whole environment.
        reaper: is told of its process group.
        sandbox: start it without a network and with `cwd` alone to write to (see `sandbox`), or not
            at all.
        sha256: of the file that was approved; None: whatever is there is started.

    Raises:
        Changed: it is another file than the approved one, or became another while it was started.
        Refused: it cannot have the sandbox that it is to be in; others than the user could change
            the file that was approved.
        CannotStart: with the reason; a file that is being written is waited for, at most
            `TEXT_BUSY_S`.
    """
    handover = _Handover(reaper, sandbox)
    try:
        await trio.to_thread.run_sync(
            partial(_spawn, path, cwd, dict(env), handover, sandbox, sha256),
            abandon_on_cancel=True,
            limiter=_spawns,
        )
    except BaseException:
        handover.abandon()
        raise
    try:
        return handover.take()
    except OSError as error:
        handover.abandon()
        raise CannotStart(explain_spawn_error(path, error)) from None


def _spawn(
    path: Path,
    cwd: Path,
    env: dict[str, str],
    handover: _Handover,
    sandbox: bool,
    sha256: str | None,
) -> None:
    why = why_not_startable(path)
    if why is not None:
        raise CannotStart(why)
    try:
        cwd.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CannotStart(
            f"its data folder {quote(str(cwd))} cannot be made: {error.strerror}"
        ) from None
    if sandbox and (why := why_no_sandbox(cwd)) is not None:
        raise Refused(f"it is to run in a sandbox: {why}")
    command = command_for(path, cwd) if sandbox else [str(path.absolute())]
    if sha256 is None:
        _popen(path, command, None, cwd, env, handover)
        return
    if cwd.is_symlink():
        raise Refused(
            f"its data folder {quote(str(cwd))} is a symbolic link, which may lead anywhere; put a folder there"
        )
    held = _held(path, sha256, handover)
    try:
        handover.approved = path, held.seal
        _popen(path, command, None if sandbox else held.by_descriptor, cwd, env, handover)
        if not held.is_as_it_was():  # whoever waits for the handover ends what was started
            raise Changed(_CHANGED_MEANWHILE.format(path=quote(str(path))))
    finally:
        held.close()


def _held(path: Path, sha256: str, handover: _Handover) -> HeldFile:
    """The approved file, held open; nobody else could have written to it."""
    why = why_unsafe(path)
    if why is not None:
        raise Refused(why)
    try:
        held = HeldFile(path, lambda: handover.abandoned)
    except Unreadable as error:
        raise Refused(
            f"{error}; what cannot be read cannot be compared with what was approved"
        ) from None
    except Abandoned:
        raise CannotStart("it is not wanted any more") from None
    if held.sha256 != sha256:
        held.close()
        raise Changed(
            f"its file {quote(str(path))} has changed",
            f" (approved was sha256 {sha256}, now it is {held.sha256})",
        )
    return held


def _popen(
    path: Path,
    command: list[str],
    executable: str | None,
    cwd: Path,
    env: dict[str, str],
    handover: _Handover,
) -> None:
    give_up = time.monotonic() + TEXT_BUSY_S
    while not handover.abandoned:
        try:
            popen = subprocess.Popen(
                command,
                executable=executable,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env=env,
                bufsize=0,
                close_fds=True,
                start_new_session=True,
            )
        except OSError as error:
            if error.errno == errno.ETXTBSY and time.monotonic() < give_up:
                time.sleep(0.02)
                continue
            raise CannotStart(explain_spawn_error(path, error)) from None
        except ValueError as error:
            raise CannotStart(f"{quote(str(path))} cannot be started: {error}") from None
        handover.deliver(popen)
        return
