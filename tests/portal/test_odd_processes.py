"""A host in a process whose state is odd: its own signals, streams, timeouts, folder, interpreter.

Each program is a process of its own: what it does to itself would be done to pytest.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from tests.programs import WAIT_S, Workshop, case_of

PROGRAM = """
from sliphook.blocking import PluginHost

with PluginHost(sys.argv[1:]) as host, host.session() as session, session.turn("x") as turn:
    for command in ("a", "end", "b", "c"):
        outcome = turn.call_tool("shell", {"command": command}, run=lambda arguments: "ran")
        print(command, outcome.status, flush=True)
print("end", flush=True)
"""
GUARD = case_of(
    "hook/pre_tool_call",
    """
    if params["arguments"]["command"] == "end":
        os._exit(3)
    return {"decision": "allow"}
    """,
)
DEAF = case_of("hook/pre_tool_call", "os.close(0)\ntime.sleep(60)")
"""It reads nothing more, and lives on."""

STATES = {
    "SIGPIPE ends it": "import signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL)",
    "its standard error is closed": "sys.stderr = open(os.devnull, 'w'); sys.stderr.close()",
    "its log raises": """
        import logging
        class Raises(logging.Handler):
            def emit(self, record):
                raise RuntimeError(record)
        logging.getLogger().addHandler(Raises())
    """,
    "its folder was removed": """
        import tempfile
        folder = tempfile.mkdtemp()
        os.chdir(folder)
        os.rmdir(folder)
    """,
    "its program has no name": "sys.executable = None",
}


def run(before: str, *plugins: object) -> subprocess.CompletedProcess[str]:
    program = f"import os, sys\n{textwrap.dedent(before).strip()}\n{PROGRAM}"
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, plugins)],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )


@pytest.mark.parametrize("state", STATES)
def test_a_guard_is_asked_and_dies_and_the_agent_goes_on(shop: Workshop, state: str) -> None:
    guard = shop.program(
        subscriptions=[{"event": "pre_tool_call", "on_failure": "closed", "timeout_s": WAIT_S}],
        on=GUARD,
    )
    said = run(STATES[state], guard.path)
    assert said.stdout.splitlines() == ["a ok", "end denied", "b ok", "c ok", "end"], said.stderr
    assert said.returncode == 0


def test_a_plugin_that_closes_its_input_ends_no_agent(shop: Workshop) -> None:
    """Where SIGPIPE ends a process, as in many programs of the command line."""
    deaf = shop.program(
        subscriptions=[{"event": "pre_tool_call", "on_failure": "closed", "timeout_s": 1.0}],
        on=DEAF,
    )
    said = run(STATES["SIGPIPE ends it"], deaf.path)
    lines = ["a denied", "end denied", "b denied", "c denied", "end"]
    assert said.stdout.splitlines() == lines, said.stderr
    assert said.returncode == 0


LOOK = case_of("tool/call", 'return {"content": f"{os.get_blocking(0)} {os.get_blocking(1)}"}')
TIMEOUT = """
import socket, sys
from sliphook.blocking import PluginHost

socket.setdefaulttimeout(5)
with PluginHost(sys.argv[1:]) as host, host.session() as session, session.turn("x") as turn:
    print(turn.call_tool("look", {}).text())
"""


def test_no_plugin_gets_the_default_timeout_of_the_agents_sockets(shop: Workshop) -> None:
    """With it they do not block, and a program that waits for its input takes that for the end."""
    plugin = shop.program(tools=["look"], on=LOOK)
    said = subprocess.run(
        [sys.executable, "-c", TIMEOUT, str(plugin.path)],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert said.stdout == "True True\n", said.stderr
