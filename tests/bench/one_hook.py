"""One hook at a time, ours and others, in turns; and what it costs the host's processor."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from time import process_time
from typing import Any

import msgspec

from sliphook import PluginSpec
from sliphook.adapters.foreign.approval import approved_words
from sliphook.adapters.foreign.sources import read_source
from sliphook.registry.made import Made
from sliphook.trace.file_sink import FileTrace
from sliphook_sdk.framing import frame
from sliphook_sdk.protocol.payloads import PreToolCall

from .asking import hook
from .floor import floor, payload
from .measuring import Contestant, Once, Scale, measured, quantile, ratio, take_turns
from .peer_calls import HAS_MCP, in_process, mcp_call, process_per_event
from .table import Row, Skipped
from .workshop import HERE, Workshop

MIB = 1024 * 1024
PAUSE_S = 0.01
"""Long enough for the processor to sleep and its caches to be used by others.

It is so between an agent's hooks. A longer pause changes little.
"""


class Request(msgspec.Struct):
    """The host's message, as plainly as it can be."""

    jsonrpc: str
    id: int
    method: str
    params: PreToolCall


class Reply(msgspec.Struct):
    """The plugin's."""

    jsonrpc: str
    id: int
    result: dict[str, Any] | None


async def one_hook(shop: Workshop, scale: Scale) -> tuple[list[Row | Skipped], list[Contestant]]:
    """Measure."""
    message = payload()
    contestants: list[Contestant] = []
    async with AsyncExitStack() as stack:

        def enter(name: str, once: Once, share: float = 1.0) -> Contestant:
            contestants.append(Contestant(name, once, share))
            return contestants[-1]

        async def ours(
            name: str,
            plugins: Sequence[Path | PluginSpec],
            text_bytes: int = 220,
            share: float = 1.0,
            *,
            trace: FileTrace | None = None,
            asked: int = 1,
        ) -> Contestant:
            return enter(
                name,
                await stack.enter_async_context(
                    hook(plugins, text_bytes, trace=trace, asked=asked)
                ),
                share,
            )

        base = enter(
            "floor: a child in C that echoes lines",
            await stack.enter_async_context(floor([shop.echo], message)),
        )
        enter(
            "the same, child in Python",
            await stack.enter_async_context(
                floor([sys.executable, HERE / "plugins" / "echo.py"], message)
            ),
        )
        bare = await ours("hook, plugin in C", shop.bare(["guard"]))
        sync = await ours("hook, Python SDK, def", shop.python("sync", ["sync"]))
        trace = FileTrace(shop.file("trace.jsonl"))
        stack.callback(trace.close)  # after the host, which still records
        traced = await ours(
            "hook, Python SDK, def, with a trace file",
            shop.python("sync", ["sync-traced"]),
            trace=trace,
        )
        coroutine = await ours(
            "hook, Python SDK, async def", shop.python("coroutine", ["coroutine"])
        )
        beside = await ours(
            "hook, Python SDK, def, beside hooks of another agent",
            [*shop.python("sync", ["sync-beside"]), hooks_of_writing(shop.file("settings.json"))],
        )
        crowded = [
            await ours(
                f"hook, plugin in C, {count} others idle",
                shop.bare([f"guard-{count}", *_idle(count)]),
            )
            for count in (1, 10, scale.many)
        ]
        for count in (2, 10, 50):
            names = [f"guard-of-{count}-{index}" for index in range(count)]
            await ours(
                f"hook, {count} plugins in C asked at the same time",
                shop.bare(names),
                share=0.2,
                asked=count,
            )
        large = payload(MIB)
        base_large = enter(
            "floor, 1 MiB", await stack.enter_async_context(floor([shop.echo], large)), 0.05
        )
        sync_large = await ours(
            "hook, Python SDK, def, 1 MiB", shop.python("sync", ["sync-large"]), MIB, 0.05
        )
        rested = [
            Contestant(f"{one.name}, after a pause", one.once, 0.05, PAUSE_S)
            for one in (base, bare, sync, coroutine)
        ]
        contestants += rested
        enter("pluggy, inside the interpreter", in_process(message))
        mcp: Contestant | None = None
        if HAS_MCP:
            mcp = enter(
                "MCP Python SDK, call_tool", await stack.enter_async_context(mcp_call(message)), 0.1
            )
        processes = {
            name: enter(name, once, 0.02) for name, once in process_per_event(message).items()
        }
        await take_turns(contestants, scale)
        cpu = await _cpu(sync, message, scale)

    python = processes["process per event, Python"]
    rows: list[Row | Skipped] = [
        _row("one hook, Python SDK, def: p50", sync, base, 2.5),
        Row(
            "the same beside MCP's call_tool",
            ratio(sync.medians_us(), mcp.medians_us()),
            "x MCP",
            1 / 20,
            absolute=f"{sync.p50_us():.0f} of {mcp.p50_us():,.0f} us",
        )
        if mcp is not None
        else Skipped("the same beside MCP's call_tool", "the extra `bench` is not installed"),
        Row(
            "a Python process per event beside it",
            ratio(python.medians_us(), sync.medians_us()),
            "x hook",
            250,
            "least",
            f"{python.p50_us() / 1000:,.1f} ms of {sync.p50_us():.0f} us",
        ),
        _row("one hook, Python SDK, async def: p50", coroutine, base, 3.5),
        _row("one hook, plugin in C without SDK: p50", bare, base, 1.6),
        Row(
            "one hook, Python SDK, def: p99",
            ratio([quantile(took, 0.99) for took in sync.rounds_us], base.medians_us()),
            "x floor's p50",
            6,
            absolute=f"{sync.p99_us():.0f} us",
        ),
        cpu,
        _row("the same with a trace file: p50", traced, sync, 1.2, "x without"),
        _row("the same beside another agent's hooks, not for it", beside, sync, 1.2, "x without"),
        *(_row(f"{one.name}: p50", one, bare, 1.2, "x alone") for one in crowded),
        _row(
            "a hook of 1 MiB, Python SDK, def: p50", sync_large, base_large, 3, "x floor of 1 MiB"
        ),
    ]
    return rows, contestants


