"""Pure: from the records of a trace to what the agent did: sessions, turns, model calls, tools."""

from __future__ import annotations

from typing import Final, TypeVar

from sliphook.trace.exchanges import Params, facts_of
from sliphook.trace.record import TraceRecord

from .spans import Interrupt, Span, SpanKind, State, TraceSpans

__all__ = ["AgentSpans"]

_TURN_STATES: Final[dict[str, State]] = {
    "completed": "good",
    "interrupted": "cancelled",
    "denied": "deny",
}
_TOOL_STATES: Final[dict[str, State]] = {"ok": "good", "denied": "deny", "cancelled": "cancelled"}
_Key = TypeVar("_Key")


class AgentSpans:
    """What the agent did, as far as hooks and events tell it: adds it to a trace's spans."""

    def __init__(self, trace: TraceSpans) -> None:
        self._trace = trace
        self._sessions: dict[str, Span] = {}
        self._turns: dict[str, Span] = {}
        self._models: dict[tuple[str, int], Span] = {}
        self._tools: dict[str, Span] = {}
        self._interrupted: set[str] = set()

    def take(self, record: TraceRecord) -> None:
        """Take the next record."""
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
        """End what the trace has no end of."""
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
                    words = [*filter(None, [params.finish_reason]), *params.by]
                    _finish(self._models[call], record, "good", ", ".join(words) or None)
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
                status = ", ".join([status, *params.by])
                if params.still_running is True:
                    status += ", told to stop"
                _finish(
                    self._tools[params.call_id],
                    record,
                    _TOOL_STATES.get(str(params.status), "failed"),
                    status,
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
