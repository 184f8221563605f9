"""Records what hooks come to, in the trace and as spans.

Without a trace and without spans the host has None instead of a `HookRecorder`, and pays nothing.
"""

from __future__ import annotations

import time
from typing import Protocol

import msgspec
import trio

from sliphook.trace.bodies import OutcomeBody, PartBody
from sliphook.trace.record import Kind, TraceRecord, TraceSink
from sliphook.wire import envelope
from sliphook_sdk.protocol import CATALOGUE, Payload

from .outcome import Outcome, Part

_encoder = msgspec.json.Encoder()


class HookSpans(Protocol):
    """The spans of one hook. No method may wait or raise."""

    @property
    def traceparent(self) -> str | None:
        """The hook's own span, for plugins that are only told."""
        ...

    def asked(self, plugin: str) -> str | None:
        """A plugin is about to be asked: return the span of its part."""
        ...

    def over(self, outcome: Outcome) -> None:
        """The outcome is known, or is not wanted any more."""
        ...


class Spans(Protocol):
    """Makes spans of what happens (see `sliphook.otel`).

    Called from the host's own loop: no method may wait or raise.
    """

    def hook(self, name: str, payload: Payload) -> HookSpans:
        """A hook is about to be put to the plugins."""
        ...

    def told(self, name: str, payload: Payload) -> str | None:
        """An event, or a hook without an answer, is about to be told: return its span."""
        ...

    def span_of(self, payload: Payload) -> str | None:
        """The span of the tool call or command of this payload."""
        ...


class HookRecord:
    """Records one hook.

    Args:
        name: the hook.
        payload: what it is about.
        trace: where the outcome is recorded, or None.
        spans: the hook's spans, or None.
    """

    __slots__ = ("_began_s", "_name", "_payload", "_spans", "_trace")

    def __init__(
        self, name: str, payload: Payload, trace: TraceSink | None, spans: HookSpans | None
    ) -> None:
        self._name = name
        self._payload = payload
        self._trace = trace
        self._spans = spans
        self._began_s = time.perf_counter()

    @property
    def traceparent(self) -> str | None:
        """The span that a plugin may continue if it is only told."""
        return self._spans.traceparent if self._spans is not None else None

    def asked(self, plugin: str) -> str | None:
        """A plugin is about to be asked: return the span that it may continue."""
        return self._spans.asked(plugin) if self._spans is not None else None

    def over(self, outcome: Outcome) -> None:
        """The outcome is known, or is not wanted any more."""
        if self._spans is not None:
            self._spans.over(outcome)
        if self._trace is None:
            return
        if outcome.parts or outcome.cancelled:
            _record_outcome(self._trace, self._name, self._payload, outcome, self._began_s)
        else:
            _record_unheard(self._trace, self._name, self._payload)


class HookRecorder:
    """Makes a `HookRecord` for each hook, and records what reached no plugin.

    Args:
        trace: where outcomes are recorded, or None.
        spans: makes spans, or None.
    """

    def __init__(self, trace: TraceSink | None, spans: Spans | None) -> None:
        self._trace = trace
        self._spans = spans

    def hook(self, name: str, payload: Payload) -> HookRecord:
        """A hook is about to be put to the plugins."""
        return HookRecord(
            name,
            payload,
            self._trace,
            self._spans.hook(name, payload) if self._spans is not None else None,
        )

    def told(self, name: str, payload: Payload) -> str | None:
        """An event, or a hook without an answer, is about to be told: return its span."""
        return self._spans.told(name, payload) if self._spans is not None else None

    def span_of(self, payload: Payload) -> str | None:
        """The span of the tool call or command of this payload."""
        return self._spans.span_of(payload) if self._spans is not None else None

    def unheard(self, name: str, payload: Payload) -> None:
        """An event, or a hook that was only to be told, reached no plugin."""
        if self._trace is not None:
            _record_unheard(self._trace, name, payload)


def _record_unheard(trace: TraceSink, name: str, payload: Payload) -> None:
    """Without this, a trace would not show a turn that no plugin was told of."""
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
    except TypeError:  # the agent's own values have no JSON form
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
    )
