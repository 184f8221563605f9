"""Spans for OpenTelemetry: `PluginHost(..., spans=OtelSpans())`.

Needs the extra `sliphook[otel]`; no other module imports this one.

```
session ─ turn ─┬─ hook user_prompt_submit ─ plugin guard
                ├─ chat MODEL
                └─ execute_tool NAME ─┬─ hook pre_tool_call ─ plugin guard
                                      └─ hook post_tool_call ─ plugin guard
```

Spans carry names, numbers and decisions, never the text of a message. Each message to a plugin has
its span in the envelope (`traceparent`), so that a plugin in any language can continue it.
"""

from __future__ import annotations

import time
from importlib import metadata
from typing import Final, cast

from opentelemetry import trace as api
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from sliphook.agent_log import agent_log
from sliphook.dispatch.outcome import Outcome
from sliphook_sdk.protocol import Payload
from sliphook_sdk.protocol.payloads import (
    LlmCallFailed,
    PostLlmCall,
    PostToolCall,
    PreLlmCall,
    PreToolCall,
    SessionEnd,
    SessionStart,
    TurnEnd,
    TurnStart,
)

__all__ = ["OtelSpans"]

_log = agent_log(__name__)

# `interrupted` and `denied` are not here: the user or a plugin wanted it so
_BAD_TURNS: Final = frozenset({"failed", "max_iterations", "loop_detected", "budget_exceeded"})


class OtelSpans:
    """Makes the spans of one host (see `hook_recorder.Spans`).

    A tracer, processor or exporter that fails is logged once, and the host goes on.

    Args:
        tracer_provider: makes the spans; by default the global one. Its processor should export in
            another thread, as `BatchSpanProcessor` does: any other makes the agent wait for the
            exporter.
    """

    def __init__(self, tracer_provider: api.TracerProvider | None = None) -> None:
        self._tracer = api.get_tracer("sliphook", metadata.version("sliphook"), tracer_provider)
        self._open: dict[tuple[str, str], Span] = {}
        self._has_failed = False

    # -- what the host tells (see `hook_recorder.Spans`)

    def hook(self, name: str, payload: Payload) -> OtelHook:
        """A hook is about to be put to the plugins."""
        hook = OtelHook(self, name, payload)
        try:
            if isinstance(payload, SessionStart):
                attributes = _known(
                    {"session.id": payload.session_id, "sliphook.session.source": payload.source}
                )
                self.begin("session", payload.session_id, "session", None, attributes)
            elif isinstance(payload, PreToolCall):
                attributes = {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": payload.tool_name,
                }
                attributes |= {
                    "gen_ai.tool.call.id": payload.call_id,
                    "sliphook.tool.origin": payload.origin,
                }
                self.begin(
                    "tool",
                    payload.call_id,
                    f"execute_tool {payload.tool_name}",
                    self._place_of(payload),
                    attributes,
                )
            hook.span = self.start(
                f"hook {name}", self._place_of(payload), {"sliphook.hook": name}, SpanKind.INTERNAL
            )
        except Exception:
            self.failed()
        return hook

    def told(self, name: str, payload: Payload) -> str | None:
        """An event is about to be told, or a hook too late to be answered; returns its span."""
        try:
            if isinstance(payload, TurnStart) and payload.turn_id is not None:
                self._begin_turn(payload, payload.turn_id)
            # before the end: `turn_end` itself still belongs to the turn
            parent = traceparent(self._place_of(payload))
            self._end_with(payload)
        except Exception:
            self.failed()
            return None
        return parent

    def span_of(self, payload: Payload) -> str | None:
        """The span that a tool call or a command belongs to."""
        try:
            return traceparent(self._place_of(payload))
        except Exception:
            self.failed()
            return None

    # -- the open spans

    def start(
        self, name: str, parent: Span | None, attributes: dict[str, str], kind: SpanKind
    ) -> Span:
        """A span that begins now; without a parent it belongs to the agent's current span."""
        context = api.set_span_in_context(parent) if parent is not None else None
        return self._tracer.start_span(name, context, kind, attributes)

    def begin(
        self, what: str, key: str, name: str, parent: Span | None, attributes: dict[str, str]
    ) -> None:
        """Open a span that is found again by kind and id."""
        self._open[what, key] = self.start(name, parent, attributes, SpanKind.INTERNAL)

    def end(
        self, what: str, key: str | None, attributes: dict[str, str | int], error: str | None = None
    ) -> None:
        """End an open span; does nothing if there is none."""
        span = self._open.pop((what, key), None) if key is not None else None
        if span is not None:
            span.set_attributes(attributes)
            if error is not None:
                span.set_status(Status(StatusCode.ERROR, error))
            span.end()

    def failed(self) -> None:
        """OpenTelemetry raised, or a value does not fit it."""
        # an exporter that is broken fails on every hook, and would fill the log
        if not self._has_failed:
            self._has_failed = True
            _log.exception("spans could not be made; this is said once")

    def end_tool(self, payload: PostToolCall) -> None:
        """`post_tool_call` ends a tool call's span."""
        error = payload.status if payload.status in ("error", "timed_out") else None
        known: dict[str, str | int] = {"sliphook.tool.status": payload.status}
        if payload.still_running:  # it may act behind the end of its span
            known["sliphook.tool.still_running"] = True
        self.end("tool", payload.call_id, known, error)

    def turn_span(self, turn_id: str) -> Span | None:
        """The turn's span if it is open, or None."""
        return self._open.get(("turn", turn_id))

    def _begin_turn(self, payload: TurnStart, turn_id: str) -> None:
        above = (
            self._open.get(("turn", payload.parent_turn_id))
            if payload.parent_turn_id is not None
            else None
        )
        attributes = {"session.id": payload.session_id, "sliphook.turn.id": turn_id}
        self.begin(
            "turn",
            turn_id,
            "turn",
            above or self._open.get(("session", payload.session_id)),
            attributes,
        )

    def _place_of(self, payload: Payload) -> Span | None:
        """The innermost open span that the payload is about."""
        keys = (
            ("tool", getattr(payload, "call_id", None)),
            ("turn", payload.turn_id),
            ("session", payload.session_id),
        )
        return next(
            (
                self._open[what, key]
                for what, key in keys
                if key is not None and (what, key) in self._open
            ),
            None,
        )

    def _end_with(self, payload: Payload) -> None:
        """End the spans of what the event says is over."""
        match payload:
            case PostLlmCall():
                self.end("model", payload.turn_id, _usage_of(payload))
            case LlmCallFailed() if payload.will_retry:
                model = self._open.get(("model", payload.turn_id or ""))
                if model is not None:
                    model.add_event(
                        "attempt failed",
                        {"error.type": payload.kind, "sliphook.attempt": payload.attempt},
                    )
            case LlmCallFailed():
                self.end("model", payload.turn_id, {"error.type": payload.kind}, payload.kind)
            case PostToolCall():
                self.end_tool(payload)
            case TurnEnd():
                # an interrupted model call has no event of its own
                self.end("model", payload.turn_id, {})
                error = payload.outcome if payload.outcome in _BAD_TURNS else None
                attributes: dict[str, str | int] = {
                    "sliphook.turn.outcome": payload.outcome,
                    "sliphook.turn.model_calls": payload.model_calls,
                }
                self.end("turn", payload.turn_id, attributes, error)
            case SessionEnd():
                self.end(
                    "session",
                    payload.session_id,
                    {
                        "sliphook.session.end": payload.reason,
                        "sliphook.session.turns": payload.turns,
                    },
                )
            case _:
                pass


