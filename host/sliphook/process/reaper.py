"""Ends the plugins of a host that is killed: the host's side of `reaper_main`.

The system's own way, PR_SET_PDEATHSIG, is not used for plugins: its signal comes when the *thread*
that started the process ends, and the threads of the host end while its plugins live.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
import weakref
from pathlib import Path

import trio

from sliphook.agent_log import agent_log
from sliphook.transport.descriptors import NO_SIGNAL

from .interpreter import own_python
from .own_threads import OwnThreads

_log = agent_log(__name__)
_starts = OwnThreads("starts of the reaper", 1)
LOOK_S = 1.0
"""The interval of looking whether the reaper lives; also the shortest time between two starts."""
MAX_WAIT_S = 60.0
"""The longest time between two attempts, if none can be started."""
SCRIPT = Path(__file__).with_name("reaper_main.py")
"""The program of the reaper's process."""


class OrphanReaper:
    """One small process beside a host, which kills the plugins' process groups if the host dies.

    It is told which groups live, and acts only after the host's death. If it dies or is stopped,
    `watch` replaces it. If it cannot be started, plugins work all the same: only `kill -9` of the
    host may then leave some running.

    Its methods may be called in any thread.
    """

    def __init__(self) -> None:
        # processes are started in several threads, and each of them calls `add`
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._groups: set[int] = set()
        self._unsent = b""
        self._is_behind = False
        self._closed = False

    async def begin(self) -> None:
        """`start`, in a thread: the loop must not stand still meanwhile.

        Raises:
            RuntimeError: the system has no room for a thread.
        """
        await _starts.run(self.start)

    def start(self) -> None:
        """Start the process, in some milliseconds; a failure is only logged."""
        try:
            process, ours = _start()
        except (OSError, MemoryError) as error:
            _log.warning(
                "the reaper cannot be started (%s); plugins may outlive a killed agent", error
            )
            return
        with self._lock:
            closed = self._closed
            if not closed:
                self._process, self._socket = process, ours
                _open_sockets.add(self)
                self._unsent, self._is_behind = b"", True
                self._tell()
        if closed:
            ours.close()
            _end(process)

    async def watch(self) -> None:
        """Replace the process whenever it has ended or was stopped, at most once in `LOOK_S`.

        Runs until it is cancelled; call it after `start`.
        """
        replaced, wait_s = 0, LOOK_S
        if own_python() is None:
            return  # it can never be started
        while True:
            await trio.sleep(wait_s)
            if self._is_fit():
                wait_s = LOOK_S
                continue
            # longer if none can be started
            wait_s = LOOK_S if self._process is not None else min(2 * wait_s, MAX_WAIT_S)
            replaced += 1
            if replaced.bit_count() == 1:  # the first time, the second, the fourth ...
                _log.warning(
                    "another program has ended or stopped the reaper; it is started again"
                    " (%d times so far)",
                    replaced,
                )
            # no room for a thread: at the next look
            with contextlib.suppress(RuntimeError, MemoryError):
                await _starts.run(self._replace)

    def add(self, group: int) -> None:
        """Tell it that a process group lives."""
        with self._lock:
            self._groups.add(group)
            self._is_behind = True
            self._tell()

    def remove(self, group: int) -> None:
        """Tell it that the group has ended.

        Call this before the leader is reaped: afterwards the id may belong to another process.
        """
        with self._lock:
            self._groups.discard(group)
            self._is_behind = True
            self._tell()

    def close(self) -> None:
        """End the process because the host ends in order, so that no group is left."""
        process = self._take(closed=True)
        if process is not None:
            _end(process)

    def _is_fit(self) -> bool:
        """Whether it runs; also tells it what it could not be told before."""
        with self._lock:
            self._tell()
            if self._process is None:
                return False
            # WNOWAIT: its Popen reaps it
            seen = os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT
            try:
                return os.waitid(os.P_PID, self._process.pid, seen) is None
            except ChildProcessError:  # another part of the agent has reaped it
                return False

    def _replace(self) -> None:
        process = self._take(closed=False)
        if process is not None:
            _end(process)
        self.start()

    def _take(self, *, closed: bool) -> subprocess.Popen[bytes] | None:
        """Take the process out of use, kill it, and close the socket to it."""
        with self._lock:
            # for good: a thread that replaces it may come behind the host's end
            self._closed = self._closed or closed
            process, self._process = self._process, None
            if process is not None:
                # before the close, which one that was stopped would later take for the host's death
                process.kill()
            self._drop_socket()
        return process

    def _tell(self) -> None:
        """Write which groups live, as far as the socket takes it; the rest at the next occasion.

        The newest line alone counts, so nothing is lost by a line that is never written.
        """
        try:
            while self._socket is not None and (self._unsent or self._is_behind):
                if not self._unsent:
                    self._unsent = b"%s\n" % b" ".join(b"%d" % group for group in self._groups)
                    self._is_behind = False
                written = self._socket.send(self._unsent, NO_SIGNAL)
                self._unsent = self._unsent[written:]
        except OSError:
            return  # it is stopped, or gone: `watch` finds out which

    def _drop_socket(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def forget_in_child(self) -> None:
        """Close our end of the socket in a forked child: it would hide the agent's death."""
        self._lock = threading.Lock()  # at the fork, another thread may have held the old one
        self._drop_socket()


def _start() -> tuple[subprocess.Popen[bytes], socket.socket]:
    python = own_python()
    if python is None:
        raise FileNotFoundError("this program is no Python, which it needs")
    ours, theirs = socket.socketpair()
    ours.setblocking(False)  # a stopped reaper must not stop the host
    with theirs:
        try:
            process = subprocess.Popen(
                # without site packages it starts faster
                [python, "-I", "-S", str(SCRIPT)],
                # no pipe, which could be opened once more by way of /proc, and written to
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",  # it keeps no folder in use
                # what a process was started with, every other process of the user can read
                env={},
                # a signal of the terminal does not reach it
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
    return process, ours


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


# weak: this must not keep the reaper of a dropped host alive
_open_sockets: weakref.WeakSet[OrphanReaper] = weakref.WeakSet()


def _close_in_child() -> None:
    for reaper in list(_open_sockets):
        reaper.forget_in_child()


os.register_at_fork(after_in_child=_close_in_child)
