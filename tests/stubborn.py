"""A command that SIGTERM does not end, with a child in a group of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sdk.driver import PATIENCE_S

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc here")


def executable(path: Path, text: str, mode: int = 0o755) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


_STUBBORN = """\
#!/bin/bash
trap '' TERM
set -m
sh -c 'trap "" TERM; echo $$ > other; sleep 1000' &
echo $$ > own
while :; do sleep 1000; done
"""


def stubborn(folder: Path) -> None:
    """Write the command `./stubborn`."""
    executable(folder / "stubborn", _STUBBORN)


def pids(folder: Path) -> list[int]:
    texts = [path.read_text() for name in ("own", "other") if (path := folder / name).exists()]
    return [int(text) for text in texts if text.endswith("\n")]


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def wait_for(done: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)