class OtelHook:
    """The spans of one hook (see `hook_recorder.HookSpans`).

    Attributes:
        span: the hook's span; None if it could not be made.
    """

    def __init__(self, spans: OtelSpans, name: str, payload: Payload) -> None:
        self.span: Span | None = None
        self._spans = spans
        self._name = name
        self._payload = payload
        self._parts: dict[str, tuple[Span, int]] = {}

    @property
    def traceparent(self) -> str | None:
        """The hook's own span."""
        return traceparent(self.span)

    def asked(self, plugin: str) -> str | None:
        """A plugin is about to be asked; returns the span of its part."""
        if self.span is None:
            return None
        try:
            attributes = {"sliphook.plugin": plugin, "sliphook.hook": self._name}
            part = self._spans.start(f"plugin {plugin}", self.span, attributes, SpanKind.CLIENT)
            self._parts[plugin] = part, time.time_ns()
            return traceparent(part)
        except Exception:
            self._spans.failed()
            return None

    def over(self, outcome: Outcome) -> None:
        """All answers are there, or they are not wanted any more."""
        try:
            self._end(outcome)
            # no event tells that a model call begins: it does when this hook is over
            if (
                isinstance(self._payload, PreLlmCall)
                and not outcome.denied
                and self._payload.turn_id is not None
            ):
                self._begin_model_call(cast(PreLlmCall, outcome.payload), self._payload.turn_id)
            elif isinstance(self._payload, PostToolCall):
                self._spans.end_tool(self._payload)
        except Exception:
            self._spans.failed()

    def _end(self, outcome: Outcome) -> None:
        for part in outcome.parts:
            span, began_ns = self._parts.pop(part.plugin, (None, 0))
            if span is not None:
                span.set_attributes(
                    _known({"sliphook.status": part.status, "sliphook.decision": part.decision})
                )
                if part.error is not None:
                    span.set_status(Status(StatusCode.ERROR, part.status))
                # its own time: the hook may have waited longer, for another plugin
                span.end(began_ns + int((part.elapsed_ms or 0.0) * 1e6))
        # asked, but without a part: the turn ended first
        for span, _ in self._parts.values():
            span.set_attribute("sliphook.status", "cancelled")
            span.end()
        if self.span is not None:
            self.span.set_attribute(
                "sliphook.decision",
                "cancelled" if outcome.cancelled else outcome.decision or "none",
            )
            self.span.end()

    def _begin_model_call(self, payload: PreLlmCall, turn_id: str) -> None:
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": payload.provider,
            "gen_ai.request.model": payload.model,
        }
        self._spans.begin(
            "model",
            turn_id,
            f"chat {payload.model or 'model'}",
            self._spans.turn_span(turn_id),
            _known(attributes),
        )


def traceparent(span: Span | None) -> str | None:
    """The span as W3C Trace Context writes it; None if there is none to continue."""
    if span is None or not span.get_span_context().is_valid:
        return None
    context = span.get_span_context()
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"


def _usage_of(payload: PostLlmCall) -> dict[str, str | int]:
    usage = payload.usage
    numbers = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
    }
    known: dict[str, str | int] = {
        name: number for name, number in numbers.items() if number is not None
    }
    return known | _known(
        {
            "gen_ai.response.model": payload.model,
            "sliphook.substituted_by": payload.substituted_by,
            "sliphook.routed_by": payload.routed_by,
        }
    )


def _known(attributes: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in attributes.items() if value is not None}
