"""What a plugin has started in a group of its own ends with the plugin, and with the agent."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from sliphook import PluginHost
from sliphook.process import session_members
from sliphook.process.reaper_main import kill_sessions
from tests.docs.protocol_sentences.says import says
from tests.programs import WAIT_S, Workshop, case_of, group_lives, until

# by itself it would live for longer than any wait of a test
CHILD = """
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for fd in range(3):
        os.close(fd)
    time.sleep(3600)
    os._exit(0)
os.setpgid(child, child)
with open("child", "w") as file:
    file.write(f"{child}\\n")
"""
ENDINGS = {"is stopped": None, "ends": "os._exit(3)", "is killed": "os.kill(os.getpid(), 9)"}
AGENT = """
import os, sys
from pathlib import Path
from sliphook.blocking import PluginHost

host = PluginHost([sys.argv[1]], data_home=Path(sys.argv[2]))
host.__enter__()
assert host.plugins[0].state == "ready", host.plugins[0]
os.kill(os.getpid(), 9)
"""


def child_of(data: Path) -> int:
    (file,) = data.rglob("child")
    return int(file.read_text())


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """Where plugins have their folders; a child that is left is killed."""
    yield tmp_path / "data"
    for file in (tmp_path / "data").rglob("child"):
        if group_lives(child := int(file.read_text())):
            os.killpg(child, signal.SIGKILL)


@says(
    "on Linux also what has a group of its own and is in the plugin's session.",
)
@pytest.mark.parametrize("ending", ENDINGS)
async def test_it_ends_with_the_plugin(shop: Workshop, data: Path, ending: str) -> None:
    body = ENDINGS[ending]
    plugin = shop.program(
        main=f"{CHILD}\nserve()", tools=["end"], on=case_of("tool/call", body or "pass")
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost([plugin.path], data_home=data) as host, host.session() as session:
            assert host.plugins[0].state == "ready"
            child = child_of(data)
            assert group_lives(child)
            if body is not None:
                async with session.turn("x") as turn:
                    await turn.call_tool("end", {})
                await until(lambda: not group_lives(child))
    assert not group_lives(child)


def test_it_ends_with_a_killed_agent(shop: Workshop, data: Path) -> None:
    plugin = shop.program(main=f"{CHILD}\nserve()")
    said = subprocess.run(
        [sys.executable, "-c", AGENT, str(plugin.path), str(data)],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert said.returncode == -signal.SIGKILL, said.stderr
    trio.run(until, lambda: not group_lives(child_of(data)))


def test_only_the_members_are_killed() -> None:
    sleep = shutil.which("sleep")
    assert sleep is not None
    with (
        subprocess.Popen([sleep, "3600"], start_new_session=True) as one,
        subprocess.Popen([sleep, "3600"], start_new_session=True) as other,
        subprocess.Popen([sleep, "3600"]) as ours,
    ):
        kill_sessions({one.pid})
        assert one.wait(WAIT_S) == -signal.SIGKILL
        assert other.poll() is None
        assert ours.poll() is None
        for process in (other, ours):
            process.kill()


async def test_what_ends_at_once_shares_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty plugins that end together: a thread and a look for each would hold the agent."""
    looks: list[set[int]] = []
    may_end = threading.Event()

    def look(sessions: set[int]) -> None:
        looks.append(sessions)
        assert may_end.wait(WAIT_S)

    monkeypatch.setattr(session_members, "_kill", look)
    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session_members.end_session, 1)
            await until(lambda: looks == [{1}])
            for session in range(2, 52):
                nursery.start_soon(session_members.end_session, session)
            await trio.testing.wait_all_tasks_blocked()
            may_end.set()
    assert looks == [{1}, set(range(2, 52))]
