"""How far a call has come is told to the client, the last step too."""

from __future__ import annotations

from typing import Any, cast

import trio
import trio.testing

from sliphook.adapters.mcp.serve.rendering import Steps
from sliphook.adapters.mcp.serve.server import Context, Reporter


class SlowClient:
    """The session of a client that reads when it is let."""

    def __init__(self) -> None:
        self.told: list[str | None] = []
        self.reads = trio.Event()
        self.session = self

    async def report_progress(self, _: float, __: float | None, message: str | None) -> None:
        self.told.append(message)
        await self.reads.wait()


async def test_the_last_step_is_told_though_the_call_is_over() -> None:
    client = SlowClient()
    reporter = Reporter(cast("Context", cast("Any", client)))
    with trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reporter.run)
            reporter.take(0.25, "one")
            await trio.testing.wait_all_tasks_blocked()
            reporter.take(0.5, "two")
            reporter.take(0.75, "three")
            reporter.end()
            client.reads.set()
    assert client.told == ["one", "three"]


def test_the_numbers_grow_from_nothing() -> None:
    steps = Steps()
    assert [steps.next(one) for one in (None, None, 0.5)] == [
        (1.0, None),
        (2.0, None),
        (2.0000000000000004, 1.0),
    ]
    steps = Steps()
    assert [steps.next(one) for one in (0.0, 0.25, 0.25)] == [
        (0.0, 1.0),
        (0.25, 1.0),
        (0.25000000000000006, 1.0),
    ]
