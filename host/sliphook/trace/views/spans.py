"""Pure: what a trace tells, as things that begin and end: sessions, turns, requests, processes.

Times are of the host's own clock.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from sliphook.trace.record import TraceRecord

__all__ = [
    "Interrupt",
    "Lane",
    "Mark",
    "MarkKind",
    "ProcessSpan",
    "Span",
    "SpanKind",
    "State",
    "TraceSpans",
]

State = Literal["good", "deny", "ask", "failed", "cancelled", "open"]
"""How something ended, as far as its colour goes; `open` where the trace does not tell."""

SpanKind = Literal["session", "turn", "model", "tool", "hook", "call", "protocol"]
"""`hook` and `tool` also for what a plugin is asked; `call` is a plugin's own request, `protocol` what holds the conversation together."""

MarkKind = Literal["event", "cancel", "said", "stderr", "wrong", "lost"]


class Span(msgspec.Struct, kw_only=True):
    """Something that took time.

    Attributes:
        kind: what it is.
        what: what it is called.
        begin_s, end_s: when; an open one ends with the trace.
        state: how it ended.
        verdict: the same in a word or two.
        records: the records that it is made of, in order.
    """

    kind: SpanKind
    what: str
    begin_s: float
    end_s: float
    state: State = "open"
    verdict: str | None = None
    records: list[TraceRecord]

    @property
    def took_ms(self) -> float:
        """How long it took: as the host measured it, or else between the records."""
        measured = (
            self.records[-1].elapsed_ms
            if self.records and self.kind not in ("session", "turn", "model")
            else None
        )
        return (self.end_s - self.begin_s) * 1000 if measured is None else measured


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened at one moment."""

    kind: MarkKind
    what: str
    at_s: float
    record: TraceRecord


class ProcessSpan(msgspec.Struct, kw_only=True):
    """One process of a plugin.

    Attributes:
        begin_s, end_s: from its start to its end, or to the end of the trace.
        ready_s: when its manifest was accepted; None where it was not.
        again: it was started after a death.
        ended: the trace tells of its end.
        died: nobody had asked it to end.
        why: what the host said of its end.
    """

    begin_s: float
    end_s: float
    ready_s: float | None = None
    again: bool = False
    ended: bool = False
    died: bool = False
    why: str | None = None


class Interrupt(msgspec.Struct, frozen=True, kw_only=True):
    """A turn was abandoned at this moment."""

    at_s: float
    reason: str


class Lane(msgspec.Struct, kw_only=True):
    """One plugin: its processes, what it was asked, and what happened to it."""

    name: str
    processes: list[ProcessSpan] = []
    spans: list[Span] = []
    marks: list[Mark] = []


class TraceSpans(msgspec.Struct, kw_only=True):
    """A whole trace.

    Attributes:
        began_s, ended_s: its first and its last record.
        wall_s: the wall clock at its beginning.
        records: how many there are.
        sessions, turns, models, tools: of the agent, in the order of their beginning.
        interrupts: in order.
        lanes: the plugins, in the order of their appearance.
    """

    began_s: float = 0.0
    ended_s: float = 0.0
    wall_s: float = 0.0
    records: int = 0
    sessions: list[Span] = []
    turns: list[Span] = []
    models: list[Span] = []
    tools: list[Span] = []
    interrupts: list[Interrupt] = []
    lanes: list[Lane] = []
