"""`python -m tests.torture.soak [SECONDS]`: thirty plugins, hooks and interrupts all the time.

A third of the plugins misbehave at random.

Memory, descriptors and processes must be as flat at the end as at the beginning. Linux only: it
reads /proc.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

import trio

from sliphook import PluginHost, Session
from tests.torture.case import Workshop, python
from tests.torture.inside import Bounds, descriptors, living, memory_mib, tasks
from tests.torture.runner import Silence
from tests.torture.stage import Stage, make_all

GOOD, BAD, WORKERS = 20, 10, 6
ROWS = 20
"""Rows of the table, about."""
MORE_MEMORY = 1.15
"""The last third may use so much more memory than the first: allocators keep their peak."""

_RANDOM = """
import random
greet()
dice = random.Random(os.getpid())
while True:
    message = receive()
    method = str(message.get("method"))
    if not method.startswith("hook/"):
        polite(message)
        continue
    id, what = message["id"], dice.random()
    if what < 0.90:
        reply(id, {})
    elif what < 0.91:
        os._exit(3)
    elif what < 0.92:
        os.kill(os.getpid(), signal.SIGSEGV)
    elif what < 0.93:
        raw(b"Content-Length: x\\r\\n\\r\\n")
    elif what < 0.94:
        subprocess.Popen(["sleep", "1000"])
        reply(id, {})
    elif what < 0.95:
        for _ in range(200): os.write(2, b"noise " * 100 + b"\\n")
        reply(id, {})
    elif what < 0.96:
        raw(b"stray\\n" * 20)
        reply(id, {"decison": "deny"})
    elif what < 0.97:
        for n in range(200): send(method="host/log", params={"level": "info", "message": "m" * 200})
        reply(id, {})
    elif what < 0.975:
        os.closerange(0, 3)
        time.sleep(1000)
    elif what < 0.98:
        time.sleep(1000)
    elif what < 0.99:
        time.sleep(0.7)
        reply(id, {})
