"""Pure: from the records of a trace to its spans, marks and processes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sliphook.trace.exchanges import Exchanges, Names, RecordRole, confirms_cancel
from sliphook.trace.record import TraceRecord

from .agent_spans import AgentSpans
from .spans import Lane, Mark, MarkKind, ProcessSpan, Span, SpanKind, State, TraceSpans

__all__ = ["spans_of"]

_VERDICTS: Final[dict[str, State]] = {"deny": "deny", "ask": "ask"}
_WRONG: Final = frozenset({"stray", "refused"})
_SOON_S: Final = 0.5
"""What stops so soon after it was told to is not shown as still running."""


def spans_of(records: Iterable[TraceRecord]) -> TraceSpans:
    """What the records tell; all of them stay in memory."""
    builder = _Builder()
    for record in records:
        builder.take(record)
    return builder.result()


class _Builder:
    def __init__(self) -> None:
        self._trace = TraceSpans()
        self._exchanges = Exchanges()
        self._names = Names()
        self._agent = AgentSpans(self._trace)
        self._lanes: dict[str, Lane] = {}
        self._open: dict[int, Span] = {}  # by the identity of the request's record
        self._told: dict[tuple[str, int | str], Span] = {}
        self._states: dict[str, str] = {}
        self._starting: dict[int, ProcessSpan] = {}  # by its identity; neither ready nor ended

    def take(self, record: TraceRecord) -> None:
        trace = self._trace
        if not trace.records:
            trace.began_s = trace.ended_s = record.mono_s
            trace.wall_s = record.wall_s
        trace.records += 1
        trace.began_s = min(trace.began_s, record.mono_s)
        trace.ended_s = max(trace.ended_s, record.mono_s)
        self._names.take(record)
        self._agent.take(record)
        entry = self._exchanges.take(record)
        if not record.plugin:
            return
        lane = self._lanes.get(record.plugin)
        if lane is None:
            lane = self._lanes[record.plugin] = Lane(name=record.plugin)
        if entry.role == "other":
            self._happened(lane, record)
        else:
            self._said(lane, entry, record)

    def result(self) -> TraceSpans:
        trace = self._trace
        for (plugin, _), span in self._told.items():
            span.end_s, span.verdict = trace.ended_s, "told; still running"
            self._lanes[plugin].spans.append(span)
        for lane in self._lanes.values():
            for span in lane.spans:
                if span.state == "open":
                    span.end_s = trace.ended_s
            for process in lane.processes:
                if not process.ended:
                    process.end_s = trace.ended_s
        self._agent.close()
        merged: dict[str, Lane] = {}
        for lane in self._lanes.values():
            name = self._names[lane.name]
            whole = merged.setdefault(name, Lane(name=name))
            whole.processes += lane.processes
            whole.spans += lane.spans
            whole.marks += lane.marks
        for lane in merged.values():
            lane.spans.sort(key=lambda span: span.begin_s)
            lane.marks.sort(key=lambda mark: mark.at_s)
        trace.lanes = list(merged.values())
        return trace

    def _happened(self, lane: Lane, record: TraceRecord) -> None:
        at_s = record.mono_s
        if record.kind == "lifecycle":
            self._changed(lane, record)
        elif record.kind == "spawn":
            pass  # the lifecycle record `starting` came before
        elif record.kind == "exit":
            process = lane.processes[-1] if lane.processes else None
            if process is not None:
                process.end_s, process.ended, process.why = at_s, True, record.note
                self._starting.pop(id(process), None)
        elif record.kind == "drop":
            lane.marks.append(
                Mark(kind="lost", what=record.note or "lost", at_s=at_s, record=record)
            )
        elif record.kind == "stderr":
            lane.marks.append(Mark(kind="stderr", what="stderr", at_s=at_s, record=record))
        elif record.kind == "late":
            self._over(lane, record)
        elif record.kind in _WRONG:
            lane.marks.append(Mark(kind="wrong", what=record.kind, at_s=at_s, record=record))

    def _over(self, lane: Lane, record: TraceRecord) -> None:
        """The work of a request ended after the host had given it up."""
        at_s, stopped = record.mono_s, confirms_cancel(record)
        kind: MarkKind = "cancel" if stopped else "wrong"
        lane.marks.append(Mark(kind=kind, what=record.verdict or "late", at_s=at_s, record=record))
        if record.id is None:
            return
        span = self._told.pop((record.plugin, record.id), None)
        if span is not None and not (stopped and at_s - span.begin_s < _SOON_S):
            span.end_s, span.verdict = at_s, f"told to stop; {record.note or 'ended'}"
            span.records.append(record)
            lane.spans.append(span)

    def _changed(self, lane: Lane, record: TraceRecord) -> None:
        before, now = self._states.get(record.plugin), record.verdict or ""
        self._states[record.plugin] = now
        at_s = record.mono_s
        if now == "starting":
            begun = ProcessSpan(begin_s=at_s, end_s=at_s, again=before == "restarting")
            lane.processes.append(begun)
            self._starting[id(begun)] = begun
            return
        # a plugin that has said its own name goes on in another lane, without the beginning
        process = lane.processes[-1] if lane.processes else self._only_start()
        if process is None:
            return
        if now == "ready":
            process.ready_s = at_s
            self._starting.pop(id(process), None)
        elif now in ("restarting", "failed", "refused", "self_disabled") and before != "restarting":
            process.died = True
            process.end_s, process.ended = at_s, True
            process.why = record.note or process.why
            self._starting.pop(id(process), None)

    def _only_start(self) -> ProcessSpan | None:
        return next(iter(self._starting.values())) if len(self._starting) == 1 else None

    def _said(self, lane: Lane, entry: RecordRole, record: TraceRecord) -> None:
        match entry.role:
            case "asked":
                self._begin(lane, entry.label, _kind_of(record.method or ""), record)
            case "called":
                self._begin(lane, entry.label, "call", record)
            case "answered":
                state, verdict = _answer(record)
                self._end(lane, entry, record, state, verdict)
            case "given_up":
                self._end(
                    lane,
                    entry,
                    record,
                    "cancelled" if record.verdict == "cancelled" else "failed",
                    record.verdict,
                )
                if entry.request is not None and record.verdict in ("cancelled", "timed_out"):
                    self._goes_on(entry, record)
            case "returned":
                self._end(lane, entry, record, "good", None)
            case "told":
                kind: MarkKind = "cancel" if record.method == "$/cancelRequest" else "event"
                lane.marks.append(
                    Mark(kind=kind, what=entry.label, at_s=record.mono_s, record=record)
                )
            case _:
                lane.marks.append(
                    Mark(kind="said", what=entry.label, at_s=record.mono_s, record=record)
                )

    def _goes_on(self, entry: RecordRole, record: TraceRecord) -> None:
        """The plugin had the request, so its work goes on until it says otherwise."""
        if record.id is not None:
            self._told[record.plugin, record.id] = Span(
                kind=_kind_of(record.method or ""),
                what=entry.label,
                begin_s=record.mono_s,
                end_s=record.mono_s,
                state="told",
                records=[],
            )

    def _begin(self, lane: Lane, what: str, kind: SpanKind, record: TraceRecord) -> None:
        span = Span(
            kind=kind, what=what, begin_s=record.mono_s, end_s=record.mono_s, records=[record]
        )
        self._open[id(record)] = span
        lane.spans.append(span)

    def _end(
        self, lane: Lane, entry: RecordRole, record: TraceRecord, state: State, verdict: str | None
    ) -> None:
        span = self._open.pop(id(entry.request), None)
        if span is None:  # the request was never written, or before the trace began
            begin_s = record.mono_s - (record.elapsed_ms or 0.0) / 1000
            span = Span(
                kind=_kind_of(record.method or ""),
                what=entry.label,
                begin_s=begin_s,
                end_s=record.mono_s,
                records=[],
            )
            lane.spans.append(span)
        span.end_s = record.mono_s
        span.state, span.verdict = state, verdict
        span.records.append(record)


def _answer(record: TraceRecord) -> tuple[State, str | None]:
    verdict = record.verdict
    if verdict is not None and verdict.startswith("error"):
        return ("cancelled" if "-32800" in verdict else "failed"), verdict
    return _VERDICTS.get(verdict or "", "good"), verdict


def _kind_of(method: str) -> SpanKind:
    if method.startswith("hook/"):
        return "hook"
    return "tool" if method in ("tool/call", "command/run") else "protocol"
