"""`make bench-hermes`: what a plugin costs a tool call of Hermes's, and when it hears of an interrupt.

Each figure is measured beside the same without the plugin, without the bridge or without a hanging
guard, in one process and in turns. What is promised is looked at: the program fails if it is not
kept. Ratios are looked at always, milliseconds on an idle machine alone.
"""

# pyright: basic, reportMissingImports=false
# mypy: ignore-errors

from __future__ import annotations

import argparse
import io
import logging
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from tests.bridges.hermes.real.server import ScriptedServer
from tests.bridges.hermes.real.world import WAIT_S, Ran, World
from tests.programs import whole_lines

TOOL_CALL_RATIO = 2.2
"""What a call of a tool of Hermes's may cost with a quiet plugin, in times of what it costs without."""
INTERRUPT_P99_MS = 10.0
BESIDE_THE_HOST_RATIO = 3.0
BESIDE_NO_GUARD_RATIO = 1.5
"""Medians of interrupts: of the bridge beside the host alone, with a hanging guard beside none."""

QUIET = """
@plugin.hook("pre_tool_call")
def pre(e): pass

@plugin.hook("post_tool_call")
def post(e): pass
"""
EAR = """
@plugin.on("agent_loop_stopped")
def stopped(e):
    with open(FILE, "a") as heard:
        heard.write(f"{time.monotonic()}\\n")
"""
HANGS = """
@plugin.hook("pre_tool_call", timeout_s=60)
def pre(e):
    with open(FILE + ".asked", "a") as asked:
        asked.write("asked\\n")
    time.sleep(3600)
"""
HEAD = """
import time
from sliphook_sdk import Plugin
FILE = {file!r}
plugin = Plugin({name!r}, version="1.0.0")
"""


class Bench:
    """Attributes: file is where the plugins write; rows is what was found."""

    def __init__(self, folder: Path, server: ScriptedServer) -> None:
        self.server = server
        self.folder = folder
        self.file = folder / "heard"
        self.rows: list[tuple[str, str]] = []
        self.broken: list[str] = []

    def plugin(self, name: str, source: str) -> Path:
        path = self.folder / f"{name}.py"
        head = HEAD.format(file=str(self.file), name=name)
        path.write_text(f"#!{sys.executable}{head}{source}\nplugin.run()\n")
        path.chmod(0o755)
        return path

    def row(self, what: str, found: str) -> None:
        self.rows.append((what, found))
        print(f"{what:<62} {found}", file=sys.stderr, flush=True)

    def promise(self, what: str, *, kept: bool) -> None:
        if not kept:
            self.broken.append(what)

    def heard(self, count: int) -> float:
        give_up = time.monotonic() + WAIT_S
        while time.monotonic() < give_up:
            if len(lines := whole_lines(self.file)) > count:
                return float(lines[count])
            time.sleep(0.0005)
        raise AssertionError("the plugin heard nothing")


@contextmanager
def mounted(*paths: Path) -> Iterator[None]:
    """Hermes with a bridge to these plugins, and with nothing of Sliphook's behind it."""
    import agent.conversation_loop as conversation_loop
    from hermes_cli.plugins import PluginContext, PluginManifest, get_plugin_manager
    from run_agent import AIAgent

    from sliphook import PluginSpec
    from sliphook.bridges.hermes.bridge import Bridge

    manager = get_plugin_manager()
    kept = {name: getattr(AIAgent, name) for name in ("interrupt", "close")}
    run = conversation_loop.run_conversation
    bridge = Bridge([PluginSpec(path) for path in paths])
    bridge.register(PluginContext(PluginManifest(name="bench"), manager))
    bridge.host()
    try:
        yield
    finally:
        bridge.close()
        conversation_loop.run_conversation = run
        for name, function in kept.items():
            setattr(AIAgent, name, function)
        del AIAgent._sliphook_wrapped
        for callbacks in (*manager._hooks.values(), *manager._middleware.values()):
            callbacks[:] = [one for one in callbacks if "sliphook" not in (one.__module__ or "")]


def agent_of(server: ScriptedServer, **more):
    from run_agent import AIAgent

    return AIAgent(
        **{
            "api_key": "fake-key",
            "base_url": server.url,
            "provider": "custom",
            "api_mode": "chat_completions",
            "model": "fake-model",
            "quiet_mode": True,
            "platform": "cli",
            "enabled_toolsets": ["terminal", "file", "todo", "bench"],
            "skip_memory": True,
            "skip_context_files": True,
            **more,
        }
    )


