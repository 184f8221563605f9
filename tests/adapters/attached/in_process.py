"""A daemon in the test's own loop, and what asks it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

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
    agent: str, plugin: FakePlugin, settings: AgentSettings | None = None
) -> AsyncGenerator[Path]:
    """The daemon of an agent in this process; yields its socket."""
    with tempfile.TemporaryDirectory(prefix="sh-", dir="/tmp") as folder:
        claimed = claim(Path(folder) / "s.sock")
        assert claimed is not None
        installed = Installed(specs=(), missing=(), ignored=())

        class WithPlugin(Daemon):
            def _host(self, trace: TraceSink | None) -> PluginHost:
                return PluginHost(
                    [plugin],
                    trace=trace,
                    approver=self._ask_agent,
                    approver_queues=True,
                    on_offers=self._offers_changed,
                )

        async with trio.open_nursery() as nursery:
            served = WithPlugin(DIALECTS[agent], claimed, installed, settings or AgentSettings())
            nursery.start_soon(served.run)
            yield claimed.path
            nursery.cancel_scope.cancel()
        claimed.drop()


async def ask(socket: Path, agent: str, event: str, body: bytes) -> bytes:
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
    head = f"sliphook 1 {agent} {event} {os.getpid()} closed {len(body)}"
    words = ["python3", "-c", program, str(socket), head]
    done = await trio.run_process(words, stdin=body, capture_stdout=True)
    return done.stdout
