"""An interrupt in mid-hook, with plugins that are well and with plugins that are not."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from time import perf_counter_ns

import trio

from sliphook import Session

from .asking import ask, opened
from .floor import call
from .measuring import Scale, measured, quantile
from .table import Row, Skipped
from .workshop import Workshop

BATCH_S = 3.0
"""A batch ends before 5 s: a plugin that reads nothing for so long is killed."""


async def interrupts(shop: Workshop, scale: Scale) -> list[Row | Skipped]:
    """Fifty plugins owe an answer; from `interrupt()` to the inside of the next turn.

    Of the sick, 20 are stopped, 10 deaf, 10 flooding.
    """
    well: list[list[float]] = []
    sick: list[list[float]] = []
    for batch in range(scale.batches):
        kinds = [("slow", scale.some)]
        well.append(await _batch(shop.bare(_names(f"well-{batch}", kinds)), scale))
        fifth = scale.some // 5
        kinds = [
            ("slow-stopped", 2 * fifth),
            ("deaf", fifth),
            ("flood", fifth),
            ("slow", scale.some - 4 * fifth),
        ]
        sick.append(await _batch(shop.bare(_names(f"sick-{batch}", kinds)), scale))
    of_well = [quantile(took, 0.99) for took in well]
    of_sick = [quantile(took, 0.99) for took in sick]
    number, by_well = (
        measured(of_sick),
        measured([one / other for one, other in zip(of_sick, of_well, strict=True)]),
    )
    p50 = measured([quantile(took, 0.5) for took in sick])
    what = f"interrupt() and the next turn, {scale.some} plugins of which 4 in 5 are sick: p99"
    return [
        Row(what, number, "ms", 5, absolute=f"p50 {p50.value:.2f} ms"),
        Row(
            "the same",
            by_well,
            f"x {scale.some} healthy ones",
            3,
            absolute=f"p99 of those {measured(of_well).value:.2f} ms",
        ),
    ]


def _names(batch: str, kinds: list[tuple[str, int]]) -> list[str]:
    return [f"{kind}-{batch}-{index}" for kind, count in kinds for index in range(count)]


async def _batch(plugins: list[Path], scale: Scale) -> list[float]:
    """How long each interrupt took, in milliseconds."""
    took: list[float] = []
    async with opened(plugins) as host:
        for plugin in host.plugins:
            if plugin.name.startswith("slow-stopped"):
                assert plugin.pid is not None
                os.kill(plugin.pid, signal.SIGSTOP)
        async with host.session(cwd="/home/ada/project") as session:
            took.append(await _interrupt(session))  # one at least, however busy the machine
            with trio.move_on_after(BATCH_S):
                for _ in range(scale.interrupts - 1):
                    took.append(await _interrupt(session))
            host.kill()
    return took


async def _interrupt(session: Session) -> float:
    took = 0.0
    async with trio.open_nursery() as nursery:
        await nursery.start(_wait_in_hook, session)
        start = perf_counter_ns()
        session.interrupt("user_stop", "stop_command")
        async with session.turn("something else"):
            took = (perf_counter_ns() - start) / 1e6
    return took


async def _wait_in_hook(session: Session, task_status: trio.TaskStatus[None]) -> None:
    async with session.turn("go on") as turn:
        task_status.started()
        await ask(session, turn, call())
