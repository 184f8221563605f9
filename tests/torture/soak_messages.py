"""`python -m tests.torture.soak_messages [COUNT]`: a million drawn messages, and a heartbeat.

Hosts side by side in one loop, each with a plugin that sends what hypothesis drew and a healthy
one. Memory must be as flat at the end as at the beginning, and no message may hold the loop: what
seemed to is tried again, alone. Linux only: it reads /proc.
"""

from __future__ import annotations

import gc
import heapq
import random
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import trio

from tests.heartbeat import LIMIT_MS, Heartbeat, Held, heartbeat
from tests.torture.case import Workshop
from tests.torture.hostile import Recipe, drawn
from tests.torture.inside import memory_mib
from tests.torture.kinds.generated import HOSTILE, Assault, beside
from tests.torture.runner import Silence

HOSTS = 4
SMALL, LARGE = 1_500, 200
"""So many recipes are drawn, of messages under 4 KiB and of any length; then they are mixed anew."""
LARGE_SHARE = 0.02
AGAIN = 5
"""So many of the worst recipes are tried again, alone."""
ROWS = 20
MORE_MEMORY = 1.15
"""The last third may use so much more memory than the first: allocators keep their peak."""


class Soak:
    """The run and what is counted."""

    def __init__(self, folder: Path, count: int) -> None:
        self.count = count
        self.folder = folder
        self.sent = 0
        self.held: list[Held] = []
        self.memory: list[float] = []
        self.processes = 0
        self.worst: list[tuple[float, str, Recipe]] = []
        self.faults: list[str] = []
        self._began = time.monotonic()

    async def run(self) -> None:
        """All of it, and then the worst again."""
        small = await drawn(list[Recipe], "small", SMALL, 1)
        large = await drawn(list[Recipe], "recipes", LARGE, 2)
        gc.collect()
        gc.freeze()  # as the commands do: what was imported and drawn is no garbage
        self._began = time.monotonic()
        async with heartbeat() as beat, trio.open_nursery() as nursery:
            for number in range(HOSTS):
                nursery.start_soon(self._host, beat, number, small, large)
        print(f"\n{self.sent:,} messages in {time.monotonic() - self._began:.0f} s")
        gc.collect()
        for held_ms, told, recipe in sorted(self.worst, reverse=True)[:AGAIN]:
            again = await self._alone(recipe)
            print(f"{held_ms:.1f} ms, alone {again.longest_ms:.1f} ms: {told[:300]}")
            self.faults += [f"{fault}: {told}" for fault in again.beyond()]
        self._compare()

    async def _host(
        self, beat: Heartbeat, number: int, small: list[Recipe], large: list[Recipe]
    ) -> None:
        dice = random.Random(number)
        place = self.folder / str(number)
        place.mkdir()
        stage = Assault(Workshop(place))
        with beat.measure() as held:
            self.held.append(held)

            async def work() -> None:
                while self.sent < self.count:
                    recipe = dice.choice(large if dice.random() < LARGE_SHARE else small)
                    before, held.own_ms, held.frozen_ms = held.longest_ms, 0.0, 0.0
                    await stage.commit(recipe)
                    self._count(recipe, held.longest_ms)
                    held.own_ms = max(before, held.own_ms)

            await beside(stage, HOSTILE, work)
        self.processes += len(stage.sightings.pids)

    def _count(self, recipe: Recipe, held_ms: float) -> None:
        if self.sent // (self.count // ROWS) != (self.sent + recipe.times) // (self.count // ROWS):
            self.memory.append(memory_mib())
            print(
                f"{time.monotonic() - self._began:6.0f} s {self.sent:10,} messages "
                f"{self.memory[-1]:6.0f} MiB",
                flush=True,
            )
        self.sent += recipe.times
        if held_ms > LIMIT_MS:
            heapq.heappush(self.worst, (held_ms, recipe.told(), recipe))
            if len(self.worst) > 4 * AGAIN:
                heapq.heappop(self.worst)

    async def _alone(self, recipe: Recipe) -> Held:
        place = Path(tempfile.mkdtemp(dir=self.folder))
        stage = Assault(Workshop(place))
        async with heartbeat() as beat:
            with beat.measure() as held:
                await beside(stage, HOSTILE, lambda: stage.commit(recipe))
        return held

    def _compare(self) -> None:
        third = len(self.memory) // 3
        if third < 2:
            self.faults.append("too few messages to compare anything")
            return
        first, last = median(self.memory[1 : third + 1]), median(self.memory[-third:])
        print(f"memory: {first:.0f} MiB in the first third, {last:.0f} MiB in the last")
        if last > first * MORE_MEMORY + 5:
            self.faults.append(f"memory grew from {first:.0f} to {last:.0f} MiB")


def main(count: str = "1000000") -> int:
    """Run and report; 1 where a promise was broken."""
    with (
        tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as name,
        Silence(),
    ):
        soak = Soak(Path(name), int(count))
        trio.run(soak.run)
    longest = max(held.longest_ms for held in soak.held)
    interrupt = max(held.interrupt_ms for held in soak.held)
    print(
        f"the loop was held for {longest:.1f} ms of CPU at most, "
        f"by interrupt() for {interrupt:.1f} ms; {soak.processes:,} processes"
    )
    for fault in soak.faults[:20]:
        print(f"FAULT: {fault}")
    print("kept" if not soak.faults else f"{len(soak.faults)} faults")
    return 1 if soak.faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
