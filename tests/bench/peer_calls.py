"""The peers: the same question for the MCP Python SDK, a process per event, and a function."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import msgspec
import pluggy

from sliphook_sdk.protocol.payloads import PreToolCall

from .measuring import Once
from .workshop import HERE

PEERS = HERE / "peers"
HAS_MCP = find_spec("mcp") is not None
"""The extra `bench` is installed."""


@asynccontextmanager
async def mcp_server() -> AsyncGenerator[Any, None]:
    """A started and initialized MCP server on stdio; gives its `ClientSession`."""
    from mcp import ClientSession

    async with _mcp_pipes() as pipes, pipes as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield session


@asynccontextmanager
async def mcp_client() -> AsyncGenerator[Any, None]:
    """The same; gives the SDK's `Client`, which speaks the newest protocol of both, as we do."""
    from mcp import Client

    async with _mcp_pipes() as pipes, Client(pipes) as client:
        yield client


@asynccontextmanager
async def _mcp_pipes() -> AsyncGenerator[Any, None]:
    from mcp import StdioServerParameters, stdio_client  # of the extra `bench`

    server = StdioServerParameters(command=sys.executable, args=[str(PEERS / "mcp_server.py")])
    with open(os.devnull, "w") as log:  # noqa: ASYNC230 - no disk
        yield stdio_client(server, log)


@asynccontextmanager
async def mcp_call(
    message: PreToolCall | dict[str, Any],
    connected: Callable[[], AbstractAsyncContextManager[Any]] = mcp_server,
) -> AsyncGenerator[Once, None]:
    """`call_tool` with the payload as its argument."""
    arguments = {"call": msgspec.to_builtins(message)}
    async with connected() as mcp:

        async def once() -> None:
            result = await mcp.call_tool("pre_tool_call", arguments)
            assert not result.is_error, result

        yield once


def process_per_event(message: PreToolCall) -> dict[str, Once]:
    """Start a program, write the payload to its stdin, read its stdout to the end; by language.

    As cheaply as it can be done: nothing else runs meanwhile, and Python is the virtual
    environment's or the one that it was made of, whichever starts faster: the one looks for the
    other, which may have much installed.
    """
    line = msgspec.json.encode(message)

    def starting(*command: str) -> Once:
        async def once() -> None:
            ended = subprocess.run(command, input=line, stdout=subprocess.PIPE, check=True)  # noqa: ASYNC221 - see above
            assert ended.stdout == b"{}\n", ended

        return once

    found: dict[str, Once] = {
        "process per event, sh": starting("/bin/sh", str(PEERS / "command.sh")),
        "process per event, Python": starting(
            _quicker(sys.executable, os.path.realpath(sys.executable)), str(PEERS / "command.py")
        ),
    }
    node = shutil.which("node")
    if node is not None:
        found["process per event, Node"] = starting(node, str(PEERS / "command.mjs"))
    return found


def _quicker(*pythons: str) -> str:
    def start_s(python: str) -> float:
        start = perf_counter()
        subprocess.run([python, "-c", ""], check=True)
        return perf_counter() - start

    return min(pythons, key=lambda python: min(start_s(python) for _ in range(3)))


def in_process(message: PreToolCall) -> Once:
    """pluggy: one implementation in the same interpreter."""
    specification, implementation = pluggy.HookspecMarker("bench"), pluggy.HookimplMarker("bench")

    class Specification:
        @specification(firstresult=True)
        def pre_tool_call(self, call: PreToolCall) -> str | None: ...

    class Guard:
        @implementation
        def pre_tool_call(self, call: PreToolCall) -> str | None:
            return "deny" if "rm -rf" in call.arguments.get("command", "") else None

    manager = pluggy.PluginManager("bench")
    manager.add_hookspecs(Specification)
    manager.register(Guard())

    async def once() -> None:
        manager.hook.pre_tool_call(call=message)

    return once
