"""Stands in for a plugin's process: three pipes inside this process, and an exit status."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import trio

from sliphook.transport import descriptors


class FakeProcess:
    """A `Process` without a process.

    The plugin's ends are `reads` and `writes`; they are closed at the end.

    Attributes:
        returncode: the exit status as in `subprocess`; None before the end.
    """

    def __init__(self) -> None:
        self.pid = 0
        self.why_changed: Callable[[], str | None] | None = None
        self.returncode: int | None = None
        self.reads, self.stdin = _pipe()
        self.stdout, self.writes = _pipe()
        self.stderr, self._complaints = _pipe()
        self.life = trio.CancelScope()
        self._ended = trio.Event()

    def dead(self) -> bool:
        """The process has ended."""
        return self.returncode is not None

    async def exited(self) -> None:
        """Wait for the end."""
        await self._ended.wait()

    def signal_group(self, number: int) -> None:
        """End the process; every signal does."""
        self.end(-number)

    def reap(self) -> int | None:
        """The exit status; None while the process lives."""
        return self.returncode

    async def end_session(self) -> None:
        """Nothing is left of it."""

    def end(self, returncode: int = -signal.SIGKILL) -> None:
        """End now, as a process does: written bytes stay readable, all else stops."""
        if self.returncode is None:
            # First: `write` checks it, and must not use a descriptor that is closed below.
            self.returncode = returncode
            self.life.cancel()
            for descriptor in (self.reads, self.writes, self._complaints):
                descriptors.close(descriptor)
            self._ended.set()

    def write(self, data: bytes) -> bytes:
        """Write as much as the pipe takes now, and return the rest.

        After the end, everything is lost.
        """
        if self.returncode is not None:
            return b""
        try:
            return data[os.write(self.writes, data) :]
        except BlockingIOError:
            return data
        except BrokenPipeError:
            return b""

    def complain(self, line: str) -> None:
        """Write a line on stderr."""
        if self.returncode is None:
            os.write(self._complaints, line.encode() + b"\n")


def _pipe() -> tuple[int, int]:
    """The two ends of a pipe, for reading and for writing, prepared like the host's own."""
    ends = os.pipe()
    taken = descriptors.take(ends[0]), descriptors.take(ends[1])
    for descriptor in ends:
        os.close(descriptor)
    return taken
