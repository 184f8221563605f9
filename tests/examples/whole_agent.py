"""What the tests of the examples share: `sliphook run` as a process, and what a model says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from sliphook import Turn
from sliphook_sdk.protocol import Message, Usage
from tests.programs import WAIT_S


def sliphook_run(*words: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run one turn of the agent, in a folder and with more variables of the environment."""
    return subprocess.run(
        [sys.executable, "-m", "sliphook", "run", *words],
        cwd=cwd,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )


def model_says(turn: Turn, text: str | None) -> None:
    """A model call of the turn has ended with this text."""
    turn.post_llm_call(
        provider=None,
        model=None,
        response=Message(role="assistant", content=text),
        finish_reason="stop",
        usage=Usage(),
        duration_ms=None,
    )
