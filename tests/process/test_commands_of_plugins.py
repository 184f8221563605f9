"""Commands that plugins run with `ctx.run`, under the real host: they end with the plugin."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from sliphook import PluginHost
from tests.programs import WAIT_S, until
from tests.stubborn import executable, lives, needs_proc, pids, stubborn, wait_for

ROOT = Path(__file__).resolve().parents[2]
NODE = shutil.which("node")

PYTHON_PLUGIN = f"""\
#!{sys.executable}
from sliphook_sdk import Plugin
plugin = Plugin("runs", version="1.0.0")

@plugin.tool(timeout_s=600)
def work(*, ctx) -> str:
    return ctx.run(["./stubborn"]).stdout

@plugin.tool
def descriptors(*, ctx) -> str:
    return ctx.run(["ls", "-l", "/proc/self/fd"]).stdout

@plugin.on("turn_start")
def told(turn, *, ctx):
    ctx.run(["./stubborn"])

if __name__ == "__main__":
    plugin.run()
"""

NODE_PLUGIN = f"""\
#!/usr/bin/env node
import {{ Plugin }} from "{ROOT / "sdk/node/src/index.js"}";
const plugin = new Plugin("runs", {{ version: "1.0.0" }});
plugin.tool("work", {{ timeoutS: 600 }}, async (_, ctx) => (await ctx.run(["./stubborn"])).stdout);
plugin.tool("descriptors", async (_, ctx) => (await ctx.run(["ls", "-l", "/proc/self/fd"])).stdout);
plugin.on("turn_start", async (_, ctx) => void (await ctx.run(["./stubborn"])));
plugin.run();
"""

needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


@pytest.fixture(
    params=[("runs.py", PYTHON_PLUGIN), pytest.param(("runs.mjs", NODE_PLUGIN), marks=needs_node)],
    ids=["python", "node"],
)
def runs(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A plugin's file, in the folder of the command that it runs."""
    stubborn(tmp_path)
    name, text = request.param
    return executable(tmp_path / name, text)


def call(runs: Path, tool: str) -> subprocess.Popen[str]:
    """`sliphook call`, which is an agent with this plugin."""
    return subprocess.Popen(
        [sys.executable, "-m", "sliphook", "call", tool, "--plugin", str(runs)],
        cwd=runs.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@needs_proc
def test_a_command_has_nothing_of_the_protocol(runs: Path) -> None:
    output, errors = call(runs, "descriptors").communicate(timeout=WAIT_S)
    assert "0 -> /dev/null" in output, errors
    assert output.count(" -> ") == 4, "three streams, and the folder that ls reads"


@needs_proc
def test_nothing_outlives_a_killed_agent(runs: Path) -> None:
    agent = call(runs, "work")
    wait_for(lambda: len(pids(runs.parent)) == 2)
    agent.kill()
    agent.communicate()
    wait_for(lambda: not any(map(lives, pids(runs.parent))))


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_nothing_outlives_the_plugin(runs: Path, number: int) -> None:
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([runs]) as host,
            host.session(cwd=runs.parent) as session,
            session.turn("hello"),
        ):
            await until(lambda: len(pids(runs.parent)) == 2)
            pid = host.plugins[0].pid
            assert pid is not None
            os.kill(pid, number)
            before = pids(runs.parent)
            await until(lambda: not any(map(lives, before)))
