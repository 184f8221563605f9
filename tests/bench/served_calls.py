"""A tool call at `sliphook mcp`, by the MCP SDK's client, beside the SDK's own server."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from time import perf_counter

import msgspec

from .floor import call
from .measuring import Contestant, Once, Scale, measured, ratio, take_turns
from .peer_calls import HAS_MCP, PEERS
from .table import Row, Skipped
from .workshop import Workshop

_CALL = "a tool call at `sliphook mcp`, plugin of the Python SDK"
_START = "`sliphook mcp` from its start to its first list of tools"


async def served(shop: Workshop, scale: Scale) -> list[Row | Skipped]:
    """The same tool, as a plugin's and as the server's own."""
    if not HAS_MCP:
        return [Skipped(what, "the extra `bench` is not installed") for what in (_CALL, _START)]
    (plugin,) = shop.python("tool", ["bench-tool"])
    ours = ["-m", "sliphook", "mcp", "--plugin", str(plugin)]
    theirs = [str(PEERS / "mcp_server.py")]
    async with _client(shop, ours) as of_ours, _client(shop, theirs) as of_theirs:
        one, other = Contestant("ours", of_ours, 0.1), Contestant("theirs", of_theirs, 0.1)
        await take_turns([one, other], scale)
    absolute = f"{one.p50_us():,.0f} of {other.p50_us():,.0f} us"
    calls = ratio(one.medians_us(), other.medians_us())
    starts = [(await _start_s(shop, ours), await _start_s(shop, theirs)) for _ in range(3)]
    mine, peers = [pair[0] for pair in starts], [pair[1] for pair in starts]
    took = f"{measured(mine).value * 1000:,.0f} of {measured(peers).value * 1000:,.0f} ms"
    return [
        Row(_CALL, calls, "x MCP SDK's server", 1.5, absolute=absolute),
        Row(_START, ratio(mine, peers), "x MCP SDK's server", 2.0, absolute=took),
    ]


@asynccontextmanager
async def _client(shop: Workshop, words: list[str]) -> AsyncGenerator[Once, None]:
    from mcp import Client, StdioServerParameters, stdio_client  # of the extra `bench`

    home = str(shop.file("home"))
    variables = {f"XDG_{name}_HOME": f"{home}/{name}" for name in ("DATA", "STATE", "CONFIG")}
    server = StdioServerParameters(
        command=sys.executable, args=words, env={**os.environ, **variables}
    )
    with open(os.devnull, "w") as log:  # noqa: ASYNC230 - no disk
        arguments = {"call": msgspec.to_builtins(call())}
        async with Client(stdio_client(server, log), cache=None) as client:
            await client.list_tools()

            async def once() -> None:
                result = await client.call_tool("pre_tool_call", arguments)
                assert not result.is_error, result

            yield once


async def _start_s(shop: Workshop, words: list[str]) -> float:
    start = perf_counter()
    async with _client(shop, words):
        return perf_counter() - start
