"""Rules about the machine, which try out what it can do for plugins."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

from sliphook.files.private import temporary_folder
from sliphook.process.reaper import SCRIPT
from sliphook.process.sandbox import why_no_sandbox

from .finding import Finding, Scene

REAPER_S: Final = 5.0
"""The longest trial of the reaper, which usually takes one second."""


def reaper(_: Scene) -> Iterator[Finding]:
    """Whether the reaper ends a process group whose host is gone."""
    try:
        why = _why_nothing_is_reaped()
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


def _why_nothing_is_reaped() -> str | None:
    """Run the reaper on a group of two processes; why it did not end both, or None."""
    reads, writes = os.pipe()
    # both processes hold the write end, so the pipe ends when both are gone
    victim = subprocess.Popen(
        ["/bin/sh", "-c", "sleep 60 & wait"],
        stdout=writes,
        stdin=subprocess.DEVNULL,
        env={},
        start_new_session=True,
    )
    os.close(writes)
    try:
        command = [sys.executable, "-I", "-S", str(SCRIPT)]
        said = subprocess.run(
            command,
            input=b"%d\n" % victim.pid,
            capture_output=True,
            timeout=REAPER_S,
            check=False,
            env={},
            start_new_session=True,
        )
        if said.returncode != 0:
            return f"the reaper ended with status {said.returncode}"
        victim.wait(REAPER_S)
        # no process writes to the pipe, so it becomes readable only at its end
        ended = select.select([reads], [], [], REAPER_S)[0]
        return None if ended else "the reaper left a process of the group"
    finally:
        if victim.poll() is None:
            os.killpg(victim.pid, signal.SIGKILL)
            victim.wait()
        os.close(reads)


def sandbox(scene: Scene) -> Iterator[Finding]:
    """Whether a plugin can run in a sandbox; a problem only if an enabled plugin must."""
    with temporary_folder("sliphook-doctor-") as folder:
        why = why_no_sandbox(folder)
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