# -- tool calls


def tools(folder: Path) -> dict[str, Callable[[int], str]]:
    """A call of each tool by its number: Hermes blocks one that is made again and again."""
    for k in range(100):
        (folder / f"{k}.txt").write_text(f"line {k}\n" * 20)
    return {
        "terminal": lambda k: f'TOOL terminal {{"command":"true {k}"}}',
        "read_file": lambda k: f'TOOL read_file {{"path":"{folder}/{k}.txt"}}',
        "write_file": lambda k: f'TOOL write_file {{"path":"{folder}/w{k}.txt","content":"a"}}',
        "search_files": lambda k: f'TOOL search_files {{"pattern":"line {k}","path":"{folder}"}}',
        "todo": lambda k: (
            f'TOOL todo {{"todos":[{{"id":"{k}","content":"a","status":"pending"}}]}}'
        ),
        "nothing at all": lambda k: f'TOOL bench_nothing {{"k":{k}}}',
    }


def tool_calls(bench: Bench, calls: int, rounds: int) -> None:
    from hermes_cli.plugins import PluginContext, PluginManifest, get_plugin_manager
    from run_agent import AIAgent

    schema = {"name": "bench_nothing", "description": "-", "parameters": {"type": "object"}}
    ctx = PluginContext(PluginManifest(name="bench"), get_plugin_manager())
    ctx.register_tool("bench_nothing", "bench", schema, lambda args, **_: "{}")
    took: list[float] = []
    plain = AIAgent._execute_tool_calls

    def timed(self, *args, **kwargs):
        began = time.perf_counter()
        try:
            return plain(self, *args, **kwargs)
        finally:
            took.append(time.perf_counter() - began)

    quiet = bench.plugin("quiet", QUIET)
    AIAgent._execute_tool_calls = timed

    def run(call: Callable[[int], str], at: int) -> list[float]:
        took.clear()
        text = " ".join(call(at * calls + k) for k in range(calls))
        result = agent_of(bench.server).run_conversation(text)
        assert result["final_response"] == f"ok: {calls}", result["final_response"]
        return took[1:]  # the first call of a run makes the tool's surroundings

    best = 0.0
    for name, call in tools(bench.folder).items():
        run(call, 0)
        without: list[float] = []
        guarded: list[float] = []
        for at in range(rounds):
            without += run(call, at)
            with mounted(quiet):
                guarded += run(call, at)
        least, most = (statistics.median(one) * 1000 for one in (without, guarded))
        bench.row(
            f"a call of {name}: without, with a quiet plugin",
            f"{least:.2f} ms, {most:.2f} ms: {most / least:.2f}x, {most - least:+.2f} ms",
        )
        if name in ("terminal", "read_file", "write_file", "search_files"):
            best = max(best, most / least)
    AIAgent._execute_tool_calls = plain
    kept = best <= TOOL_CALL_RATIO
    bench.promise(f"a tool call costs {best:.2f}x, {TOOL_CALL_RATIO} was promised", kept=kept)


# -- interrupts


def p99(values: list[float]) -> float:
    return sorted(values)[max(0, round(len(values) * 0.99) - 1)]


def summary(waits: list[float]) -> str:
    return f"median {statistics.median(waits):.2f} ms, p99 {p99(waits):.2f} ms"


def by_the_host(bench: Bench, ear: Path, count: int) -> list[float]:
    """The same plugin, told by the host alone."""
    from sliphook.blocking import Interrupted, PluginHost

    waits: list[float] = []
    with PluginHost([ear]) as host, host.session() as session:
        for _ in range(count):
            before = len(whole_lines(bench.file))
            turn = session.turn("x").enter()
            time.sleep(0.3)  # as idle as it is in a run: a process that has just worked is faster
            said = time.monotonic()
            turn.interrupt()
            waits.append((bench.heard(before) - said) * 1000)
            turn.leave(Interrupted())
    return waits


