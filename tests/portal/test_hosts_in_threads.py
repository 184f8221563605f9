"""Several hosts, each in a thread with its own loop; msgspec must not meet a new type in two."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from sliphook_sdk.protocol import METHODS, CommandResult, Manifest, ToolResult, ToolSpec
from tests.programs import WAIT_S, Workshop

FROM_PLUGINS: list[type[msgspec.Struct]] = [
    Manifest,
    ToolSpec,
    ToolResult,
    CommandResult,
    # a log line is read by a Struct of the host's own, with any level
    *(m.params for m in METHODS if m.name.startswith("host/") and m.name != "host/log"),
]
PROGRAM = """
import asyncio, sys, threading
import trio
from sliphook import PluginHost, aio, blocking

at_once = threading.Barrier(8)

def say(word):
    sys.stdout.write(word + "\\n")

async def turn_of(host_type):
    async with host_type([sys.argv[2]]) as host, host.session() as session:
        async with session.turn("x") as turn:
            say((await turn.call_tool("ping", {})).status)

def blocking_turn():
    with blocking.PluginHost([sys.argv[2]]) as host, host.session() as session:
        with session.turn("x") as turn:
            say(turn.call_tool("ping", {}).status)

def run():
    at_once.wait()
    if sys.argv[1] == "aio":
        asyncio.run(turn_of(aio.PluginHost))
    elif sys.argv[1] == "trio":
        trio.run(turn_of, PluginHost)
    else:
        blocking_turn()

threads = [threading.Thread(target=run) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize("shape", FROM_PLUGINS)
def test_the_types_that_plugins_send_are_read_at_import(shape: type[msgspec.Struct]) -> None:
    # in a new process: another test may have decoded the type meanwhile
    program = (
        "import gc, sys, sliphook.host.host, importlib;"
        f" shape = importlib.import_module({shape.__module__!r}).{shape.__name__};"
        " sys.exit('StructInfo' not in [type(one).__name__ for one in gc.get_referents(shape)])"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=3 * WAIT_S)


@pytest.mark.parametrize("face", ["aio", "blocking", "trio"])
def test_eight_hosts_at_once_under_the_development_mode(shop: Workshop, face: str) -> None:
    plugin = shop.program(tools=["ping"])
    said = subprocess.run(
        [sys.executable, "-X", "dev", "-c", PROGRAM, face, str(plugin.path)],
        capture_output=True,
        text=True,
        timeout=6 * WAIT_S,
        check=False,
    )
    assert (said.stdout.split(), said.returncode) == (["ok"] * 8, 0), said.stderr


MANY = """
import sys, threading, time
from sliphook.blocking import PluginHost
from sliphook.process import spawn

at_once = threading.Barrier(2)
quick = spawn._spawn

def slow(*given):
    time.sleep(0.05)  # so long that plugins of both hosts wait for their start
    return quick(*given)

spawn._spawn = slow

def run():
    at_once.wait()
    with PluginHost(sys.argv[1:]) as host:
        sys.stdout.write(f"{sum(one.state == 'ready' for one in host.plugins)}\\n")

threads = [threading.Thread(target=run) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_two_hosts_with_more_plugins_than_are_started_at_once(shop: Workshop) -> None:
    plugins = [str(shop.program(name=f"p{number}").path) for number in range(12)]
    said = subprocess.run(
        [sys.executable, "-c", MANY, *plugins],
        capture_output=True,
        text=True,
        timeout=2 * WAIT_S,
        check=False,
    )
    assert (said.stdout.split(), said.returncode) == (["12", "12"], 0), said.stderr
