"""No plugin inherits that the agent ignores or blocks signals.

Each program is a process of its own: what it does to its signals would be done to pytest's.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.docs.protocol_sentences.says import says
from tests.programs import WAIT_S, Workshop, case_of

LOOK = """
    import subprocess
    failed = subprocess.run(["/bin/sh", "-c", "exit 7"]).returncode
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    ignored = [
        number.name
        for number in (signal.SIGCHLD, signal.SIGTERM)
        if signal.getsignal(number) == signal.SIG_IGN
    ]
    return {"content": f"a child failed with {failed}; {len(blocked)} blocked; ignored {ignored}"}
"""
FRESH = "a child failed with 7; 0 blocked; ignored []"
PROGRAM = """
import sys
from pathlib import Path
from sliphook import Limits, PluginSpec
from sliphook.blocking import PluginHost

limits = Limits(open_files=100) if sys.argv[2:] else Limits()
spec = PluginSpec(Path(sys.argv[1]), limits=limits)
with PluginHost([spec]) as host, host.session() as session, session.turn("x") as turn:
    print(turn.call_tool("look", {}).text())
"""
BEFORE = {
    "ignored": "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n",
    "SIGTERM ignored": "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n",
    "ignored by C code": "import ctypes, signal\nignore = ctypes.c_void_p(1)\n"
    "ctypes.CDLL(None).signal(signal.SIGCHLD, ignore)\n",
    "blocked": "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n",
    "as usual": "",
}


@says("No signal is blocked, and SIGCHLD is not ignored.")
@pytest.mark.parametrize("more", [[], ["limits"]], ids=["without limits", "with limits"])
@pytest.mark.parametrize("before", BEFORE)
def test_a_plugin_gets_its_signals(shop: Workshop, before: str, more: list[str]) -> None:
    """Else it takes a child that failed for one that did not: a guard would let all through."""
    plugin = shop.program(tools=["look"], on=case_of("tool/call", LOOK))
    said = subprocess.run(
        [sys.executable, "-c", BEFORE[before] + PROGRAM, str(plugin.path), *more],
        capture_output=True,
        text=True,
        timeout=3 * WAIT_S,
        check=False,
    )
    assert said.stdout.splitlines() == [FRESH], said.stderr


def test_the_command_line_unblocks_signals() -> None:
    program = (
        "import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals());"
        " os.execv(sys.executable, [sys.executable, '-c', sys.argv[1]])"
    )
    looks = (
        "import signal, sys; from sliphook.__main__ import main; sys.argv[1:] = ['--version'];"
        " main(); print(len(signal.pthread_sigmask(signal.SIG_BLOCK, [])))"
    )
    said = subprocess.run(
        [sys.executable, "-c", program, looks],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert said.stdout.splitlines()[1:] == ["0"], said.stderr
