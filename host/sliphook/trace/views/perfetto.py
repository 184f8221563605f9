"""Pure: a trace in the Trace Event Format, for https://ui.perfetto.dev and chrome://tracing.

Each plugin is a process there, and each row of spans a thread.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from sliphook.quoting import quote
from sliphook.trace.record import TraceRecord

from .span_builder import spans_of
from .spans import Lane, Mark, Span, TraceSpans

__all__ = ["to_perfetto"]

_AGENT: Final = 1
"""The number of the agent's process; the plugins follow."""

_BODY_CHARS: Final = 4_000
_NAME_CHARS: Final = 100


def to_perfetto(records: Iterable[TraceRecord]) -> str:
    """The text of a `.json` file. Times count from the first record."""
    events = list(_Writer(spans_of(records)).events())
    return msgspec.json.encode({"traceEvents": events, "displayTimeUnit": "ms"}).decode()


class _Writer:
    def __init__(self, trace: TraceSpans) -> None:
        self._trace = trace

    def events(self) -> Iterator[dict[str, Any]]:
        trace = self._trace
        yield from _named(_AGENT, "agent")
        thread = 0
        for title, spans in (
            ("sessions", trace.sessions),
            ("turns", trace.turns),
            ("model calls", trace.models),
            ("tools", trace.tools),
        ):
            for row in _rows(spans):
                thread += 1
                yield _thread(_AGENT, thread, title)
                yield from (self._slice(_AGENT, thread, span) for span in row)
        for one in trace.interrupts:
            yield self._instant(
                _AGENT, 1, f"interrupt: {quote(one.reason, _NAME_CHARS)}", one.at_s, scope="g"
            )
        for number, lane in enumerate(trace.lanes, _AGENT + 1):
            yield from self._plugin(number, lane)

    def _plugin(self, number: int, lane: Lane) -> Iterator[dict[str, Any]]:
        yield from _named(number, quote(lane.name, _NAME_CHARS))
        yield _thread(number, 1, "process")
        for process in lane.processes:
            ended = (
                quote(process.why or "ended", _BODY_CHARS)
                if process.ended
                else "alive at the end of the trace"
            )
            yield self._complete(
                number, 1, "process", process.begin_s, process.end_s, {"end": ended}
            )
            if process.died:
                yield self._instant(number, 1, "died", process.end_s, scope="p", why=ended)
        yield _thread(number, 2, "events")
        for mark in lane.marks:
            yield self._mark(number, mark)
        for thread, row in enumerate(_rows(lane.spans), 3):
            yield _thread(number, thread, "requests")
            yield from (self._slice(number, thread, span) for span in row)

    def _mark(self, number: int, mark: Mark) -> dict[str, Any]:
        return self._instant(
            number, 2, quote(mark.what, _NAME_CHARS), mark.at_s, scope="t", **_bodies([mark.record])
        )

    def _slice(self, number: int, thread: int, span: Span) -> dict[str, Any]:
        told = {
            "state": span.state,
            "verdict": None if span.verdict is None else quote(span.verdict, _NAME_CHARS),
        }
        return self._complete(
            number,
            thread,
            quote(span.what, _NAME_CHARS),
            span.begin_s,
            span.end_s,
            {**told, **_bodies(span.records)},
        )

    def _complete(
        self,
        number: int,
        thread: int,
        name: str,
        begin_s: float,
        end_s: float,
        args: dict[str, Any],
    ) -> dict[str, Any]:
        begin, end = self._us(begin_s), self._us(end_s)
        return {
            "ph": "X",
            "pid": number,
            "tid": thread,
            "name": name,
            "ts": begin,
            "dur": round(max(0.0, end - begin), 3),
            "args": args,
        }

    def _instant(
        self, number: int, thread: int, name: str, at_s: float, *, scope: str, **args: Any
    ) -> dict[str, Any]:
        return {
            "ph": "i",
            "pid": number,
            "tid": thread,
            "name": name,
            "ts": self._us(at_s),
            "s": scope,
            "args": args,
        }

    def _us(self, at_s: float) -> float:
        return round((at_s - self._trace.began_s) * 1e6, 3)


def _named(number: int, name: str) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "pid": number, "tid": 0, "name": "process_name", "args": {"name": name}}
    yield {
        "ph": "M",
        "pid": number,
        "tid": 0,
        "name": "process_sort_index",
        "args": {"sort_index": number},
    }


def _thread(number: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": number, "tid": thread, "name": "thread_name", "args": {"name": name}}


def _rows(spans: Sequence[Span]) -> list[list[Span]]:
    """As few rows as possible: the slices of one thread must not overlap."""
    rows: list[list[Span]] = []
    free: list[tuple[float, int]] = []  # when each row is free again, the earliest first
    for span in sorted(spans, key=lambda span: span.begin_s):
        if free and free[0][0] <= span.begin_s:
            index = heapq.heappop(free)[1]
            rows[index].append(span)
        else:
            index = len(rows)
            rows.append([span])
        heapq.heappush(free, (span.end_s, index))
    return rows


def _bodies(records: Sequence[TraceRecord]) -> dict[str, Any]:
    sides = {"to_plugin": "sent", "from_plugin": "received", None: "recorded"}
    return {
        sides[record.direction]: quote(record.body, _BODY_CHARS)
        for record in records
        if record.body is not None
    }
