"""Plugins in the agents of others: what a hook costs as such an agent runs it, and its daemon."""

from __future__ import annotations

import os
import shutil
import sys
from time import perf_counter

from .attached_agent import AttachedAgent, Spawned, attached
from .footprint import held_open_kib, run_s
from .measuring import PROC, Contestant, Once, Scale, measured, ratio, resident_kib, take_turns
from .peer_calls import PEERS
from .table import Row, Skipped
from .workshop import Workshop

AT_ONCE = 16
PLUGINS = 5


async def attached_hooks(shop: Workshop, scale: Scale) -> list[Row | Skipped]:
    """One hook, many at once, the start of a session, and the daemon's memory."""
    with attached(shop.python("sync", ["sync-attached"]), shop.file("one")) as agent:
        agent.hook()
        rows = [*await _one_hook(agent, scale), _at_once(agent, scale)]
        agent.end()
        rows += _starts(agent, scale)
    if not PROC:
        return [*rows, Skipped("memory of an attached daemon", "needs /proc")]
    plugins = shop.python("sync", [f"sync-attached-{index}" for index in range(PLUGINS)])
    with attached(plugins, shop.file("five")) as agent:
        return [*rows, _memory(agent, scale)]


async def _one_hook(agent: AttachedAgent, scale: Scale) -> list[Row | Skipped]:
    def shell(command: str) -> Once:
        call = agent.call().replace(b'"tool_input"', b'"arguments"')

        async def once() -> None:
            Spawned(["/bin/sh", "-c", command], agent.environment).run(call)

        return once

    async def hook() -> None:
        agent.hook()

    async def ask_daemon() -> None:
        agent.ask_daemon()

    base = Contestant("sh -c :", shell(":"), 0.2)
    ours = Contestant("sh -c client", hook, 0.2)
    daemon = Contestant("the daemon", ask_daemon, 0.2)
    python = Contestant("Python", shell(f"{_python()} {PEERS / 'command.py'}"), 0.02)
    contestants = [base, ours, daemon, python]
    has_node = shutil.which("node") is not None
    node = Contestant("Node", shell(f"node {PEERS / 'command.mjs'}"), 0.02)
    await take_turns([*contestants, node] if has_node else contestants, scale)
    rows: list[Row | Skipped] = [
        _row("a hook of another agent, sh -c client: p50", ours, base, 2.5, "x sh -c :"),
        _row("the same: the daemon's own part", daemon, base, 1, "x sh -c :"),
        _row("the same beside a hook in Python", ours, python, 1 / 20, "x Python"),
    ]
    what = "the same beside a hook in Node"
    if not has_node:
        return [*rows, Skipped(what, "node is missing")]
    return [*rows, _row(what, ours, node, 1 / 20, "x Node")]


def _python() -> str:
    """The interpreter that the virtual environment was made of: it starts faster."""
    return os.path.realpath(sys.executable)


def _row(what: str, one: Contestant, other: Contestant, limit: float, yardstick: str) -> Row:
    absolute = f"{one.p50_us() / 1000:,.2f} of {other.p50_us() / 1000:,.2f} ms"
    return Row(
        what, ratio(one.medians_us(), other.medians_us()), yardstick, limit, absolute=absolute
    )


def _at_once(agent: AttachedAgent, scale: Scale) -> Row:
    """Sixteen hooks at once, beside as many shells that do nothing."""
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(scale.rounds):
        theirs.append(_together_s(agent, ":"))
        ours.append(_together_s(agent, agent.command))
    absolute = f"{measured(ours).value * 1000:.1f} of {measured(theirs).value * 1000:.1f} ms"
    return Row(
        f"{AT_ONCE} hooks of another agent at once",
        ratio(ours, theirs),
        f"x {AT_ONCE} sh -c : at once",
        2.5,
        absolute=absolute,
    )


def _together_s(agent: AttachedAgent, command: str) -> float:
    start = perf_counter()
    programs = [Spawned(["/bin/sh", "-c", command], agent.environment) for _ in range(AT_ONCE)]
    for program in programs:
        program.write(agent.call())
    for program in programs:
        program.end()
    return perf_counter() - start


def _starts(agent: AttachedAgent, scale: Scale) -> list[Row | Skipped]:
    """A daemon's start until it listens, and the first hook of a session with one plugin."""
    listens: list[float] = []
    firsts: list[float] = []
    imports: list[float] = []
    for _ in range(scale.slow_starts):
        imports.append(run_s([sys.executable, "-c", "import trio"]))
        start = perf_counter()
        first = Spawned(["/bin/sh", "-c", agent.command], agent.environment)
        first.write(agent.call())
        while not agent.sockets:
            pass
        listens.append(perf_counter() - start)
        first.end()
        firsts.append(perf_counter() - start)
        agent.end()
    absolute = f"{measured(firsts).value * 1000:.0f} of {measured(imports).value * 1000:.0f} ms"
    return [
        Row("an attached daemon: start to listening", measured(listens), "s", 0.5),
        Row(
            "the first hook of its session, one Python plugin",
            ratio(firsts, imports),
            'x python -c "import trio"',
            4,
            absolute=absolute,
        ),
    ]


def _memory(agent: AttachedAgent, scale: Scale) -> Row:
    ours: list[float] = []
    bases: list[float] = []
    for _ in range(scale.slow_starts // 3 or 1):
        agent.hook()
        [pid] = agent.daemons()
        ours.append(resident_kib(pid))
        agent.end()
        bases.append(held_open_kib("import trio"))
    absolute = f"{measured(ours).value / 1024:.1f} of {measured(bases).value / 1024:.1f} MiB"
    return Row(
        f"memory of an attached daemon with {PLUGINS} plugins",
        ratio(ours, bases),
        'x python -c "import trio"',
        2,
        absolute=absolute,
    )
