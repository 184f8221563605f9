"""Pure: what a trace tells as things that begin and end: sessions, turns, requests, processes.

Times are seconds of the host's own clock.
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

State = Literal["good", "deny", "ask", "failed", "cancelled", "told", "open"]
"""How something ended, which gives its colour.

`told`: work that was told to stop and still runs; `open` if the trace does not tell.
"""

SpanKind = Literal["session", "turn", "model", "tool", "hook", "call", "protocol"]
"""`hook` and `tool` are also a plugin's requests.

`call` is a request of the plugin to the host, `protocol` a handshake, ping or shutdown.
"""

MarkKind = Literal["event", "cancel", "said", "stderr", "wrong", "lost"]


class Span(msgspec.Struct, kw_only=True):
    """Something that took time.

    Attributes:
        kind: what it is.
        what: its name.
        begin_s, end_s: when; an open one ends with the trace.
        state: how it ended.
        verdict: the same in a word or two.
        records: its records, in order.
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
        """How long it took: as the host measured it, else between the records."""
        measured = (
            self.records[-1].elapsed_ms
            if self.records
            and self.kind not in ("session", "turn", "model")
            and self.state != "told"
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
        ready_s: when its manifest was accepted; None if it never was.
        again: it was started after a death.
        ended: the trace has its end.
        died: it ended without being asked to.
        why: what the host said about its end.
    """

    begin_s: float
    end_s: float
    ready_s: float | None = None
    again: bool = False
    ended: bool = False
    died: bool = False
    why: str | None = None


class Interrupt(msgspec.Struct, frozen=True, kw_only=True):
    """A turn was interrupted at this moment."""

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
        began_s, ended_s: the times of its first and its last record.
        wall_s: the wall clock at its beginning.
        records: how many there are.
        sessions, turns, models, tools: the agent's, in the order of their beginning.
        interrupts: in order.
        lanes: one for each plugin, in the order of their first records.
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
