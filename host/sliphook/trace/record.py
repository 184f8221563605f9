"""One record of the trace, and the seam through which the host hands it out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Protocol

import msgspec

__all__ = ["Direction", "Kind", "Tee", "TraceRecord", "TraceSink"]

Kind = Literal[
    "message", "lifecycle", "spawn", "exit", "stderr", "stray", "refused", "drop", "late", "settled", "outcome", "header", "lost", "unheard"
]
Direction = Literal["to_plugin", "from_plugin"]


class TraceRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened on a plugin's wire or to its process.

    Args:
        kind: `message` for what went over the wire as the protocol means it; `stray` and `refused` for bytes that did not; `late` for
            an answer to a request that was already settled; `drop` for messages that were given up; `settled` for a request that the
            host ended without an answer; `outcome` for what all answers to one fire came to; `unheard` for a hook or
            event that reached no plugin; `header` and `lost` for what the trace says of itself; the others are the process's life.
        wall_s: Seconds since the epoch.
        mono_s: Seconds of the host's own clock, for durations: the wall clock may jump.
        plugin: The plugin's name; empty where it is about none.
        direction: Which way the message went; None where nothing went.
        method: The message's method; on replies the method of the request.
        id: The request's id, on requests and replies.
        size: Bytes of the body.
        elapsed_ms: On replies, since the request was queued.
        verdict: In a word or two what came of it: `deny`, `timed_out`, `error -32601`, `ready`.
        body: The JSON of a message; the raw bytes of what was refused; a line of stderr. Kept as bytes, so that recording costs no parse.
        note: A sentence for people.
        session_id: The session that the message belongs to.
        turn_id: The turn that the message belongs to.
        seq: The event's number within its session.
    """

    kind: Kind
    wall_s: float
    mono_s: float
    plugin: str
    direction: Direction | None = None
    method: str | None = None
    id: int | str | None = None
    size: int | None = None
    elapsed_ms: float | None = None
    verdict: str | None = None
    body: bytes | None = None
    note: str | None = None
    session_id: str | None = None
    turn_id: str | None = None
    seq: int | None = None


class TraceSink(Protocol):
    """Where the host puts its records."""

    def record(self, record: TraceRecord) -> None:
        """Take one record. Called from the host's own loop: never blocks, never raises, and is cheap."""
        ...

    def hide(self, secrets: Iterable[str]) -> None:
        """From now on keep these texts out of whatever leaves the process. Called from the host's own loop, before they are sent."""
        ...


class Tee:
    """Hands each record to several sinks, in order."""

    def __init__(self, sinks: Iterable[TraceSink]) -> None:
        self._sinks = tuple(sinks)

    def record(self, record: TraceRecord) -> None:
        """Hand `record` to every sink."""
        for sink in self._sinks:
            sink.record(record)

    def hide(self, secrets: Iterable[str]) -> None:
        """Have every sink hide `secrets`."""
        kept = tuple(secrets)
        for sink in self._sinks:
            sink.hide(kept)
