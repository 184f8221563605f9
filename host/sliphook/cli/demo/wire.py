"""What the demo knows about its plugins: it reads their trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import trio

from sliphook.trace.from_body import complete
from sliphook.trace.record import TraceRecord

__all__ = ["Wire"]

WAIT_S: Final = 15.0
"""The longest wait for a record; it comes far sooner."""


class Wire:
    """A trace sink that keeps its records and waits for a certain one."""

    def __init__(self) -> None:
        self.records: list[TraceRecord] = []
        self._more = trio.Event()

    def record(self, record: TraceRecord) -> None:
        """Keep one record."""
        self.records.append(complete(record))
        self._more.set()

    def hide(self, secrets: Iterable[str]) -> None:
        """See `TraceSink`: nothing to do, as the records are not shown."""

    def find(self, wanted: Callable[[TraceRecord], bool], *, after: int = 0) -> TraceRecord | None:
        """The first wanted record from the index `after` on, or None."""
        return next((record for record in self.records[after:] if wanted(record)), None)

    async def wait_for(
        self, wanted: Callable[[TraceRecord], bool], *, after: int = 0
    ) -> TraceRecord | None:
        """The same, but wait for it; None if it does not come within `WAIT_S`."""
        with trio.move_on_after(WAIT_S):
            while (found := self.find(wanted, after=after)) is None:
                # no checkpoint between the look and the wait, so no record is missed
                self._more = trio.Event()
                await self._more.wait()
            return found
        return None
