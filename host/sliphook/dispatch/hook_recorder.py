"""Records the outcomes of hooks, in the trace and as spans.

Without a trace and without spans the host has None instead of a `HookRecorder`: it costs nothing.
"""

from __future__ import annotations

import time
from typing import Protocol

import msgspec
import trio

from sliphook.trace.bodies import OutcomeBody, PartBody
from sliphook.trace.record import Kind, TraceRecord, TraceSink
from sliphook.trace.until_it_raises import UntilItRaises
from sliphook.wire import envelope
from sliphook_sdk.protocol import CATALOGUE, Answer, Payload

from .outcome import Outcome, Part

_encoder = msgspec.json.Encoder()


class HookSpans(Protocol):
    """The spans of one hook. No method may wait."""

    @property
    def traceparent(self) -> str | None:
        """The span of the whole hook, which plugins that are only told may continue."""
        ...

    def asked(self, plugin: str) -> str | None:
        """Begin the span of a plugin that is about to be asked, and return it."""
        ...

    def over(self, outcome: Outcome) -> None:
        """End all spans of the hook: it has its outcome, which may be `cancelled`."""
        ...


class Spans(Protocol):
    """Makes spans of hooks and events (see `sliphook.otel`).

    Called in the host's loop: no method may wait. A span is given as a `traceparent`. If something
    raises, here or in a hook's spans, that is logged and no more spans are made.
    """

    def hook(self, name: str, payload: Payload) -> HookSpans:
        """Begin the spans of a hook that is about to be asked."""
        ...

    def told(self, name: str, payload: Payload) -> str | None:
        """The span of an event that is about to be told, or of a hook that is told as one."""
        ...

    def span_of(self, payload: Payload) -> str | None:
        """The span of the tool call or command to which the payload belongs."""
        ...


class HookRecord:
    """Records one hook.

    Args:
        name: the hook.
        payload: its payload.
        trace: takes the outcome, or None.
        spans: the hook's spans, or None.
        calls: calls the spans.
    """

    __slots__ = ("_began_s", "_calls", "_name", "_payload", "_spans", "_trace")

    def __init__(
        self,
        name: str,
        payload: Payload,
        trace: TraceSink | None,
        spans: HookSpans | None,
        calls: UntilItRaises,
    ) -> None:
        self._calls = calls
        self._name = name
        self._payload = payload
        self._trace = trace
        self._spans = spans
        self._began_s = time.perf_counter()

    @property
    def traceparent(self) -> str | None:
        """The span that a plugin may continue if it is only told, or None."""
        spans = self._spans
        return self._calls.call(lambda: _span(spans.traceparent)) if spans is not None else None

    def asked(self, plugin: str) -> str | None:
        """The span that a plugin which is about to be asked may continue, or None."""
        spans = self._spans
        return self._calls.call(lambda: _span(spans.asked(plugin))) if spans is not None else None

    def over(self, outcome: Outcome) -> None:
        """Record the outcome, which may be `cancelled`."""
        if (spans := self._spans) is not None:
            self._calls.call(lambda: spans.over(outcome))
        if self._trace is None:
            return
        if outcome.parts or outcome.cancelled:
            _record_outcome(self._trace, self._name, self._payload, outcome, self._began_s)
        else:
            _record_unheard(self._trace, self._name, self._payload)


class HookRecorder:
    """Makes a `HookRecord` for each hook, and records what reached no plugin.

    Args:
        trace: takes the outcomes, or None.
        spans: makes the spans, or None.
    """

    def __init__(self, trace: TraceSink | None, spans: Spans | None) -> None:
        self._trace = trace
        self._spans = spans
        self._calls = UntilItRaises("spans", type(spans))

    def hook(self, name: str, payload: Payload) -> HookRecord:
        """Begin the record of a hook that is about to be asked."""
        spans = self._spans
        of_hook = self._calls.call(lambda: spans.hook(name, payload)) if spans is not None else None
        return HookRecord(name, payload, self._trace, of_hook, self._calls)

    def told(self, name: str, payload: Payload) -> str | None:
        """The span of an event that is about to be told, or of a hook that is told as one."""
        if (spans := self._spans) is None:
            return None
        return self._calls.call(lambda: _span(spans.told(name, payload)))

    def span_of(self, payload: Payload) -> str | None:
        """The span of the tool call or command to which the payload belongs."""
        if (spans := self._spans) is None:
            return None
        return self._calls.call(lambda: _span(spans.span_of(payload)))

    def unheard(self, name: str, payload: Payload) -> None:
        """Record an event that reached no plugin, or a hook that was only to be told."""
        if self._trace is not None:
            _record_unheard(self._trace, name, payload)


def _span(span: object) -> str | None:
    """What the agent's spans gave, which goes into a message's envelope."""
    if span is not None and not isinstance(span, str):
        raise TypeError(f"a span must be a traceparent or None, not {type(span).__name__}")
    return span


def _record_unheard(trace: TraceSink, name: str, payload: Payload) -> None:
    """Record what reached no plugin: else its turn would be missing in the trace."""
    entry = CATALOGUE[name]
    method = f"{entry.kind}/{name}"
    try:
        body = envelope.encode(
            {
                "jsonrpc": "2.0",
                "method": method,
                "params": msgspec.structs.replace(payload, **dict.fromkeys(entry.heavy)),
            }
        )
    except TypeError:  # the agent filled in a value that has no JSON form
        body = None
    _record(trace, "unheard", method, payload, body)


def _record_outcome(
    trace: TraceSink, name: str, payload: Payload, outcome: Outcome, began_s: float
) -> None:
    elapsed_ms = (time.perf_counter() - began_s) * 1000
    verdict = "cancelled" if outcome.cancelled else outcome.decision
    body = _encoder.encode(_body(outcome))
    _record(trace, "outcome", f"hook/{name}", payload, body, elapsed_ms, verdict)


def _record(
    trace: TraceSink,
    kind: Kind,
    method: str,
    payload: Payload,
    body: bytes | None,
    elapsed_ms: float | None = None,
    verdict: str | None = None,
) -> None:
    trace.record(
        TraceRecord(
            kind=kind,
            wall_s=time.time(),
            mono_s=trio.current_time(),
            plugin="",
            method=method,
            elapsed_ms=elapsed_ms,
            verdict=verdict,
            body=body,
            session_id=payload.session_id,
            turn_id=payload.turn_id,
            seq=payload.seq,
        )
    )


def _body(outcome: Outcome) -> OutcomeBody:
    return OutcomeBody(
        parts=[_part(part) for part in outcome.parts],
        decision=outcome.decision,
        cancelled=outcome.cancelled,
        substituted_by=outcome.substituted_by,
        continue_with=outcome.continue_with,
    )


def _part(part: Part) -> PartBody:
    return PartBody(
        plugin=part.plugin,
        status=part.status,
        decision=part.decision,
        reason=part.reason,
        elapsed_ms=part.elapsed_ms,
        error=part.error,
        gives=_given_in(part.answer),
    )


def _given_in(answer: Answer | None) -> tuple[str, ...]:
    """What an answer has beside a decision, by the names of its fields."""
    if answer is None:
        return ()
    given = {
        "replace": bool(answer.replace),
        "substitute": bool(answer.substitute),
        "context": bool(answer.context),
        "continue_with": answer.continue_with is not None,
    }
    return tuple(name for name, is_given in given.items() if is_given)
