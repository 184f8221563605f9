"""The command line as a person meets it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.programs import shop
from tests.ran import Ran

__all__ = ["shop", "sliphook"]

WAIT_S = 120.0

UNHURRIED = f"""
import sys
from sliphook_sdk.protocol import limits

limits.TERM_GRACE_S = {10 * WAIT_S}
from sliphook.cli import common, running

common.LEAVE_S = running.LEAVE_S = {10 * WAIT_S}
from sliphook.cli.main import main

sys.exit(main(sys.argv[1:]))
"""
"""The command line, which waits for ever for a plugin that ignores SIGTERM unless it kills it."""


Sliphook = Callable[..., Ran]


@pytest.fixture
def sliphook(tmp_path: Path) -> Sliphook:
    """Runs `sliphook ARGS...` in an empty folder; `input` is its stdin."""

    def run(*args: str | Path, input: str = "", program: Sequence[str] = ("-m", "sliphook")) -> Ran:
        environment = {**os.environ, "COLUMNS": "100"}
        command = [sys.executable, *program, *map(str, args)]
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
