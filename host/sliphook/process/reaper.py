"""Ends the plugins of a host that is killed: the host's side of `reaper_main`."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path

_log = logging.getLogger(__name__)
CLOSE_S = 1.0
"""How long the reaper may take to end when no group is left; usually it takes a millisecond."""
SCRIPT = Path(__file__).with_name("reaper_main.py")
"""The program of the reaper's process."""


class OrphanReaper:
    """One small process beside a host, which kills the plugins' process groups if the host dies.

    It is told which groups live, and acts only after the host's death. If it cannot be started or
    is killed, plugins work all the same: only `kill -9` of the host may then leave some running.

    Its methods may be called in any thread.
    """

    def __init__(self) -> None:
        # processes are started in several threads, and each of them calls `add`
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1

    def start(self) -> None:
        """Start the process, in some milliseconds; a failure is only logged."""
        with self._lock:
            try:
                # without site packages it starts faster; in its own session, a signal of the
                # terminal does not reach it; in `/` it keeps no folder in use
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(SCRIPT)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    # what a process was started with, every other process of the user can read
                    env={},
                    start_new_session=True,
                )
            except OSError as error:
                _log.warning(
                    "the reaper cannot be started (%s); plugins may outlive a killed agent", error
                )
                return
            assert self._process.stdin is not None
            # a duplicate: Popen's file object closes its own when it is garbage-collected
            self._pipe = os.dup(self._process.stdin.fileno())
            self._process.stdin.close()
            os.set_blocking(self._pipe, False)  # a stopped reaper must not stop the host
            _open_pipes.add(self)

    def add(self, group: int) -> None:
        """Tell it that a process group lives."""
        self._tell(b"+%d\n" % group)

    def remove(self, group: int) -> None:
        """Tell it that the group has ended.

        Call this before the leader is reaped: afterwards the id may belong to another process.
        """
        self._tell(b"-%d\n" % group)

    def close(self) -> None:
        """End the process because the host ends in order, so that no group is left."""
        with self._lock:
            self._drop_pipe()
            if self._process is not None:
                try:
                    self._process.wait(timeout=CLOSE_S)
                except subprocess.TimeoutExpired:  # stopped, or the machine is very busy
                    self._process.kill()
                    self._process.wait()
                self._process = None

    def _tell(self, line: bytes) -> None:
        with self._lock:
            if self._pipe < 0:
                return
            try:
                # shorter than PIPE_BUF: written whole or, if the pipe is full, not at all
                os.write(self._pipe, line)
            except OSError as error:
                _log.warning("the reaper is gone (%s); plugins may outlive a killed agent", error)
                self._drop_pipe()

    def _drop_pipe(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def forget_in_child(self) -> None:
        """Close our end of the pipe in a forked child: it would hide the agent's death."""
        self._lock = threading.Lock()  # at the fork, another thread may have held the old one
        self._drop_pipe()


# weak: this must not keep the reaper of a dropped host alive
_open_pipes: weakref.WeakSet[OrphanReaper] = weakref.WeakSet()


def _close_in_child() -> None:
    for reaper in list(_open_pipes):
        reaper.forget_in_child()


os.register_at_fork(after_in_child=_close_in_child)