"""


class Row(NamedTuple):
    """One look at the host."""

    seconds: float
    memory_mib: float
    files: int
    processes: int
    tasks: int
    hooks: int
    interrupts: int
    restarts: int
    failed: int
    median_ms: float
    worst_ms: float


class Soak:
    """The run and what is counted."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.stage = Stage(Workshop(folder))
        self.seconds = seconds
        self.bounds = Bounds()
        self.hooks = 0
        self.interrupts = 0
        self.restarts_by_hand = 0
        self.statuses: Counter[str] = Counter()
        self.faults: list[str] = []
        self.rows: list[Row] = []
        self._times_ms: list[float] = []
        self._dice = random.Random(1)

    async def run(self) -> None:
        """All of it."""
        before = descriptors()
        makes = [
            python("greet()\nserve()", name=f"good{number}", subscriptions=_hears(60))
            for number in range(GOOD)
        ]
        makes[0] = python(
            "greet()\nserve()",
            name="good0",
            subscriptions=[*_hears(60), {"event": "stop", "timeout_s": 60}],
        )
        makes += [
            python(_RANDOM, name=f"bad{number}", subscriptions=_hears(0.5)) for number in range(BAD)
        ]
        programs = await trio.to_thread.run_sync(lambda: make_all(self.stage.shop, *makes))
        async with self.stage.open_host(programs) as host:
            with trio.move_on_after(self.seconds):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._look, host)
                    nursery.start_soon(self._reset, host)
                    nursery.start_soon(self._ask_the_good, host)
                    for _ in range(WORKERS):
                        nursery.start_soon(self._work, host)
        await trio.sleep(1.0)
        left = living(set(self.stage.sightings.pids))
        self.faults += [f"left behind: {one}" for one in left]
        self.faults += [
            f"left open: {what}"
            for number, what in descriptors().items()
            if number not in before and "event" not in what
        ]
        self.faults += self.bounds.beyond()
        self._compare()

    async def _work(self, host: PluginHost) -> None:
        """Sessions with turns; one in three is interrupted while its hook is under way."""
        while True:
            async with host.session(session_key="work") as session, trio.open_nursery() as nursery:
                for _ in range(20):
                    async with session.turn("hello", interrupt=True) as turn:
                        if self._dice.random() < 0.3:
                            nursery.start_soon(self._interrupt, session)
                        outcome = await session.hooks.ask(
                            "user_prompt_submit", turn, source="user", text="hello"
                        )
                        self.hooks += 1
                        for part in outcome.parts:
                            self.statuses[part.status] += 1
                            if part.plugin.startswith("good") and part.status != "answered":
                                self.faults.append(f"{part.plugin}: {part.status} {part.error}")

    async def _interrupt(self, session: Session) -> None:
        await trio.sleep(self._dice.random() * 0.01)
        self.interrupts += session.interrupt()

    async def _ask_the_good(self, host: PluginHost) -> None:
        """How long a hook takes that only well-behaved plugins hear."""
        async with host.session(session_key="good") as session, session.turn("good") as turn:
            while True:
                began = time.perf_counter()
                outcome = await session.hooks.ask(
                    "stop", turn, turn_count=1, stop_count=0, last_assistant_message=None
                )
                self._times_ms.append((time.perf_counter() - began) * 1000)
                self.hooks += 1
                if [part.status for part in outcome.parts] != ["answered"]:
                    self.faults.append(f"a good plugin alone: {outcome.parts}")
                await trio.sleep(0.05)

    async def _reset(self, host: PluginHost) -> None:
        """A person starts again what the breaker has left out."""
        while True:
            await trio.sleep(3.0)
            for plugin in host.plugins:
                if plugin.state == "failed":
                    self.restarts_by_hand += 1
                    await host.restart(plugin.name)

    async def _look(self, host: PluginHost) -> None:
        began = time.monotonic()
        every_s = self.seconds / ROWS
        print(
            "    s   MiB  fds  procs  tasks   hooks  interrupts  restarts  failed  median ms "
            " worst ms",
            flush=True,
        )
        while True:
            deadline = trio.current_time() + every_s
            while trio.current_time() < deadline:
                self.bounds.look(host)
                await trio.sleep(0.02)
            times, self._times_ms = self._times_ms or [0.0], []
            row = Row(
                seconds=time.monotonic() - began,
                memory_mib=memory_mib(),
                files=len(descriptors()),
                processes=len(
                    living({plugin.pid for plugin in host.plugins if plugin.pid is not None})
                ),
                tasks=tasks(),
                hooks=self.hooks,
                interrupts=self.interrupts,
                restarts=sum(plugin.restarts for plugin in host.plugins) + self.restarts_by_hand,
                failed=sum(plugin.state == "failed" for plugin in host.plugins),
                median_ms=median(times),
                worst_ms=quantiles(times, n=100)[-1] if len(times) > 1 else times[0],
            )
            self.rows.append(row)
            print(
                "{:5.0f} {:5.0f} {:4} {:6} {:6} {:7} {:11} {:9} {:7} {:10.2f} {:9.2f}".format(*row),
                flush=True,
            )

    def _compare(self) -> None:
        third = len(self.rows) // 3
        if third < 2:
            self.faults.append("too short to compare anything")
            return
        first, last = self.rows[1 : third + 1], self.rows[-third:]
        memory = [median(row.memory_mib for row in rows) for rows in (first, last)]
        if memory[1] > memory[0] * MORE_MEMORY + 5:
            self.faults.append(f"memory grew from {memory[0]:.0f} to {memory[1]:.0f} MiB")
        for what in ("files", "processes", "tasks"):
            sizes = [max(getattr(row, what) for row in rows) for rows in (first, last)]
            if (
                sizes[1] > sizes[0] + GOOD + BAD
            ):  # as many plugins may be starting or dying at the moment of the look
                self.faults.append(f"{what} grew from {sizes[0]} to {sizes[1]}")


def _hears(timeout_s: float) -> list[dict[str, object]]:
    return [
        {"event": "user_prompt_submit", "timeout_s": timeout_s},
        {"event": "turn_end"},
        {"event": "agent_loop_stopped"},
    ]


def main(seconds: str = "600") -> int:
    """Run and report; 1 where something was not flat."""
    with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as name, Silence():
        soak = Soak(Path(name), float(seconds))
        trio.run(soak.run)
    print(
        f"\n{soak.hooks:,} hooks, {soak.interrupts:,} interrupts, "
        f"{len(soak.stage.sightings.pids):,} processes"
    )
    print(
        "how the answers ended:",
        ", ".join(f"{count:,} {status}" for status, count in soak.statuses.most_common()),
    )
    print(
        "the most of everything:",
        ", ".join(f"{size:,} {what}" for what, size in soak.bounds.seen.items()),
    )
    for fault in soak.faults[:20]:
        print(f"FAULT: {fault}")
    print("flat" if not soak.faults else f"{len(soak.faults)} faults")
    return 1 if soak.faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
