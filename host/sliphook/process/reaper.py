"""Sees to it that no plugin outlives a host that is killed: the host's side of `keeper_main`."""

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
"""How long the reaper may take to end when there is nothing to keep; it takes a millisecond."""
SCRIPT = Path(__file__).with_name("reaper_main.py")
"""Run by a Python without site packages."""


class OrphanReaper:
    """One small process beside a host.

    It is told which process groups live, and acts only when the host is dead.

    Without it (it cannot be started, or was killed) plugins work all the same; only `kill -9` of
    the host may then leave some behind. Used from several threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1

    def start(self) -> None:
        """Start the process. Takes some milliseconds; a failure is logged and nothing else."""
        with self._lock:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(SCRIPT)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    start_new_session=True,
                )
            except OSError as error:
                _log.warning(
                    "the reaper cannot be started (%s); plugins may outlive a killed agent", error
                )
                return
            assert self._process.stdin is not None
            self._pipe = os.dup(self._process.stdin.fileno())
            self._process.stdin.close()
            os.set_blocking(self._pipe, False)
            _open_pipes.add(self)

    def add(self, group: int) -> None:
        """A process group lives."""
        self._tell(b"+%d\n" % group)

    def remove(self, group: int) -> None:
        """The group is dead; to be called before its leader is reaped, as its id may be another's afterwards."""
        self._tell(b"-%d\n" % group)

    def close(self) -> None:
        """The host ends in good order: nothing is left to keep."""
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
                os.write(self._pipe, line)
            except OSError as error:
                _log.warning("the reaper is gone (%s); plugins may outlive a killed agent", error)
                self._drop_pipe()

    def _drop_pipe(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def forget_in_child(self) -> None:
        """In a forked child of the agent: our end would keep the pipe open after the agent's death."""
        self._lock = threading.Lock()
        self._drop_pipe()


_open_pipes: weakref.WeakSet[OrphanReaper] = weakref.WeakSet()


def _close_in_child() -> None:
    for reaper in list(_open_pipes):
        reaper.forget_in_child()


os.register_at_fork(after_in_child=_close_in_child)
