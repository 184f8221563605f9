"""A daemon in the test's own loop, and what asks it."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from sliphook import PluginHost
from sliphook.adapters.attached.daemon import Daemon
from sliphook.adapters.attached.rendezvous import claim
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.installed import Installed
from sliphook.settings import AgentSettings
from sliphook.testing import FakePlugin
from sliphook.trace import TraceSink


@asynccontextmanager
async def daemon(
    agent: str,
    *plugins: FakePlugin | Path,
    settings: AgentSettings | None = None,
    to_its_end: bool = False,
) -> AsyncGenerator[Path]:
    """The daemon of an agent in this process; yields its socket.

    Args:
        agent: the agent.
        plugins: its plugins.
        settings: for the agent.
        to_its_end: leaving waits until the daemon ends by itself.
    """
    with tempfile.TemporaryDirectory(prefix="sh-", dir="/tmp") as folder:
        claimed = claim(Path(folder) / "s.sock")
        assert claimed is not None
        installed = Installed(specs=(), missing=(), ignored=())

        class WithPlugin(Daemon):
            def _host(self, trace: TraceSink | None) -> PluginHost:
                return PluginHost(
                    plugins,
                    trace=trace,
                    approver=self._ask_agent,
                    approver_queues=True,
                    on_offers=self._offers_changed,
                    data_home=Path(folder) / "data",
                    log_dir=Path(folder) / "logs",
                )

        async with trio.open_nursery() as nursery:
            served = WithPlugin(DIALECTS[agent], claimed, installed, settings or AgentSettings())
            nursery.start_soon(served.run)
            yield claimed.path
            if not to_its_end:
                nursery.cancel_scope.cancel()
        claimed.drop()


async def ask(socket: Path, agent: str, event: str, body: bytes, *, closed: bool = True) -> bytes:
    """One hook, asked by another process: its CPU is not the loop's."""
    program = (
        "import socket, sys\n"
        "path, head = sys.argv[1:]\n"
        "one = socket.socket(socket.AF_UNIX)\n"
        "one.connect(path)\n"
        "one.sendall(head.encode() + b'\\n' + sys.stdin.buffer.read())\n"
        "one.shutdown(socket.SHUT_WR)\n"
        "while piece := one.recv(65536): sys.stdout.buffer.write(piece)\n"
    )
    word = "closed" if closed else "open"
    head = f"sliphook 1 {agent} {event} {os.getpid()} {word} {len(body)}"
    words = ["python3", "-c", program, str(socket), head]
    done = await trio.run_process(words, stdin=body, capture_stdout=True)
    return done.stdout


_ASKS_ALL = """
import json, socket, sys
path, agent, parent = sys.argv[1:]
opened = []
for event, fields in json.load(sys.stdin):
    body = json.dumps(fields).encode()
    one = socket.socket(socket.AF_UNIX)
    one.connect(path)
    one.sendall(b"sliphook 1 %s %s %s open %d\\n" % (agent.encode(), event.encode(), parent.encode(), len(body)) + body)
    opened.append(one)
for one in opened:
    while one.recv(65536): pass
"""


async def ask_all(
    socket: Path, agent: str, parent: int, hooks: Sequence[tuple[str, dict[str, Any]]]
) -> None:
    """Many hooks at once, of a program that the process `parent` has started."""
    words = [sys.executable, "-SEc", _ASKS_ALL, str(socket), agent, str(parent)]
    await trio.run_process(words, stdin=json.dumps(hooks).encode())
