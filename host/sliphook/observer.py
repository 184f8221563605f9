"""What looks on while hooks are fired. Where nobody does, the host has None instead of an `Observer` and pays nothing."""

from __future__ import annotations

import time

import msgspec
import trio

from sliphook_sdk.protocol import CATALOGUE, Payload

from . import wire
from .outcome import Outcome, Part
from .trace.bodies import OutcomeBody, PartBody
from .trace.record import TraceRecord, TraceSink

_encoder = msgspec.json.Encoder()


class HookWatch:
    """Looks on while one hook is put to the plugins.

    Args:
        name: the hook.
        payload: what it is about.
        trace: where the outcome is recorded.
    """

    __slots__ = ("_began_s", "_name", "_payload", "_trace")

    def __init__(self, name: str, payload: Payload, trace: TraceSink) -> None:
        self._name = name
        self._payload = payload
        self._trace = trace
        self._began_s = trio.current_time()

    def over(self, outcome: Outcome) -> None:
        """All answers are there, or nobody waits for them any more."""
        if not outcome.parts and not outcome.cancelled:
            _record_unheard(self._trace, self._name, self._payload)
            return
        now_s = trio.current_time()
        payload = self._payload
        self._trace.record(
            TraceRecord(
                kind="outcome",
                wall_s=time.time(),
                mono_s=now_s,
                plugin="",
                method=f"hook/{self._name}",
                elapsed_ms=(now_s - self._began_s) * 1000,
                verdict="cancelled" if outcome.cancelled else outcome.decision,
                body=_encoder.encode(_body(outcome)),
                session_id=payload.session_id,
                turn_id=payload.turn_id,
                seq=payload.seq,
            )
        )


class Observer:
    """Makes a `HookWatch` for each hook.

    Args:
        trace: where outcomes are recorded.
    """

    def __init__(self, trace: TraceSink) -> None:
        self._trace = trace

    def hook(self, name: str, payload: Payload) -> HookWatch:
        """A hook is about to be put to the plugins."""
        return HookWatch(name, payload, self._trace)

    def unheard(self, name: str, payload: Payload) -> None:
        """An event, or a hook that was only to be told, reached no plugin."""
        _record_unheard(self._trace, name, payload)


def _record_unheard(trace: TraceSink, name: str, payload: Payload) -> None:
    """Without it a trace would not tell of a turn that no plugin was told of."""
    entry = CATALOGUE[name]
    method = f"{entry.kind}/{name}"
    try:
        body = wire.encode({"jsonrpc": "2.0", "method": method, "params": msgspec.structs.replace(payload, **dict.fromkeys(entry.heavy))})
    except TypeError:  # what the agent put in has no form in JSON
        body = None
    trace.record(
        TraceRecord(
            kind="unheard",
            wall_s=time.time(),
            mono_s=trio.current_time(),
            plugin="",
            method=method,
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
        plugin=part.plugin, status=part.status, decision=part.decision, reason=part.reason, elapsed_ms=part.elapsed_ms, error=part.error
    )
