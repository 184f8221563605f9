"""A plugin that others have reaped: SIGCHLD is ignored, or a thread of the agent takes any child.

Each program is a process of its own: what it does to its children would be done to pytest's.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.programs import WAIT_S, Workshop, case_of

IGNORED = "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
NOT_KEPT = """
import ctypes, signal
class Action(ctypes.Structure):
    _fields_ = [
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    ]
SA_NOCLDWAIT = 2
action = Action(None, (ctypes.c_ulong * 16)(), SA_NOCLDWAIT, None)
assert ctypes.CDLL(None).sigaction(signal.SIGCHLD, ctypes.byref(action), None) == 0
"""
TAKEN = """
import os, threading, time
def take():
    while True:
        try:
            os.wait()
        except ChildProcessError:
            time.sleep(0.002)
threading.Thread(target=take, daemon=True).start()
"""
PROGRAM = """
import sys
from sliphook.blocking import PluginHost

with PluginHost([sys.argv[1]]) as host, host.session() as session, session.turn("x") as turn:
    first = host.plugins[0].pid
    print(turn.call_tool("die", {}).text())
    print(host.restart("probe").state, host.plugins[0].pid != first)
    print(turn.call_tool("live", {}).status)
"""
IN_WORDS = (
    "the tool die failed: probe ended with an unknown status"
    " (the agent's process ignores SIGCHLD, or reaps children that are not its own)"
)

KNOWN = "the tool die failed: probe exited with status 3"


@pytest.mark.skipif(sys.platform != "linux", reason="the struct of sigaction is that of Linux")
@pytest.mark.parametrize(
    "before",
    [IGNORED, NOT_KEPT, TAKEN],
    ids=["SIGCHLD is ignored", "SA_NOCLDWAIT", "another reaps"],
)
def test_its_end_is_noticed_and_it_is_started_again(shop: Workshop, before: str) -> None:
    plugin = shop.program(
        tools=["die", "live"],
        on=case_of("tool/call", "if params['name'] == 'die': os._exit(3)"),
    )
    said = subprocess.run(
        [sys.executable, "-c", before + PROGRAM, str(plugin.path)],
        capture_output=True,
        text=True,
        timeout=3 * WAIT_S,
        check=False,
    )
    ending, *rest = said.stdout.splitlines()
    assert rest == ["ready True", "ok"], said.stderr
    # the host may be quicker than the thread that takes its children
    assert ending in ([IN_WORDS, KNOWN] if before is TAKEN else [IN_WORDS])
    assert "Traceback" not in said.stderr


def test_the_command_line_takes_sigchld_back(shop: Workshop) -> None:
    plugin = shop.program(main="os._exit(3)")
    program = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN);"
        " os.execv(sys.executable, [sys.executable, '-m', 'sliphook', 'run', 'hi', '--plugin',"
        " sys.argv[1]])"
    )
    said = subprocess.run(
        [sys.executable, "-c", program, str(plugin.path)],
        capture_output=True,
        text=True,
        timeout=3 * WAIT_S,
        check=False,
    )
    assert said.returncode == 1
    assert "exited with status 3" in said.stderr
    assert "Traceback" not in said.stderr
