"""Many hooks under way at once, many of them in a row, and one event for many plugins."""

from __future__ import annotations

from time import perf_counter, process_time
from typing import Any

import msgspec
import trio

from sliphook_sdk.protocol import Payload
from sliphook_sdk.protocol.payloads import Notification

from .asking import hook, opened
from .floor import floor, payload
from .measuring import (
    PROC,
    Contestant,
    Measured,
    Once,
    Scale,
    measured,
    quantile,
    ratio,
    resident_kib,
)
from .table import Row, Skipped
from .workshop import Workshop

AT_ONCE = 64
REST_S = 0.002
"""In which plugins read what they were told, so that the next event finds empty pipes."""
FLAT_KIB = 1024
"""What the memory may grow in a long session: about a megabyte, which the allocator varies by."""


async def at_once(shop: Workshop, scale: Scale) -> list[Row | Skipped]:
    """Sixty-four tasks that ask one plugin, each again as soon as it has its answer."""
    rows: list[Row | Skipped] = []
    async with floor([shop.echo], payload()) as bounce:
        for kind, word, limit in (("sync", "def", 0.8), ("coroutine", "async def", 0.5)):
            async with hook(shop.python(kind, [f"{kind}-at-once"])) as once:
                base = Contestant("floor", bounce)
                shares: list[float] = []
                rates: list[float] = []
                for _ in range(scale.rounds):
                    await base.run(scale.calls)
                    rates.append(await _rate(once, scale.calls * 5))
                    shares.append(rates[-1] * base.medians_us()[-1] / 1e6)
            rows.append(
                Row(
                    f"{AT_ONCE} hooks at once, Python SDK, {word}: calls a second",
                    measured(shares, max(shares)),
                    "/ floor's p50",
                    limit,
                    "least",
                    f"{measured(rates).value:,.0f} a second",
                )
            )
    return rows


async def _rate(once: Once, calls: int) -> float:
    left = calls

    async def work() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await once()

    start = perf_counter()
    async with trio.open_nursery() as nursery:
        for _ in range(AT_ONCE):
            nursery.start_soon(work)
    return calls / (perf_counter() - start)


async def told_to_many(shop: Workshop, scale: Scale) -> list[Row | Skipped]:
    """One event for a hundred plugins in C: the host's CPU time for each, beside encoding alone."""
    text = "x" * 250
    encoder, message = msgspec.json.Encoder(), _message(text)
    spent: list[float] = []
    encodes: list[float] = []
    plugins = shop.bare([f"idle-told-{index}" for index in range(scale.many)])
    async with opened(plugins) as host, host.session(cwd="/home/ada/project") as session:
        for _ in range(scale.rounds):
            telling = encoding = 0.0
            for _ in range(scale.told):
                await trio.sleep(REST_S)
                start = process_time()
                session.notification("warning", text)
                telling += process_time() - start
                await trio.sleep(REST_S)
                start = process_time()
                for _ in range(scale.many):
                    encoder.encode(message)
                encoding += process_time() - start
            spent.append(telling / scale.told / scale.many * 1e6)
            encodes.append(encoding / scale.told / scale.many * 1e6)
    absolute = f"{measured(spent).value:.1f} of {measured(encodes).value:.2f} us"
    return [
        Row(
            f"an event told to {scale.many} plugins: host's CPU a plugin",
            ratio(spent, encodes),
            "x one encode",
            8,
            absolute=absolute,
        )
    ]


def _message(text: str) -> dict[str, Any]:
    like = payload()
    common: dict[str, Any] = {name: getattr(like, name) for name in Payload.__struct_fields__}
    return {
        "jsonrpc": "2.0",
        "method": "event/notification",
        "params": Notification(**common, level="warning", message=text, source="agent"),
    }


async def long_session(shop: Workshop, scale: Scale) -> list[Row | Skipped]:
    """Very many hooks in one session.

    The floor is measured between, so that the machine's own moods cancel out.
    """
    tenth = scale.hooks // 10
    shares: list[list[float]] = []
    memory: list[float] = []
    plugins = shop.python("sync", ["sync-long"])
    async with floor([shop.echo], payload()) as bounce, hook(plugins) as once:
        base, ours = Contestant("floor", bounce), Contestant("hook", once)
        for _ in range(10):
            shares.append([])
            for _ in range(10):
                await base.run(max(1, tenth // 30))
                await ours.run(max(1, tenth // 10))
                shares[-1].append(ours.medians_us()[-1] / base.medians_us()[-1])
            ours.rounds_us.clear()
            base.rounds_us.clear()  # what is measured is the host's memory, not the benchmark's
            memory.append(resident_kib() if PROC else 0.0)
    first, last = measured(shares[0]), measured(shares[-1])
    slower = Measured(
        last.value / first.value,
        last.low / first.high,
        last.high / first.low,
        last.best / first.best,
    )
    rows: list[Row | Skipped] = [
        Row(f"{scale.hooks:,} hooks in one session: the last tenth", slower, "x first tenth", 1.1),
    ]
    what = "the same: the host's memory has grown by"
    if memory[0]:
        rows.append(
            Row(
                what,
                measured([memory[-1] - memory[0]]),
                "KiB",
                FLAT_KIB,
                absolute=f"{quantile(memory, 1.0):,.0f} KiB at most",
            )
        )
    else:
        rows.append(Skipped(what, "needs /proc"))
    return rows
