"""A program that asks while the shell has it in the background."""

from __future__ import annotations

import os
import subprocess
import sys

ASKS = """
import trio
from sliphook.agent.ui.terminal import TerminalPerson

async def ask():
    with trio.move_on_after(0):
        await TerminalPerson().go_on("on?")

trio.run(ask)
"""
SHELL = """
import os, subprocess, sys

terminal = os.open(sys.argv[1], os.O_RDWR)  # the first that the leader of a session opens is its own
job = subprocess.Popen([sys.executable, "-c", sys.argv[2]], stdin=terminal, process_group=0)
_, status = os.waitpid(job.pid, os.WUNTRACED)
print("stopped" if os.WIFSTOPPED(status) else f"went on, {os.waitstatus_to_exitcode(status)}")
if os.WIFSTOPPED(status):
    job.kill()
"""


def test_a_question_does_not_stop_a_job_in_the_background() -> None:
    master, slave = os.openpty()
    try:
        ran = subprocess.run(
            [sys.executable, "-c", SHELL, os.ttyname(slave), ASKS],
            start_new_session=True,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
    finally:
        os.close(slave)
        os.close(master)
    assert (ran.stdout, ran.stderr) == ("went on, 0\n", "on? [y/N] \n")
