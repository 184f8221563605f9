"""`--trace`: every message as it passes, as text for people."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final, TextIO

import msgspec

from .background_sink import CLOSE_S, BackgroundSink
from .filter import Sifted, TraceFilter
from .from_body import complete
from .record import TraceRecord
from .render import Style, count, render_body, render_line
from .subjects import Subjects

__all__ = ["LiveTrace", "style_of"]

_LAID_OUT_BYTES: Final = 32 * 1024
"""A longer body is not laid out in lines: that would keep the interpreter from the host's loop."""


class _OwnOutput(TraceRecord, frozen=True, kw_only=True):
    """What the program shows itself, in its place among the records."""

    show: Callable[[], object]


class LiveTrace(BackgroundSink):
    """The live view. A slow or closed terminal costs records; the host never waits for it.

    Args:
        stream: Gets the lines, by its descriptor; with colour if it is a terminal and `NO_COLOR` is
            not set.
        write: Gets the text instead, whole lines, in the trace's thread; it may block and raise.
            `stream` then only tells what the terminal can show. For a program that draws on the
            terminal itself.
        bodies: Show the messages' bodies, too, and the hooks and events that reached no plugin.
        wanted: Show only these; None: all.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        write: Callable[[str], object] | None = None,
        bodies: bool = False,
        wanted: TraceFilter | None = None,
    ) -> None:
        self._fd = stream.fileno()
        self._encoding = stream.encoding
        self._is_terminal = stream.isatty()
        self._show = self._to_stream if write is None else write
        self._style = style_of(stream)
        self._bodies = bodies
        self._wanted = wanted or TraceFilter()
        self._sifted = Sifted(self._wanted)
        self._subjects = Subjects()
        # Last, so that a stream without a descriptor leaves no thread behind.
        super().__init__("sliphook-trace-live")

    def say(self, line: str) -> bool:
        """Queue a line of the program's own, to be shown behind what was recorded before.

        Returns:
            Whether it will be shown.
        """
        return self.behind(lambda: self._show(f"{line}\n"))

    def behind(self, show: Callable[[], object]) -> bool:
        """Call `show` in the trace's thread when all that was recorded before is shown.

        Returns:
            Whether it will be called.
        """
        return self._writer.put(
            _OwnOutput(kind="message", wall_s=0, mono_s=0, plugin="", show=show)
        )

    def close(self, timeout_s: float = CLOSE_S) -> str | None:
        """Show what is left.

        Returns:
            If records were not shown, or none could fit the filter, a line for people that says so.
            Else None.
        """
        lost = self._writer.close(timeout_s)
        if lost:
            return f"{count(lost, 'record')} of the trace could not be shown"
        return self._sifted.why_none()

    def _write(self, batch: Sequence[TraceRecord]) -> int:
        # For each batch, since the window may have another size by now.
        style = self._style._replace(width=self._width())
        shown: list[str] = []
        items = lost = 0
        for item in batch:
            if isinstance(item, _OwnOutput):
                lost += self._lost_of(shown, items) + _lost(item.show, 1)
                shown, items = [], 0
                continue
            lines = self._lines(item, style)
            shown += lines
            items += bool(lines)
        return lost + self._lost_of(shown, items)

    def _lost_of(self, lines: Sequence[str], items: int) -> int:
        text = "".join(f"{line}\n" for line in lines)
        return _lost(lambda: self._show(text), items) if text else 0

    def _lines(self, record: TraceRecord, style: Style) -> list[str]:
        # Redacted first: what `complete` takes out of the body could be a secret.
        record = complete(self._redacted(record))
        # of those that are not shown, too: an answer may be
        subject = self._subjects.of(record)
        if not self._sifted.fits(record) or (record.kind == "unheard" and not self._bodies):
            return []
        line = render_line(record, style, subject)
        if not self._bodies:
            return [line]
        if record.body is not None and len(record.body) > _LAID_OUT_BYTES:
            # what is no JSON is shown as it is, from its beginning
            record = msgspec.structs.replace(record, body=record.body[:_LAID_OUT_BYTES])
        return [line, *render_body(record, style)]

    def _width(self) -> int | None:
        """How many characters fit on a line now; None for what is no terminal."""
        try:
            return os.get_terminal_size(self._fd).columns or None if self._is_terminal else None
        except OSError:
            return None

    def _to_stream(self, text: str) -> None:
        # Not `stream.write`: if the terminal blocks, the program's own prints would wait, too.
        left = memoryview(text.encode(self._encoding, "backslashreplace"))
        while left:
            left = left[os.write(self._fd, left) :]


def _lost(show: Callable[[], object], items: int) -> int:
    """Show so many items, in one piece; returns how many of them could not be shown."""
    try:
        show()
    except OSError:
        return items
    return 0


def style_of(stream: TextIO) -> Style:
    """What the stream can show; without the width, which may change."""
    return Style(
        colour=stream.isatty() and not os.environ.get("NO_COLOR"),
        unicode=_can_show_arrows(stream.encoding),
    )


def _can_show_arrows(encoding: str) -> bool:
    try:
        "→←·".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
