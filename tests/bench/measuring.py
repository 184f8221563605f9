"""How things are measured: in turns, and as ratios within one round.

A busy machine then slows all alike.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from time import perf_counter_ns

import trio

Once = Callable[[], Awaitable[object]]

MOST_WARM_UPS = 10
"""Calls at the beginning of a turn that are not counted: a tenth of the turn, and at most this."""

PROC = Path("/proc/self/smaps_rollup").exists()
"""There is a Linux to ask what a process takes."""


@dataclass(frozen=True)
class Scale:
    """How much is measured.

    Attributes:
        rounds: turns that all contestants take.
        calls: hooks of one contestant in a round; of a slow one a part of it.
        starts: quick programs that are started of each kind.
        slow_starts: slow ones.
        batches: turns of the interrupts, each with fresh plugins.
        interrupts: in one batch.
        told: events told to many plugins.
        hooks: of the long session.
        many, some: the hundred and the fifty of the table; fewer only to try the benchmark itself.
    """

    rounds: int
    calls: int
    starts: int
    slow_starts: int
    batches: int
    interrupts: int
    told: int
    hooks: int
    many: int = 100
    some: int = 50


FULL = Scale(
    rounds=25,
    calls=200,
    starts=20,
    slow_starts=6,
    batches=5,
    interrupts=100,
    told=40,
    hooks=100_000,
)
QUICK = Scale(
    rounds=10, calls=100, starts=6, slow_starts=3, batches=2, interrupts=50, told=20, hooks=5_000
)
TINY = Scale(
    rounds=2,
    calls=4,
    starts=1,
    slow_starts=1,
    batches=1,
    interrupts=2,
    told=2,
    hooks=40,
    many=3,
    some=5,
)


@dataclass
class Contestant:
    """One thing that takes its turn.

    Attributes:
        name: for the table.
        once: does it once.
        share: how many calls of a round it gets: slow ones a part.
        pause_s: how long it rests before each call.
        rounds_us: what each call took, by rounds.
    """

    name: str
    once: Once
    share: float = 1.0
    pause_s: float = 0.0
    rounds_us: list[list[float]] = field(default_factory=list[list[float]])

    async def run(self, calls: int) -> None:
        """Take one turn.

        Its first calls would show what the one before it has left of the caches, and are not
        counted.
        """
        took: list[float] = []
        calls = max(1, round(calls * self.share))
        for _ in range(min(calls // 10, MOST_WARM_UPS)):
            await self.once()
        for _ in range(calls):
            if self.pause_s:
                await trio.sleep(self.pause_s)
            start = perf_counter_ns()
            await self.once()
            took.append((perf_counter_ns() - start) / 1000)
        self.rounds_us.append(took)

    def medians_us(self) -> list[float]:
        """The p50 of each round."""
        return [statistics.median(took) for took in self.rounds_us]

    def p50_us(self) -> float:
        """The median of the rounds' p50."""
        return statistics.median(self.medians_us())

    def p99_us(self) -> float:
        """The median of the rounds' p99."""
        return statistics.median(quantile(took, 0.99) for took in self.rounds_us)


async def take_turns(contestants: Sequence[Contestant], scale: Scale) -> None:
    """Let all run, round by round.

    The first round is for warming up and does not count; garbage is collected between the turns.
    """
    for index in range(scale.rounds + 1):
        # forwards and backwards: who always follows the same neighbour would inherit its cache
        for contestant in contestants if index % 2 else reversed(contestants):
            gc.collect()
            await contestant.run(scale.calls)
    for contestant in contestants:
        del contestant.rounds_us[0]


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of all do not exceed."""
    return sorted(values)[max(0, ceil(len(values) * share) - 1)]


@dataclass(frozen=True)
class Measured:
    """A number and how sure it is.

    Attributes:
        value: the median of the rounds.
        low, high: nine of ten rounds lie between them.
        best: the smallest over the smallest: what a quiet machine would say.
    """

    value: float
    low: float
    high: float
    best: float


def measured(values: Sequence[float], best: float | None = None) -> Measured:
    """The median of `values`, and how far they spread."""
    return Measured(
        statistics.median(values),
        quantile(values, 0.05),
        quantile(values, 0.95),
        min(values) if best is None else best,
    )


def ratio(above: Sequence[float], below: Sequence[float]) -> Measured:
    """One by the other, round by round."""
    return measured(
        [one / other for one, other in zip(above, below, strict=True)], min(above) / min(below)
    )


def children_cpu_s(pid: int) -> float:
    """The processor time of a living process, all its threads, in nanosecond steps. Linux."""
    return (
        sum(
            int((task / "schedstat").read_text().split()[0])
            for task in Path(f"/proc/{pid}/task").iterdir()
        )
        / 1e9
    )


def resident_kib(pid: int | str = "self") -> float:
    """The memory that a living process occupies, pages that it shares with others included.

    Linux.
    """
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Rss:"):
            return float(line.split()[1])
    raise ValueError(f"no Rss for {pid}")
