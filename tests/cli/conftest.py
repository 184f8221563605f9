"""The command line as a person meets it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.programs import shop
from tests.ran import Ran

__all__ = ["shop", "sliphook"]

WAIT_S = 120.0


Sliphook = Callable[..., Ran]


@pytest.fixture
def sliphook(tmp_path: Path) -> Sliphook:
    """Runs `sliphook ARGS...` in an empty folder; `input` is its stdin."""

    def run(*args: str | Path, input: str = "") -> Ran:
        environment = {**os.environ, "COLUMNS": "100"}
        command = [sys.executable, "-m", "sliphook", *map(str, args)]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            input=input.encode(),
            capture_output=True,
            timeout=WAIT_S,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
