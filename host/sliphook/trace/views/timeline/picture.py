"""Pure: what a timeline shows, in tracks, rows and items. `svg` and `page` draw it.

All text that a plugin can choose is quoted here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from sliphook.quoting import quote
from sliphook.trace.record import TraceRecord
from sliphook.trace.render import count, duration, size
from sliphook.trace.views.spans import Lane, Mark, ProcessSpan, Span, TraceSpans

from .scale import Scale, scale_of

__all__ = ["Band", "Flag", "Picture", "Track", "TrackItem", "TrackRow", "picture_of"]

_ROWS: Final = 8
"""How many requests at the same time have a row each; further ones share the last one."""

_NAME_CHARS: Final = 64
_NOTE_CHARS: Final = 200
_ALL_BODIES: Final = 8_000_000
"""Characters of all messages together; each is cut accordingly, within the next two bounds."""
_LONGEST_BODY: Final = 4_000
_SHORTEST_BODY: Final = 160


class TrackItem(msgspec.Struct, frozen=True, array_like=True):
    """A bar; or a mark, if it begins and ends at the same place.

    Attributes:
        begin, end: in milliseconds that are shown.
        style: its kind and its state, `hook deny`.
        label: the text on it or beside it.
        lines: the text that is shown while the pointer is on it.
        took_ms: how long it took, pauses included; None for a mark.
    """

    begin: float
    end: float
    style: str
    label: str
    lines: Sequence[str]
    took_ms: float | None = None


class TrackRow(msgspec.Struct, frozen=True):
    """Items that do not overlap, in order; `shape` is `bars`, `marks` or `thin`."""

    shape: str
    items: Sequence[TrackItem]


class Band(msgspec.Struct, frozen=True):
    """A process of a plugin, behind the rows.

    Attributes:
        begin, ready, end: in milliseconds that are shown; until `ready` it was starting.
        state: `lived`, `died`, or `open` if the trace ends before it.
        lines: the text that is shown while the pointer is on it.
    """

    begin: float
    ready: float
    end: float
    state: str
    lines: Sequence[str]


class Track(msgspec.Struct, frozen=True):
    """The agent or a plugin: its name, a word about it, its rows and its processes."""

    name: str
    note: str
    rows: Sequence[TrackRow]
    bands: Sequence[Band] = ()


class Flag(msgspec.Struct, frozen=True):
    """A moment that concerns every track."""

    at: float
    label: str


class Picture(msgspec.Struct, frozen=True):
    """All of it.

    Attributes:
        title, subtitle: the text above.
        scale: the time axis.
        tracks: the agent first.
        turns: from when to when turns are open, in milliseconds that are shown; turns that overlap
            are one.
        flags: the interrupts.
    """

    title: str
    subtitle: str
    scale: Scale
    tracks: Sequence[Track]
    turns: Sequence[tuple[float, float]]
    flags: Sequence[Flag]


def picture_of(trace: TraceSpans, title: str) -> Picture:
    """The picture of a trace.

    Args:
        trace: What happened.
        title: The file's name.
    """
    return _Painter(trace, title).picture()


class _Painter:
    def __init__(self, trace: TraceSpans, title: str) -> None:
        self._trace = trace
        self._title = title
        self._scale = scale_of(self._busy(), self._ms(trace.ended_s))
        share = _ALL_BODIES // max(1, trace.records)
        self._body_chars = min(_LONGEST_BODY, max(_SHORTEST_BODY, share))

    def picture(self) -> Picture:
        trace = self._trace
        tracks = [self._agent(), *(self._plugin(lane) for lane in trace.lanes)]
        return Picture(
            title=quote(self._title, _NOTE_CHARS),
            subtitle=self._subtitle(),
            scale=self._scale,
            tracks=[track for track in tracks if track.rows or track.bands],
            turns=list(
                _together((self._x(turn.begin_s), self._x(turn.end_s)) for turn in trace.turns)
            ),
            flags=[
                Flag(self._x(one.at_s), f"interrupt: {quote(one.reason, _NAME_CHARS)}")
                for one in trace.interrupts
            ],
        )

    # -- time

    def _ms(self, at_s: float) -> float:
        return (at_s - self._trace.began_s) * 1000

    def _x(self, at_s: float) -> float:
        return round(self._scale.shown(self._ms(at_s)), 4)

    def _busy(self) -> Iterable[tuple[float, float]]:
        """From when to when something happens; an idle process or session does not count."""
        trace = self._trace
        spans = [*trace.turns, *trace.models, *trace.tools]
        for lane in trace.lanes:
            spans += lane.spans
            for mark in lane.marks:
                yield self._ms(mark.at_s), self._ms(mark.at_s)
            for process in lane.processes:
                yield self._ms(process.begin_s), self._ms(process.ready_s or process.begin_s)
                yield self._ms(process.end_s), self._ms(process.end_s)
        for span in spans:
            yield (
                self._ms(span.begin_s),
                self._ms(
                    span.end_s if span.state != "open" or span.kind == "turn" else span.begin_s
                ),
            )

    def _subtitle(self) -> str:
        trace = self._trace
        began = datetime.fromtimestamp(trace.wall_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        words = [
            began,
            duration(self._ms(trace.ended_s)),
            count(len(trace.lanes), "plugin"),
            count(len(trace.turns), "turn"),
            count(trace.records, "record"),
        ]
        return " · ".join(words)

    # -- tracks

    def _agent(self) -> Track:
        trace = self._trace
        rows = [
            *self._rows(trace.sessions, "thin"),
            *self._rows(trace.turns, "bars"),
            *self._rows(trace.models, "bars"),
            *self._rows(trace.tools, "bars"),
        ]
        return Track("agent", count(len(trace.turns), "turn"), rows)

    def _plugin(self, lane: Lane) -> Track:
        deaths = sum(process.died for process in lane.processes)
        asked = sum(span.kind in ("hook", "tool") for span in lane.spans)
        words = [count(asked, "request"), *([count(deaths, "death")] if deaths else [])]
        rows = list(self._rows(lane.spans, "bars"))
        # The end of a band shows the exit.
        marks = [self._mark(mark) for mark in lane.marks if mark.what != "exit"]
        for index, process in enumerate(lane.processes):
            if process.died:
                marks.append(self._death(process, lane.processes[index + 1 : index + 2]))
        if marks:
            rows.append(TrackRow("marks", sorted(marks, key=lambda mark: mark.begin)))
        return Track(
            quote(lane.name, _NAME_CHARS),
            ", ".join(words),
            rows,
            [self._band(process) for process in lane.processes],
        )

    def _rows(self, spans: Sequence[Span], shape: str) -> Iterable[TrackRow]:
        """As few rows as possible without overlap, at most `_ROWS`."""
        rows: list[list[Span]] = []
        ends: list[float] = []
        for span in sorted(spans, key=lambda span: span.begin_s):
            index = next((index for index, end in enumerate(ends) if end <= span.begin_s), None)
            if index is None and len(rows) < _ROWS:
                rows.append([])
                ends.append(0.0)
                index = len(rows) - 1
            index = len(rows) - 1 if index is None else index
            rows[index].append(span)
            ends[index] = max(ends[index], span.end_s)
        return [TrackRow(shape, [self._bar(span) for span in row]) for row in rows]

    # -- items

    def _bar(self, span: Span) -> TrackItem:
        what = quote(span.what.removeprefix("hook/").removeprefix("tool/call "), _NAME_CHARS)
        label = (
            what
            if span.verdict is None or span.kind == "session"
            else f"{what} · {quote(span.verdict, _NAME_CHARS)}"
        )
        took = (
            "still open at the end of the trace" if span.state == "open" else duration(span.took_ms)
        )
        full = (
            quote(span.what, _NAME_CHARS)
            if span.verdict is None
            else f"{quote(span.what, _NAME_CHARS)} · {quote(span.verdict, _NAME_CHARS)}"
        )
        lines = [
            full,
            f"{took}, begun at {self._clock(span.begin_s)}",
            *self._messages(span.records),
        ]
        begin = self._x(span.begin_s)
        return TrackItem(
            begin,
            max(begin, self._x(span.end_s)),
            f"{span.kind} {span.state}",
            label,
            lines,
            round(span.took_ms, 4),
        )

    def _mark(self, mark: Mark) -> TrackItem:
        at = self._x(mark.at_s)
        what = quote(
            "cancel" if mark.kind == "cancel" else mark.what.removeprefix("event/"), _NAME_CHARS
        )
        lines = [
            quote(mark.what, _NOTE_CHARS),
            f"at {self._clock(mark.at_s)}",
            *self._messages([mark.record]),
        ]
        return TrackItem(at, at, mark.kind, what, lines)

    def _death(self, process: ProcessSpan, following: Sequence[ProcessSpan]) -> TrackItem:
        at = self._x(process.end_s)
        why = quote(process.why or "died", _NOTE_CHARS)
        lines = [f"it died: {why}", f"at {self._clock(process.end_s)}"]
        again = [one for one in following if one.again]
        lines += [f"started again at {self._clock(one.begin_s)}" for one in again]
        return TrackItem(at, at, "death", f"{why}; started again" if again else why, lines)

    def _band(self, process: ProcessSpan) -> Band:
        state = "died" if process.died else "lived" if process.ended else "open"
        why = quote(process.why or "", _NOTE_CHARS)
        lines = [f"a process, started at {self._clock(process.begin_s)}"]
        if process.ready_s is not None:
            lines.append(f"ready after {duration((process.ready_s - process.begin_s) * 1000)}")
        lines.append(
            f"ended at {self._clock(process.end_s)}: {why}"
            if process.ended
            else "alive at the end of the trace"
        )
        ready = process.end_s if process.ready_s is None else process.ready_s
        begin, end = self._x(process.begin_s), self._x(process.end_s)
        return Band(begin, self._x(ready), end, state, lines)

    def _messages(self, records: Sequence[TraceRecord]) -> Iterable[str]:
        arrows = {"to_plugin": "→", "from_plugin": "←", None: "·"}
        for record in records:
            if record.note is not None:
                yield f"· {quote(record.note, _NOTE_CHARS)}"
            if record.body is not None:
                length = (
                    f" ({size(record.size)})"
                    if record.size is not None and record.size > self._body_chars
                    else ""
                )
                yield f"{arrows[record.direction]} {quote(record.body, self._body_chars)}{length}"

    def _clock(self, at_s: float) -> str:
        return f"{at_s - self._trace.began_s:.3f} s"


def _together(stretches: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """In order, with those that overlap merged."""
    open_one: tuple[float, float] | None = None
    for begin, end in sorted(stretches):
        if open_one is not None and begin < open_one[1]:
            open_one = open_one[0], max(open_one[1], end)
            continue
        if open_one is not None:
            yield open_one
        open_one = begin, end
    if open_one is not None:
        yield open_one
