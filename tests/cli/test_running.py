"""What each command does before it starts plugins."""

from __future__ import annotations

import subprocess
import sys

from tests.programs import WAIT_S

PREPARED = """
import gc
from sliphook.cli.running import before_plugins

before_plugins()
held, rest = gc.get_freeze_count(), len(gc.get_objects())
print(held > 10_000 > rest, held, rest)
"""


def test_the_garbage_collector_does_not_look_at_what_the_imports_have_made() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PREPARED],
        check=False,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )
    assert done.stdout.startswith("True"), (done.stdout, done.stderr)
