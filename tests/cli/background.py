"""A command that runs while a test looks on, line by line."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import WAIT_S

__all__ = ["Background", "started"]


class Background:
    """A command that runs, line by line; stdout and stderr are one."""

    def __init__(self, folder: Path, *args: str | Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sliphook", *map(str, args)],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            text=True,
        )
        self._lines = queue.Queue[str]()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))

    def until(self, words: str) -> list[str]:
        """The lines up to one that has these words."""
        seen: list[str] = []
        while not seen or words not in seen[-1]:
            try:
                seen.append(self._lines.get(timeout=WAIT_S))
            except queue.Empty:
                pytest.fail(f"no line with {words!r}; there were {seen}")
        return seen

    def write(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(WAIT_S)


@pytest.fixture
def started() -> Iterator[list[Background]]:
    running: list[Background] = []
    yield running
    for one in running:
        one.process.kill()
        one.process.wait(WAIT_S)
        for pipe in (one.process.stdin, one.process.stdout):
            assert pipe is not None
            pipe.close()