def hooks_of_writing(path: Path) -> PluginSpec:
    """Hooks of Claude Code before it writes a file, which this call does not."""
    hook = {"type": "command", "command": "exit 2"}
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "Write", "hooks": [hook]}]}}))
    made = Made(kind="hooks", words=list(approved_words(read_source(str(path)))))
    return PluginSpec(made.program, made=made.by("theirs"))


def _idle(count: int) -> list[str]:
    return [f"idle-{count}-{index}" for index in range(count)]


def _row(
    what: str, one: Contestant, other: Contestant, limit: float, yardstick: str = "x floor"
) -> Row:
    absolute = f"{one.p50_us():,.0f} of {other.p50_us():,.0f} us"
    return Row(
        what, ratio(one.medians_us(), other.medians_us()), yardstick, limit, absolute=absolute
    )


async def _cpu(sync: Contestant, message: PreToolCall, scale: Scale) -> Row:
    """This process's CPU time in one hook, by that of encoding and decoding its messages."""
    hooks: list[float] = []
    codecs: list[float] = []
    for _ in range(scale.rounds):
        codecs.append(codec_us(message, scale.calls))
        start = process_time()
        for _ in range(scale.calls):
            await sync.once()
        hooks.append((process_time() - start) / scale.calls * 1e6)
    number = ratio(hooks, codecs)
    return Row(
        "host's CPU of one hook",
        number,
        "x msgspec's",
        30,
        absolute=f"{measured(hooks).value:.1f} of {measured(codecs).value:.2f} us",
    )


def codec_us(message: PreToolCall, count: int) -> float:
    """What msgspec alone takes to encode and decode the two messages of a hook as Structs."""
    encoder = msgspec.json.Encoder()
    requests, replies = msgspec.json.Decoder(Request), msgspec.json.Decoder(Reply)
    request = Request(jsonrpc="2.0", id=1234, method="hook/pre_tool_call", params=message)
    reply = Reply(jsonrpc="2.0", id=1234, result=None)
    assert len(frame(encoder.encode(request))) > 600
    start = process_time()
    for _ in range(count):
        requests.decode(encoder.encode(request))
        replies.decode(encoder.encode(reply))
    return (process_time() - start) / count * 1e6
