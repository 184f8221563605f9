"""What it takes to be there: memory of the host and of plugins, and starts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, process_time

from sliphook import PluginHost
from sliphook_sdk.spin_wait import processors

from .asking import opened
from .measuring import PROC, Scale, children_cpu_s, measured, ratio, resident_kib
from .peer_calls import HAS_MCP, mcp_server
from .table import Row, Skipped
from .workshop import HERE, Workshop

ROOT = HERE.parents[1]


async def memory(shop: Workshop, scale: Scale) -> list[Row | Skipped]:
    """The host's memory for one more idle plugin, and that of an idle plugin of the Python SDK."""
    of_host, of_plugin = (
        "host's memory for one idle plugin",
        "memory of an idle plugin, Python SDK, def",
    )
    if not PROC:
        return [Skipped(of_host, "needs /proc"), Skipped(of_plugin, "needs /proc")]
    few = shop.bare(["idle-few"])
    many = shop.bare([f"idle-more-{index}" for index in range(scale.many + 1)])
    slopes = [
        (_host_kib(many) - _host_kib(few)) / scale.many for _ in range(scale.slow_starts // 3 or 1)
    ]
    plugins: list[float] = []
    bases: list[float] = []
    for index in range(scale.slow_starts):
        plugins.append(await _idle_kib(shop.python("sync", [f"sync-idle-{index}"])))
        bases.append(held_open_kib("import msgspec"))
    absolute = f"{measured(plugins).value / 1024:.1f} of {measured(bases).value / 1024:.1f} MiB"
    return [
        Row(of_host, measured(slopes), "KiB", 256),
        Row(
            of_plugin,
            ratio(plugins, bases),
            'x python -c "import msgspec"',
            1.25,
            absolute=absolute,
        ),
    ]


def _host_kib(plugins: Sequence[Path]) -> float:
    """The memory of a fresh process whose host has these plugins."""
    command = [sys.executable, "-m", "tests.bench.idle_host", *map(str, plugins)]
    return float(
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    )


async def _idle_kib(plugins: Sequence[Path]) -> float:
    kib = 0.0
    async with opened(plugins) as host, host.session() as session, session.turn("go on") as turn:
        await turn.call_tool("shell", {"command": "ls"}, run=_run)  # it has worked before it idles
        (plugin,) = host.plugins
        assert plugin.pid is not None
        kib = resident_kib(plugin.pid)
    return kib


async def _run(arguments: dict[str, object]) -> str:
    return str(arguments)


def held_open_kib(code: str) -> float:
    """The memory of a fresh interpreter that has run this."""
    command = [sys.executable, "-c", f"{code}\nprint(flush=True)\ninput()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        kib = resident_kib(child.pid)
        child.stdin.write(b"\n")
    return kib


async def starts(shop: Workshop, scale: Scale) -> list[Row | Skipped]:
    """One plugin beside MCP's server, and fifty side by side."""
    rows: list[Row | Skipped] = []
    ours: list[float] = []
    theirs: list[float] = []
    cpus: list[float] = []
    async with opened(shop.python("sync", ["sync-start"])) as host:
        for _ in range(scale.slow_starts):
            ours.append(await _start_s(host))
            cpus.append(await _start_cpu_s(host))
            if HAS_MCP:
                theirs.append(await mcp_start_s())
    what = "spawn to ready, Python SDK, def"
    if theirs:
        absolute = f"{measured(ours).value * 1000:.0f} of {measured(theirs).value * 1000:.0f} ms"
        rows.append(Row(what, ratio(ours, theirs), "x MCP's start", 1 / 6, absolute=absolute))
    else:
        rows.append(Skipped(what, "the extra `bench` is not installed"))
    what = f"{scale.some} Python plugins started"
    if not PROC:
        return [*rows, Skipped(what, "needs /proc")]
    fifty: list[float] = []
    for batch in range(max(1, scale.slow_starts // 3)):
        plugins = shop.python("sync", [f"sync-{batch}-{index}" for index in range(scale.some)])
        start = perf_counter()
        async with opened(plugins) as host:
            fifty.append(perf_counter() - start)
            host.kill()
    least_s = scale.some * measured(cpus).value / processors()
    absolute = (
        f"{measured(fifty).value:.2f} s; one start takes "
        f"{measured(cpus).value * 1000:.0f} ms of CPU"
    )
    rows.append(
        Row(
            what,
            measured([one / least_s for one in fifty]),
            f"x {scale.some} x one start's CPU / cores",
            1.4,
            absolute=absolute,
        )
    )
    return rows


async def _start_s(host: PluginHost) -> float:
    (plugin,) = host.plugins
    await host.disable(plugin.name)
    start = perf_counter()
    await _enable(host)
    return perf_counter() - start


async def _start_cpu_s(host: PluginHost) -> float:
    """The processor time of one start, the host's part and the plugin's."""
    (plugin,) = host.plugins
    await host.disable(plugin.name)
    start = process_time()
    pid = await _enable(host)
    return process_time() - start + children_cpu_s(pid)


async def _enable(host: PluginHost) -> int:
    (plugin,) = host.plugins
    plugin = await host.enable(plugin.name)
    assert plugin.pid is not None, plugin.why
    return plugin.pid


async def mcp_start_s() -> float:
    """From the start of a server to the end of its handshake."""
    start = perf_counter()
    async with mcp_server():
        took = perf_counter() - start
    return took


async def command_line(shop: Workshop, scale: Scale) -> list[Row | Skipped]:
    """`sliphook --help` beside an import of trio alone."""
    del shop
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(scale.starts):
        ours.append(run_s([str(Path(sys.executable).with_name("sliphook")), "--help"]))
        theirs.append(run_s([sys.executable, "-c", "import trio"]))
    absolute = f"{measured(ours).value * 1000:.0f} of {measured(theirs).value * 1000:.0f} ms"
    return [
        Row(
            "sliphook --help",
            ratio(ours, theirs),
            'x python -c "import trio"',
            1.5,
            absolute=absolute,
        )
    ]


def run_s(command: Sequence[str]) -> float:
    """How long a program takes, in seconds."""
    start = perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return perf_counter() - start
