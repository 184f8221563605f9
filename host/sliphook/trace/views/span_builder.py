"""Pure: from the records of a trace to its spans, marks and processes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

from sliphook.trace.exchanges import Exchanges, Names, Params, RecordRole, confirms_cancel, facts_of
from sliphook.trace.record import TraceRecord

from .spans import Interrupt, Lane, Mark, MarkKind, ProcessSpan, Span, SpanKind, State, TraceSpans

__all__ = ["spans_of"]

_TURN_STATES: Final[dict[str, State]] = {
    "completed": "good",
    "interrupted": "cancelled",
    "denied": "deny",
}
_TOOL_STATES: Final[dict[str, State]] = {"ok": "good", "denied": "deny", "cancelled": "cancelled"}
_VERDICTS: Final[dict[str, State]] = {"deny": "deny", "ask": "ask"}
_Key = TypeVar("_Key")
_WRONG: Final = frozenset({"stray", "refused", "late"})


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
        self._agent = _Agent(self._trace)
        self._lanes: dict[str, Lane] = {}
        self._open: dict[int, Span] = {}  # by the identity of the request's record
        self._states: dict[str, str] = {}

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
        elif record.kind == "drop":
            lane.marks.append(
                Mark(kind="lost", what=record.note or "lost", at_s=at_s, record=record)
            )
        elif record.kind == "stderr":
            lane.marks.append(Mark(kind="stderr", what="stderr", at_s=at_s, record=record))
        elif confirms_cancel(record):
            lane.marks.append(Mark(kind="cancel", what="cancelled", at_s=at_s, record=record))
        elif record.kind in _WRONG:
            lane.marks.append(Mark(kind="wrong", what=record.kind, at_s=at_s, record=record))

    def _changed(self, lane: Lane, record: TraceRecord) -> None:
        before, now = self._states.get(record.plugin), record.verdict or ""
        self._states[record.plugin] = now
        at_s = record.mono_s
        if now == "starting":
            lane.processes.append(
                ProcessSpan(begin_s=at_s, end_s=at_s, again=before == "restarting")
            )
            return
        # a plugin that has said its own name goes on in another lane, without the beginning
        process = lane.processes[-1] if lane.processes else self._latest_start()
        if process is None:
            return
        if now == "ready":
            process.ready_s = at_s
        elif now in ("restarting", "failed", "refused", "self_disabled") and before != "restarting":
            process.died = True
            process.end_s, process.ended = at_s, True
            process.why = record.note or process.why

    def _latest_start(self) -> ProcessSpan | None:
        starting = [
            process
            for lane in self._lanes.values()
            for process in lane.processes
            if process.ready_s is None and not process.ended
        ]
        return starting[-1] if len(starting) == 1 else None

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


class _Agent:
    """What the agent did, as far as hooks and events tell it."""

    def __init__(self, trace: TraceSpans) -> None:
        self._trace = trace
        self._sessions: dict[str, Span] = {}
        self._turns: dict[str, Span] = {}
        self._models: dict[tuple[str, int], Span] = {}
        self._tools: dict[str, Span] = {}
        self._interrupted: set[str] = set()

    def take(self, record: TraceRecord) -> None:
        if record.kind == "late":  # its turn may have ended long ago
            return
        if record.session_id is not None:
            session = _known(
                self._sessions,
                record.session_id,
                self._trace.sessions,
                "session",
                "session",
                record,
            )
            if session.state == "open":
                session.end_s = record.mono_s
        if record.turn_id is not None:
            turn = _known(
                self._turns,
                record.turn_id,
                self._trace.turns,
                "turn",
                f"turn {len(self._turns) + 1}",
                record,
            )
            if turn.state == "open":
                turn.end_s = record.mono_s
        family, _, name = (record.method or "").partition("/")
        # Those that no plugin heard tell as much of what the agent did.
        if family in ("hook", "event") and (
            record.kind == "unheard" or record.direction == "to_plugin"
        ):
            self._note(name, facts_of(record).params, record)

    def close(self) -> None:
        for spans in (self._trace.models, self._trace.tools):
            for span in spans:
                turn = self._turns.get(span.records[0].turn_id or "")
                if span.state == "open":  # the trace has no end of it; it ended with its turn
                    span.end_s = (
                        self._trace.ended_s if turn is None else max(span.begin_s, turn.end_s)
                    )

    def _note(self, name: str, params: Params, record: TraceRecord) -> None:
        turn_id, trace = record.turn_id or "", self._trace
        call = turn_id, params.call_index or 0
        match name:
            case "session_start" if record.session_id in self._sessions:
                self._sessions[record.session_id].what = f"session {params.platform or ''}".rstrip()
            case "session_end" if record.session_id in self._sessions:
                _finish(self._sessions[record.session_id], record, "good", params.reason)
            case "turn_end" if turn_id in self._turns:
                _finish(
                    self._turns[turn_id],
                    record,
                    _TURN_STATES.get(params.outcome or "", "failed"),
                    params.outcome,
                )
            case "agent_loop_stopped" if turn_id not in self._interrupted:
                self._interrupted.add(turn_id)
                trace.interrupts.append(
                    Interrupt(
                        at_s=record.mono_s,
                        reason=params.invalidation_reason or params.reason or "interrupt",
                    )
                )
            case "pre_llm_call":
                _known(self._models, call, trace.models, "model", params.model or "model", record)
            case "post_llm_call" | "llm_call_failed" if call in self._models:
                if name == "post_llm_call":
                    _finish(self._models[call], record, "good", params.finish_reason)
                else:
                    _finish(self._models[call], record, "failed", params.kind)
            case "pre_tool_call" if params.call_id is not None:
                _known(
                    self._tools,
                    params.call_id,
                    trace.tools,
                    "tool",
                    params.tool_name or "tool",
                    record,
                )
            case "post_tool_call" if params.call_id in self._tools:
                status = str(params.status)
                _finish(
                    self._tools[params.call_id], record, _TOOL_STATES.get(status, "failed"), status
                )
            case _:
                pass


def _known(
    known: dict[_Key, Span],
    key: _Key,
    all_of_them: list[Span],
    kind: SpanKind,
    what: str,
    record: TraceRecord,
) -> Span:
    """The span with this key; if there is none, it begins with the record."""
    span = known.get(key)
    if span is None:
        span = known[key] = Span(
            kind=kind, what=what, begin_s=record.mono_s, end_s=record.mono_s, records=[record]
        )
        all_of_them.append(span)
    return span


def _finish(span: Span, record: TraceRecord, state: State, verdict: str | None) -> None:
    """End the span with the record; if several plugins are told, the first record counts."""
    if span.state == "open":
        span.end_s, span.state, span.verdict = record.mono_s, state, verdict
        span.records.append(record)
