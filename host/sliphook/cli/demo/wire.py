"""What the demo knows of the plugins: it reads the trace, like anybody else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import trio

from sliphook.trace.from_body import complete
from sliphook.trace.record import TraceRecord

__all__ = ["Wire"]

WAIT_S: Final = 15.0
"""For anything that has to happen; far more than it takes."""


class Wire:
    """A trace sink that keeps its records, and can be waited on."""

    def __init__(self) -> None:
        self.records: list[TraceRecord] = []
        self._more = trio.Event()

    def record(self, record: TraceRecord) -> None:
        """Keep one record."""
        self.records.append(complete(record))
        self._more.set()

    def hide(self, secrets: Iterable[str]) -> None:
        """Nothing of it is shown."""

    def find(self, wanted: Callable[[TraceRecord], bool], *, after: int = 0) -> TraceRecord | None:
        """The first record that is wanted, from the one with the index `after` on; None where there is none."""
        return next((record for record in self.records[after:] if wanted(record)), None)

    async def wait_for(
        self, wanted: Callable[[TraceRecord], bool], *, after: int = 0
    ) -> TraceRecord | None:
        """The same, but waits for it; None where it does not come within `WAIT_S`."""
        with trio.move_on_after(WAIT_S):
            while (found := self.find(wanted, after=after)) is None:
                self._more = trio.Event()
                await self._more.wait()
            return found
        return None
