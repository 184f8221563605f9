"""The terminal is gone in the middle of a turn, and the plugin ignores all that it is told."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs import WAIT_S
from tests.torture.case import Workshop, python
from tests.torture.inside import living

from .test_terminal import Terminal

MOST_S = 60.0
"""The waits of the end are 5.5 s together; the machine may be busy."""

IGNORES = """
import signal
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
    signal.signal(number, signal.SIG_IGN)
initialize_id = initialize()
reply(initialize_id, MANIFEST)
with open(os.path.join(os.path.dirname(__file__), "groups"), "w") as file:
    file.write(str(os.getpgid(0)))
    if os.fork() == 0:
        os.setpgid(0, 0)
        while True:
            time.sleep(1)
    file.write(" " + str(os.getpid()))
while True:
    time.sleep(1)
"""
"""It reads nothing more, and has a child in a group of its own that does as little."""


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for one in opened:
        one.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
@pytest.mark.parametrize("command", ["chat", "run"])
def test_all_ends_and_nothing_is_left(
    command: str, terminals: list[Terminal], tmp_path: Path
) -> None:
    make = python(IGNORES, tools=[{"name": "hang"}])
    program = make(Workshop(tmp_path))
    words = ["run", "TOOL hang"] if command == "run" else ["chat"]
    terminal = Terminal(*words, "--plugin", program, cwd=tmp_path)
    terminals.append(terminal)
    if command == "chat":
        terminal.wait_for("›")
        terminal.type("hello\r")
    groups = tmp_path / "groups"
    deadline = time.monotonic() + WAIT_S
    while not groups.exists() or " " not in groups.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    members = session_members(int(groups.read_text().split()[0]))
    assert len(members) == 2, members
    terminal.close()
    assert terminal.process.wait(timeout=MOST_S) == 129
    assert living(members) == []


def session_members(session: int) -> list[int]:
    """The processes of a session; each leads a group here."""
    found: list[int] = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getsid(int(name)) == session:
                found.append(int(name))
        except ProcessLookupError:
            continue
    return found