def by_the_bridge(
    bench: Bench, text: str, count: int, *, asked: Path | None = None
) -> tuple[list[float], list[float]]:
    """How long it took until the plugin heard, and how long `AIAgent.interrupt` did."""
    waits: list[float] = []
    lasted: list[float] = []
    for _ in range(count):
        before = len(whole_lines(bench.file))
        times = len(asked.read_text()) if asked is not None and asked.exists() else 0
        requests = len(bench.server.requests)
        agent = agent_of(bench.server)
        run = Ran(lambda agent=agent: agent.run_conversation(text))
        give_up = time.monotonic() + WAIT_S
        while len(bench.server.requests) == requests or (
            asked is not None and (len(asked.read_text()) if asked.exists() else 0) == times
        ):
            assert time.monotonic() < give_up
            time.sleep(0.005)
        time.sleep(0.05)
        said = time.monotonic()
        agent.interrupt("Stop requested")
        lasted.append((time.monotonic() - said) * 1000)
        waits.append((bench.heard(before) - said) * 1000)
        run.end()
    return waits, lasted


def interrupts(bench: Bench, count: int) -> None:
    ear, hangs = bench.plugin("ear", EAR), bench.plugin("hangs", HANGS)
    alone = by_the_host(bench, ear, count)
    bench.row("an interrupt, told by the host alone", summary(alone))
    with mounted(ear):
        waits, _ = by_the_bridge(bench, "THINK 30", count)
    ratio = statistics.median(waits) / statistics.median(alone)
    bench.row("`AIAgent.interrupt` until the plugin hears", f"{summary(waits)}, {ratio:.2f}x")
    busy = os.getloadavg()[0] > (os.cpu_count() or 1)
    if busy:
        bench.row(f"p99 of at most {INTERRUPT_P99_MS:.0f} ms", "not judged: the machine is busy")
    bench.promise(
        f"an interrupt is heard after {p99(waits):.1f} ms at p99, {INTERRUPT_P99_MS} was promised",
        kept=busy or p99(waits) <= INTERRUPT_P99_MS,
    )
    bench.promise(
        f"the bridge costs an interrupt {ratio:.2f}x, {BESIDE_THE_HOST_RATIO} was promised",
        kept=ratio <= BESIDE_THE_HOST_RATIO,
    )
    few = max(10, count // 4)
    text = 'TOOL terminal {"command":"sleep 30"}'
    with mounted(ear):
        free, free_call = by_the_bridge(bench, text, few)
    with mounted(ear, hangs):
        held, held_call = by_the_bridge(bench, text, few, asked=Path(f"{bench.file}.asked"))
    ratio = statistics.median(held) / statistics.median(free)
    bench.row("an interrupt in a tool call, until the plugin hears", summary(free))
    bench.row("the same while a guard hangs", f"{summary(held)}, {ratio:.2f}x")
    bench.row("`AIAgent.interrupt` itself in a tool call", summary(free_call))
    bench.row("the same while a guard hangs", summary(held_call))
    bench.promise(
        f"a hanging guard costs an interrupt {ratio:.2f}x, {BESIDE_NO_GUARD_RATIO} was promised",
        kept=ratio <= BESIDE_NO_GUARD_RATIO,
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-hermes")
    parser.add_argument("--calls", type=int, default=10, help="tool calls of a run")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each tool")
    parser.add_argument("--interrupts", type=int, default=100, help="0: none; of tools: --calls 0")
    options = parser.parse_args()
    server = ScriptedServer()
    server.start()
    with tempfile.TemporaryDirectory(prefix="sliphook-hermes-") as folder:
        home = Path(folder)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        os.environ.update(HOME=folder, HERMES_HOME=str(home / ".hermes"), PATH=path)
        for name in ("DATA", "STATE", "CONFIG", "CACHE"):
            os.environ[f"XDG_{name}_HOME"] = str(home / name.lower())
        World(home, server).set_up(enabled=[])
        (home / "files").mkdir()
        os.chdir(home / "files")
        from hermes_cli.plugins import discover_plugins

        discover_plugins()
        logging.disable(logging.CRITICAL)
        bench = Bench(home / "files", server)
        # what Hermes shows is not for here
        with redirect_stdout(io.StringIO()):
            if options.calls:
                tool_calls(bench, options.calls, options.rounds)
            if options.interrupts:
                interrupts(bench, options.interrupts)
    server.stop()
    for one in bench.broken:
        print(f"not kept: {one}", file=sys.stderr)
    sys.stderr.flush()
    threading.Timer(10, os._exit, [1]).start()
    os._exit(1 if bench.broken else 0)  # Hermes's pools wait for what they have given up


if __name__ == "__main__":
    sys.exit(main())
