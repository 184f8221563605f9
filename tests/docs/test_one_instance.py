"""examples/clipboard.py under two hosts: one instance serves both, and the other takes over."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from sliphook import PluginHost
from sliphook.session.turn import Turn
from tests.programs import WAIT_S, until

PLUGIN = Path(__file__).resolve().parents[2] / "examples" / "clipboard.py"


@asynccontextmanager
async def agent(logs: list[str]) -> AsyncGenerator[tuple[PluginHost, Turn]]:
    """A host with a turn, and the log of its plugin."""
    async with (
        PluginHost([PLUGIN], on_log=lambda plugin, level, text: logs.append(text)) as host,
        host.session() as session,
        session.turn("hello") as turn,
    ):
        assert [plugin.state for plugin in host.plugins] == ["ready"]
        yield host, turn


def test_the_readme_shows_the_example() -> None:
    readme = (PLUGIN.parents[1] / "sdk" / "python" / "README.md").read_text(encoding="utf-8")
    shown = readme.partition("## One instance for several agents")[2]
    snippet = shown.partition("```python\n")[2].partition("```")[0]
    assert snippet.startswith("def serve() -> None:")
    assert snippet in PLUGIN.read_text(encoding="utf-8")


async def pasted(turn: Turn) -> str:
    return (await turn.call_tool("paste", {})).text()


async def test_one_instance_serves_two_agents_and_another_takes_over() -> None:
    first_logs, second_logs = list[str](), list[str]()
    with trio.fail_after(WAIT_S):
        async with agent(first_logs) as (host, first):
            await until(lambda: "serves the clipboard" in first_logs)
            async with agent(second_logs) as (_, second):
                assert second_logs[0].startswith("the clipboard is served by pid ")
                await first.call_tool("copy", {"text": "from the first"})
                assert await pasted(second) == "from the first"

                os.kill(int(second_logs[0].rpartition(" ")[2]), signal.SIGKILL)
                await until(lambda: "serves the clipboard" in second_logs)
                await until(lambda: host.plugins[0].restarts == 1)
                assert await pasted(first) == "from the first"
                await first.call_tool("copy", {"text": "from the first again"})
                assert await pasted(second) == "from the first again"
                first_logs.clear()
            # the second agent has ended
            await until(lambda: "serves the clipboard" in first_logs)
            assert await pasted(first) == "from the first again"
