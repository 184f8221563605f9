"""What passes over the wire, kept for the page: the last records, and a channel for each reader."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import dropwhile
from textwrap import dedent
from typing import Any, Final

import msgspec
import trio

from sliphook.trace.background_sink import BackgroundSink
from sliphook.trace.from_body import complete
from sliphook.trace.line_format import encode_line, header_line
from sliphook.trace.record import TraceRecord
from sliphook.trace.render import Style, render_body, render_line
from sliphook.trace.views.span_builder import spans_of
from sliphook.trace.views.timeline.picture import picture_of
from sliphook.trace.views.timeline.svg import svg_of

KEPT: Final = 5_000
KEPT_BYTES: Final = 32 * 1024 * 1024
"""So much of the wire is kept, the newest: some hours of trying by hand."""
DRAWN: Final = 1_000
"""Records that the picture is drawn of: it takes a fifth of a second then."""
SHOWN_BYTES: Final = 32 * 1024
"""Of a longer body the page shows the beginning; the saved trace has more."""
READER_MESSAGES: Final = 10_000
"""A page that is so far behind is cut off; its browser connects again."""

_PLAIN: Final = Style(colour=False, unicode=True)
_LIFE: Final = ("spawn", "exit", "lifecycle")
_REQUESTS: Final = ("hook/", "event/", "tool/", "command/")


class ShownRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record as the page shows it; `again`: it is a message that may be sent once more."""

    number: int
    kind: str
    verdict: str | None
    line: str
    body: str
    again: bool


class WireFeed(BackgroundSink):
    """A trace sink for the page.

    Args:
        token: the loop in which the readers are.

    Attributes:
        on_life: called in the loop when a process has begun or ended, or the plugin has another
            state.

    Raises:
        OSError: no thread can be started.
    """

    def __init__(self, token: trio.lowlevel.TrioToken) -> None:
        self.on_life: Callable[[], None] = lambda: None
        self._token = token
        self._kept: deque[tuple[TraceRecord, ShownRecord]] = deque()
        self._bytes = 0
        self._number = 0
        self._readers: set[trio.MemorySendChannel[Any]] = set()
        super().__init__("sliphook-inspect")

    def close(self) -> None:
        """End the thread."""
        self._writer.close(0.5)

    # -- in the loop

    @contextmanager
    def reading(self) -> Generator[trio.MemoryReceiveChannel[Any]]:
        """A channel of what is told from now on, the kept records first."""
        sends, receives = trio.open_memory_channel[Any](READER_MESSAGES)
        for _, shown in self._kept:
            sends.send_nowait({"record": shown})
        self._readers.add(sends)
        try:
            yield receives
        finally:
            self._readers.discard(sends)

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message to every reader."""
        for reader in tuple(self._readers):
            try:
                reader.send_nowait(message)
            except trio.WouldBlock:
                self._readers.discard(reader)
                reader.close()

    def message(self, number: int) -> TraceRecord | None:
        """The kept record of that number."""
        return next((record for record, shown in self._kept if shown.number == number), None)

    def answer_to(self, asked: TraceRecord) -> TraceRecord | None:
        """What the plugin replied to a request of the host's; None: nothing, or not yet."""
        kept = (record for record, _ in self._kept)
        for record in dropwhile(lambda record: record is not asked, kept):
            if record is asked or record.kind != "message" or record.id != asked.id:
                continue
            is_answer = record.elapsed_ms is not None
            if record.direction == "from_plugin" and is_answer:
                return record
            if record.direction == "to_plugin" and not is_answer:
                return None  # the next process has been asked, and counts from the beginning
        return None

    def trace(self) -> bytes:
        """All that is kept, as the lines of a trace file."""
        records = [record for record, _ in self._kept]
        if not records:
            return b""
        return header_line(records[0], part=1) + b"".join(map(encode_line, records))

    def picture(self, title: str) -> str:
        """The newest records as a timeline, in SVG."""
        records = [record for record, _ in self._kept][-DRAWN:]
        return svg_of(picture_of(spans_of(records), title))

    def _take(self, batch: Sequence[tuple[TraceRecord, str, str]]) -> None:
        for record, line, body in batch:
            self._number += 1
            shown = ShownRecord(
                number=self._number,
                kind=record.kind,
                verdict=record.verdict,
                line=line,
                body=body,
                again=record.kind == "message"
                and record.direction == "to_plugin"
                and not record.cut
                and (record.method or "").startswith(_REQUESTS),
            )
            self._kept.append((record, shown))
            self._bytes += len(record.body or b"")
            self.tell({"record": shown})
        if any(record.kind in _LIFE for record, _, _ in batch):
            self.on_life()
        while len(self._kept) > KEPT or self._bytes > KEPT_BYTES:
            old, _ = self._kept.popleft()
            self._bytes -= len(old.body or b"")

    # -- in the thread

    def _write(self, batch: Sequence[TraceRecord]) -> int:
        taken = [_shown(complete(self._redacted(record))) for record in batch]
        try:
            self._token.run_sync_soon(self._take, taken)
        except trio.RunFinishedError:
            return len(batch)
        return 0


def _shown(record: TraceRecord) -> tuple[TraceRecord, str, str]:
    short = record
    if record.body is not None and len(record.body) > SHOWN_BYTES:
        short = msgspec.structs.replace(record, body=record.body[:SHOWN_BYTES])
    return record, render_line(record, _PLAIN), dedent("\n".join(render_body(short, _PLAIN)))
