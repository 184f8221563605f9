"""No descriptors or no memory are left when a plugin is started again: one line, and all goes on.

Each program is a process of its own, since it uses up what pytest needs too.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
import trio

from sliphook import PluginHost
from tests.programs import WAIT_S, Workshop

PROGRAM = """
import json, os, resource, sys
from contextlib import suppress
from pathlib import Path

import trio
from sliphook import PluginHost, PluginSpec
from sliphook_sdk.protocol import Manifest, ToolSpec
import hashlib

what, room, bad, good = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])
approved = PluginSpec(
    bad,
    recorded=Manifest(protocol_version=1, name="bad", tools=[ToolSpec(name="ping")]),
    sha256=hashlib.sha256(bad.read_bytes()).hexdigest(),
)

def limit(kind, soft):
    resource.setrlimit(kind, (soft, resource.getrlimit(kind)[1]))

class NoDescriptors:
    def __enter__(self):
        self.before = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        limit(resource.RLIMIT_NOFILE, 100)
        self.taken = []
        with suppress(OSError):
            while True:
                self.taken.append(os.dup(2))
        for _ in range(room):
            os.close(self.taken.pop())
    def __exit__(self, *_):
        for taken in self.taken:
            os.close(taken)
        limit(resource.RLIMIT_NOFILE, self.before)

class NoMemory:
    def __enter__(self):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit(resource.RLIMIT_AS, pages * resource.getpagesize())
    def __exit__(self, *_):
        limit(resource.RLIMIT_AS, resource.getrlimit(resource.RLIMIT_AS)[1])

async def main():
    problems = []
    async with PluginHost(
        [approved, good], on_problem=lambda name, text: problems.append(text)
    ) as host, host.session() as session, session.turn("x") as turn:
        async def goes_on():
            return (await turn.call_tool("live", {})).status
        await goes_on()
        with NoDescriptors() if what == "descriptors" else NoMemory():
            status = await host.restart("bad")
            said = [status.state, status.why, await goes_on()]
        again = await host.restart("bad")
        said += [again.state, (await turn.call_tool("ping", {})).status, await goes_on()]
        print(json.dumps([said, problems]))

trio.run(main)
"""


def tried(shop: Workshop, what: str, room: int) -> tuple[list[Any], list[str]]:
    bad = shop.program("bad", tools=["ping"]).path
    good = shop.program("good", tools=["live"]).path
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, what, str(room), str(bad), str(good)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=3 * WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    said, problems = json.loads(done.stdout)
    return said, problems


@pytest.mark.parametrize("room", range(16))
def test_with_room_for_so_many_descriptors(shop: Workshop, room: int) -> None:
    (state, why, beside, *afterwards), problems = tried(shop, "descriptors", room)
    assert (beside, afterwards) == ("ok", ["ready", "ok", "ok"])
    if state != "ready":
        assert (state, problems[:1]) == ("failed", [f"bad is left out: {why}"]), problems
        assert "the agent has no file descriptors left" in why


async def test_a_thread_without_memory(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it has begun, so that only the plugin that is being started is concerned."""

    def no_memory(*_: object, **__: object) -> None:
        raise MemoryError

    with trio.fail_after(WAIT_S):
        async with PluginHost([shop.program("bad", tools=["ping"]).path]) as host:
            with monkeypatch.context() as patch:
                patch.setattr(subprocess, "Popen", no_memory)
                status = await host.restart("bad")
            assert status.state == "failed"
            assert str(status.why).endswith("/bad cannot be started: the agent has no memory left")
            assert (await host.restart("bad")).state == "ready"


def test_in_a_process_that_may_not_grow(shop: Workshop) -> None:
    (state, why, beside, *afterwards), problems = tried(shop, "memory", 0)
    assert (beside, afterwards) == ("ok", ["ready", "ok", "ok"])
    if state != "ready":
        assert (state, problems[:1]) == ("failed", [f"bad is left out: {why}"]), problems
        assert "cannot be started: " in why
