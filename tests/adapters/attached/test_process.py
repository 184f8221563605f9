"""The process of a daemon, before it serves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.programs import WAIT_S

SERVES = """
import gc, os, sys

import trio
from sliphook.adapters.attached.__main__ import main

def looked_at(_):
    held, rest = gc.get_freeze_count(), len(gc.get_objects())
    print(held > 10_000 > rest, held, rest)

trio.run = looked_at
sys.exit(main(["claude-code", sys.argv[1], str(os.getpid())]))
"""


def test_the_garbage_collector_does_not_look_at_what_the_imports_of_a_daemon_have_made(
    home: Path,
) -> None:
    folder = home / "sockets"
    folder.mkdir(mode=0o700)
    done = subprocess.run(
        [sys.executable, "-c", SERVES, str(folder / "s.sock")],
        check=False,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True"), (done.stdout, done.stderr)
