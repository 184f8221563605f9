"""Starts a child process in a thread, after comparing its file with the approved hash.

The thread hands the child over to the task that asked for it. If that task was cancelled meanwhile,
the child is killed at once.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from sliphook.errors import SliphookError
from sliphook.files.held_file import Abandoned, HeldFile, Seal, Unreadable
from sliphook.files.ownership import why_unsafe
from sliphook.files.path_watch import PathWatch
from sliphook.files.private import make_private_folder
from sliphook.quoting import quote

from .child import CHANGED_MEANWHILE, ChildProcess
from .diagnosis import explain_spawn_error, why_not_startable
from .interpreter import own_python, path_with_interpreter
from .limits import NO_LIMITS, Limits, limit_words, prepared
from .own_threads import OwnThreads
from .reaper import OrphanReaper
from .sandbox import command_for, why_no_sandbox
from .streams import start_with_streams

TEXT_BUSY_S = 2.0
"""How long the spawn is tried again if another program holds the file open to write (ETXTBSY)."""
_spawns = OwnThreads("spawns", 8)


class CannotStart(SliphookError):
    """The program could not be started, and trying again will not help.

    str() is one line that says what to do.
    """


class Refused(CannotStart):
    """The host does not start the program before the user has changed or approved something."""


class Changed(Refused):
    """The program is not the one that was approved.

    Args:
        what: the difference, in words.
        hashes: the two hashes; they are long, so the message ends with them.
    """

    def __init__(self, what: str, hashes: str = "") -> None:
        super().__init__(what)
        self.hashes = hashes


class _Handover:
    """Passes a child from the thread that starts it to the task that waits for it.

    The thread calls `deliver`. The task calls `take`, or `abandon` if it is cancelled. A cancelled
    task does not wait for the thread, so either call may come first: the later one kills the child.

    Attributes:
        approved: the approved file, its seal and the watch on its path; None if there is nothing to
            compare.
    """

    def __init__(self, reaper: OrphanReaper, sandboxed: bool) -> None:
        self._reaper = reaper
        self._sandboxed = sandboxed
        self._lock = threading.Lock()
        self._popen: subprocess.Popen[bytes] | None = None
        self._abandoned = False
        self.approved: tuple[Path, Seal, PathWatch] | None = None

    @property
    def abandoned(self) -> bool:
        # without the lock: this only saves work, and `deliver` looks again
        return self._abandoned

    def deliver(self, popen: subprocess.Popen[bytes]) -> None:
        # first: from here on, the death of the host ends the child too
        self._reaper.add(popen.pid)
        with self._lock:
            if not self._abandoned:
                self._popen = popen
                return
        # outside the lock: it waits for the child, and `abandon` runs in the host's loop
        _destroy(popen, self._reaper)

    def abandon(self) -> None:
        with self._lock:
            self._abandoned = True
            popen, self._popen = self._popen, None
        if popen is not None:
            _destroy(popen, self._reaper)
        if self.approved is not None:
            self.approved[2].close()

    def take(self) -> ChildProcess:
        assert self._popen is not None
        return ChildProcess(
            self._popen, self._reaper, sandboxed=self._sandboxed, approved=self.approved
        )


def _destroy(popen: subprocess.Popen[bytes], reaper: OrphanReaper) -> None:
    # just started: even if others have reaped it, its id belongs to no other group yet
    with suppress(ProcessLookupError):
        os.killpg(popen.pid, signal.SIGKILL)
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
    limits: Limits = NO_LIMITS,
    sha256: str | None = None,
    arguments: Sequence[str] = (),
    files: Mapping[Path, str] | None = None,
) -> ChildProcess:
    """Start `path` without a shell.

    The work is done in a thread. If the caller is cancelled, the process is killed.

    Args:
        path: the executable.
        cwd: the working directory; it is created if it is missing.
        env: the whole environment.
        reaper: is told of the new process group.
        sandbox: run the plugin without a network, with `cwd` as its only writable folder (see
            `sandbox`); if that is impossible, do not start it.
        limits: how much of the machine each process may use.
        sha256: the hash of the approved file; None starts any file.
        arguments: what follows the path.
        files: other files that were approved, with their hashes; they are compared once.

    Raises:
        Changed: the file is not the approved one, or was changed while it was started.
        Refused: no sandbox can be made, the approved file cannot be read, other users could
            change it, or `cwd` is a symbolic link.
        CannotStart: for any other reason. If the file is being written, this waits for that to end,
            at most `TEXT_BUSY_S`.
    """
    handover = _Handover(reaper, sandbox)
    try:
        await _spawns.run(
            partial(
                _spawn,
                path,
                arguments,
                cwd,
                dict(env),
                handover,
                sandbox,
                limits,
                sha256,
                files or {},
            ),
            abandon_on_cancel=True,  # a slow disk must not hold up the agent's end
        )
    except (RuntimeError, MemoryError) as error:  # "can't start new thread"; "" without memory
        handover.abandon()
        why = str(error) or "the agent has no memory left"
        raise CannotStart(f"{quote(str(path))} cannot be started: {why}") from None
    except BaseException:
        # also if this task was cancelled: the thread may still be about to deliver a child
        handover.abandon()
        raise
    try:
        return handover.take()
    except OSError as error:  # no descriptors are left for our ends of the pipes
        handover.abandon()
        raise CannotStart(explain_spawn_error(path, error)) from None


def _spawn(
    path: Path,
    arguments: Sequence[str],
    cwd: Path,
    env: dict[str, str],
    handover: _Handover,
    sandbox: bool,
    limits: Limits,
    sha256: str | None,
    files: Mapping[Path, str],
) -> None:
    # before the spawn, whose error does not say which of these reasons it has
    why = why_not_startable(path)
    if why is not None:
        raise CannotStart(why)
    try:
        make_private_folder(cwd)
    except OSError as error:
        raise CannotStart(
            f"its data folder {quote(str(cwd))} cannot be created: {error.strerror}"
        ) from None
    python, words = own_python(), limit_words(limits)
    if python is None and (sandbox or words):
        raise Refused(
            "its limits and its sandbox are set by a Python, and the agent's program is none"
        )
    if sandbox and (why := why_no_sandbox(cwd)) is not None:
        raise Refused(f"it must run in a sandbox: {why}")
    if "PATH" in env:
        env["PATH"] = path_with_interpreter(path, env["PATH"])
    plain = [str(path.absolute()), *arguments]
    sandboxed = [*command_for(path, cwd), *plain[1:]] if sandbox else plain
    if python is not None:  # else it inherits them as they are
        words = [*_signal_words(), *words]
    command = prepared(sandboxed, words, python or "")
    for file, approved in files.items():
        _held(file, approved, handover).close()
    if sha256 is None:
        _popen(path, command, None, cwd, env, handover)
        return
    # a link to a folder is accepted above
    if cwd.is_symlink():
        raise Refused(
            f"its data folder {quote(str(cwd))} is a symbolic link, which may lead anywhere;"
            " put a folder there"
        )
    watch = PathWatch(path)  # before the hash, as from then on the path must lead there
    try:
        held = _held(path, sha256, handover)
    except BaseException:
        watch.close()
        raise
    try:
        handover.approved = path, held.seal, watch
        # run the very bytes that were hashed, by descriptor; where something else starts it, in a
        # sandbox or after `starter_main`, that path does not exist
        _popen(path, command, held.by_descriptor if command == plain else None, cwd, env, handover)
        # the error makes `spawn` abandon and so kill the child
        if watch.has_moved() or not held.is_as_it_was():
            raise Changed(CHANGED_MEANWHILE.format(path=quote(str(path))))
    finally:
        held.close()
        if handover.abandoned:  # perhaps before it had the watch to close
            watch.close()


def _signal_words() -> list[str]:
    """What `starter_main` has to do for the signals that a child of this thread inherits.

    A program that ignores SIGCHLD takes a child that failed for one that did not. To go by way of
    `starter_main` costs 15 ms, so it is done only if it is needed.
    """
    return ["signals"] if _ignores_signals() or signal.pthread_sigmask(signal.SIG_BLOCK, []) else []


def _ignores_signals() -> bool:
    signals = signal.SIGCHLD, signal.SIGTERM
    # by the system, if it says so: Python does not know what C code has set
    with suppress(OSError, IndexError, ValueError):
        status = Path("/proc/self/status").read_bytes()
        ignored = int(status.partition(b"\nSigIgn:")[2].split(maxsplit=1)[0], 16)
        return any(ignored >> (number - 1) & 1 for number in signals)
    return signal.SIG_IGN in map(signal.getsignal, signals)


def _held(path: Path, sha256: str, handover: _Handover) -> HeldFile:
    """Open and hash the approved file, which only the user may be able to change."""
    # a hash says nothing of a file that others can change a moment later
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
        raise CannotStart("the start was cancelled") from None
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
    def start(stdin: int, stdout: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            executable=executable,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=env,
            bufsize=0,
            # protocol.md promises that only the standard streams are open
            close_fds=True,
            # its own session and group: the host can signal all of it, a Ctrl+C in the terminal
            # does not reach it
            start_new_session=True,
        )

    give_up = time.monotonic() + TEXT_BUSY_S
    while not handover.abandoned:
        try:
            popen = start_with_streams(start)
        except OSError as error:
            # usual just after the file was written: a process that was forked meanwhile holds the
            # writer's descriptor until its own exec
            if error.errno == errno.ETXTBSY and time.monotonic() < give_up:
                time.sleep(0.02)
                continue
            raise CannotStart(explain_spawn_error(path, error)) from None
        except ValueError as error:
            # for example a NUL in a granted variable
            raise CannotStart(f"{quote(str(path))} cannot be started: {error}") from None
        handover.deliver(popen)
        return
