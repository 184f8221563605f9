"""A server of MCP as a plugin, beside its own SDK's client, and beside a tool of ours."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from time import perf_counter
from typing import Any

from sliphook import PluginHost, PluginSpec
from sliphook.files import paths
from sliphook.registry.handshake import interview
from sliphook.registry.made import Made

from .asking import PluginTrouble
from .floor import call
from .footprint import held_open_kib, mcp_start_s
from .measuring import PROC, Contestant, Once, Scale, measured, ratio, resident_kib, take_turns
from .peer_calls import HAS_MCP, PEERS, mcp_call, mcp_client
from .table import Row, Skipped
from .workshop import Workshop

_NAME = "bench-mcp"
_SHARE = 0.3
"""Of a round's calls. After fewer, what three processes lost from the caches still shows."""
_TOOL = "pre_tool_call"
_CALL, _BESIDE, _START, _MEMORY = (
    "tool call through the bridge to MCP",
    "the same beside a tool of ours",
    "start of a bridge that knows its tools",
    "memory of a bridge",
)


async def mcp(shop: Workshop, scale: Scale) -> list[Row | Skipped]:
    """A tool call, a start of a server that was started before, and the memory of the bridge."""
    if not HAS_MCP or not PROC:
        why = "needs /proc" if HAS_MCP else "the extra `bench` is not installed"
        return [Skipped(what, why) for what in (_CALL, _BESIDE, _START, _MEMORY)]
    # as an installation does: on a busy machine a first start takes longer than a plugin may
    await interview(_server(), paths.plugin_data() / _NAME)
    bridged, own, peer = await _calls(shop, scale)
    starts: list[float] = []
    peers: list[float] = []
    kib: list[float] = []
    bases: list[float] = []
    for _ in range(scale.slow_starts):
        took_s, memory = await _start()
        starts.append(took_s)
        kib.append(memory)
        peers.append(await mcp_start_s())
        bases.append(held_open_kib("import mcp"))
    ms = f"{measured(starts).value * 1000:.0f} of {measured(peers).value * 1000:.0f} ms"
    mib = f"{measured(kib).value / 1024:.0f} of {measured(bases).value / 1024:.0f} MiB"
    return [
        Row(
            _CALL,
            ratio(bridged.medians_us(), peer.medians_us()),
            "x its own SDK's client",
            1.3,
            absolute=f"{bridged.p50_us():,.0f} of {peer.p50_us():,.0f} us",
        ),
        Row(
            _BESIDE,
            ratio(bridged.medians_us(), own.medians_us()),
            "x ours",
            40.0,
            absolute=f"{bridged.p50_us():,.0f} of {own.p50_us():,.0f} us",
        ),
        Row(_START, ratio(starts, peers), "x its own SDK's start", 0.5, absolute=ms),
        Row(_MEMORY, ratio(kib, bases), 'x python -c "import mcp"', 1.3, absolute=mib),
    ]


async def _calls(shop: Workshop, scale: Scale) -> tuple[Contestant, Contestant, Contestant]:
    arguments = {"call": call()}
    (ours,) = shop.python("tool", ["own-tool"])
    async with AsyncExitStack() as stack:
        entered = [
            Contestant(name, await stack.enter_async_context(one), _SHARE)
            for name, one in (
                ("MCP server as a plugin", _tool(_server(), arguments)),
                ("the same tool as our plugin", _tool(PluginSpec(ours), arguments)),
                ("MCP Python SDK, Client.call_tool", mcp_call(call(), mcp_client)),
            )
        ]
        await take_turns(entered, scale)
    bridged, own, peer = entered
    return bridged, own, peer


def _server() -> PluginSpec:
    made = Made(kind="mcp", words=[sys.executable, str(PEERS / "mcp_server.py")])
    return PluginSpec(made.program, made=made.by(_NAME))


@asynccontextmanager
async def _tool(plugin: PluginSpec, arguments: dict[str, Any]) -> AsyncGenerator[Once]:
    """Call the tool, with all of `call_tool`."""
    async with (
        PluginHost([plugin], on_log=_ignore) as host,
        host.session() as session,
        session.turn("go on") as turn,
    ):

        async def once() -> None:
            outcome = await turn.call_tool(_TOOL, arguments)
            if outcome.result.is_error:
                raise PluginTrouble(outcome.result.content)

        await once()  # then the server is there
        yield once


async def _start() -> tuple[float, float]:
    """Seconds until the plugin is ready, and its KiB when it has made a call."""
    start = perf_counter()
    async with PluginHost([_server()], on_log=_ignore) as host:
        took_s = perf_counter() - start
        async with host.session() as session, session.turn("go on") as turn:
            await turn.call_tool(_TOOL, {"call": call()})
        pid = host.plugins[0].pid
        if pid is None:
            raise PluginTrouble(f"the bridge is {host.plugins[0].state}")
        kib = resident_kib(pid)
    return took_s, kib


def _ignore(plugin: str, level: str, message: str) -> None:
    """Drop the server's lines."""
