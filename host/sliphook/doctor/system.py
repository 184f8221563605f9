"""What this machine can do for plugins, found by trying."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sliphook.process.reaper import SCRIPT
from sliphook.process.sandbox import why_no_sandbox

from .finding import Finding, Scene

KEEPER_S: Final = 5.0
"""How long the trial of the reaper may take; it takes one second."""


def reaper(_: Scene) -> Iterator[Finding]:
    """A group of two processes, whose host is gone: the reaper must end both."""
    try:
        why = _why_nothing_is_kept()
    except (OSError, subprocess.TimeoutExpired) as error:
        why = str(error)
    if why is None:
        yield Finding(
            area="system",
            level="ok",
            about="reaper",
            what="plugins and what they start end with a killed agent",
        )
    else:
        what = f"plugins may outlive a killed agent: {why}"
        yield Finding(
            area="system",
            level="problem",
            about="reaper",
            what=what,
            do="end the agent with Ctrl+C or SIGTERM, not with kill -9",
        )


def _why_nothing_is_kept() -> str | None:
    """Runs the reaper on a group of our own."""
    reads, writes = os.pipe()
    # both hold the pipe's end: it is read to its end when both are gone
    victim = subprocess.Popen(
        ["/bin/sh", "-c", "sleep 60 & wait"],
        stdout=writes,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(writes)
    try:
        command = [sys.executable, "-I", "-S", str(SCRIPT)]
        said = subprocess.run(
            command,
            input=b"+%d\n" % victim.pid,
            capture_output=True,
            timeout=KEEPER_S,
            check=False,
            start_new_session=True,
        )
        if said.returncode != 0:
            return f"the reaper ended with status {said.returncode}"
        victim.wait(KEEPER_S)
        # nobody writes to the pipe: what can be read is its end, when the last of the group is gone
        ended = select.select([reads], [], [], KEEPER_S)[0]
        return None if ended else "the reaper left a process of the group"
    finally:
        if victim.poll() is None:
            os.killpg(victim.pid, signal.SIGKILL)
            victim.wait()
        os.close(reads)


def sandbox(scene: Scene) -> Iterator[Finding]:
    """Whether a plugin can be put in a sandbox; a problem only where one is to be."""
    with tempfile.TemporaryDirectory(prefix="sliphook-doctor-") as folder:
        why = why_no_sandbox(Path(folder))
    wanted = [plugin.name for plugin in scene.plugins if plugin.sandbox and plugin.enabled]
    if why is None:
        yield Finding(
            area="system",
            level="ok",
            about="sandbox",
            what="plugins can be put in a sandbox, by: sliphook config NAME --sandbox",
        )
    elif wanted:
        what = f"no plugin can be put in a sandbox, and {', '.join(wanted)} must be: {why}"
        yield Finding(area="system", level="problem", about="sandbox", what=what)
    else:
        yield Finding(
            area="system",
            level="note",
            about="sandbox",
            what=f"no plugin can be put in a sandbox: {why}",
        )
