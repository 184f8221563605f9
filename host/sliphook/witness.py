"""What the trace is told of one plugin. Where there is no trace, the caller has None instead of a `Witness` and pays nothing."""

from __future__ import annotations

import time

import msgspec
import trio

from . import wire
from .call import Call
from .trace.record import Kind, TraceRecord, TraceSink


class _Place(msgspec.Struct, frozen=True):
    """Where in a session a message belongs."""

    session_id: str | None = None
    turn_id: str | None = None
    seq: int | None = None


class Witness:
    """Makes the records of one plugin. The name may change once, when the plugin says its own."""

    def __init__(self, sink: TraceSink, plugin: str) -> None:
        self._sink = sink
        self.plugin = plugin

    def sent(self, frame: bytes, method: str, request_id: int | str | None, call: Call | None) -> None:
        """The host wrote a message."""
        body = frame[frame.index(b"\r\n\r\n") + 4 :].rstrip(b"\n")
        self._message("to_plugin", body, method, request_id, call, None)

    def received(self, body: bytes, message: wire.Message, call: Call | None) -> None:
        """The plugin wrote a valid message; `call` is what a reply answers."""
        if isinstance(message, wire.Reply):
            verdict = f"error {message.error.code}" if message.error is not None else _decision(message.result)
            self._message("from_plugin", body, call.method if call is not None else None, message.id, call, verdict)
        else:
            request_id = message.id if isinstance(message, wire.Request) else None
            self._message("from_plugin", body, message.method, request_id, call, None)

    def settled(self, call: Call) -> None:
        """The host ended a call without a reply: timed out, cancelled, crashed."""
        self._record(
            "settled",
            method=call.method,
            id=call.id,
            verdict=call.status,
            note=call.why,
            elapsed_ms=call.elapsed_ms,
            session_id=call.session_id,
            turn_id=call.turn_id,
        )

    def late(self, body: bytes, request_id: int | str) -> None:
        """An answer to a request that has ended already."""
        self._record("late", direction="from_plugin", body=body, size=len(body), id=request_id, note="the request has ended already")

    def oddity(self, kind: Kind, body: bytes, note: str) -> None:
        """Something was stray, refused, dropped or came late."""
        self._record(kind, direction="to_plugin" if kind == "drop" else "from_plugin", body=body, size=len(body), note=note)

    def life(self, kind: Kind, *, verdict: str | None = None, note: str | None = None, body: bytes | None = None) -> None:
        """The process or its state changed, or it wrote to stderr."""
        self._record(kind, verdict=verdict, note=note, body=body)

    def _message(
        self, direction: str, body: bytes, method: str | None, request_id: int | str | None, call: Call | None, verdict: str | None
    ) -> None:
        place = _Place()
        if method is not None and direction == "to_plugin":
            place = _place_of(body)
        self._record(
            "message",
            direction=direction,
            body=body,
            size=len(body),
            method=method,
            id=request_id,
            verdict=verdict,
            elapsed_ms=call.so_far_ms() if call is not None and direction == "from_plugin" else None,
            session_id=call.session_id if call is not None else place.session_id,
            turn_id=call.turn_id if call is not None else place.turn_id,
            seq=place.seq,
        )

    def _record(self, kind: Kind, **fields: object) -> None:
        record = TraceRecord(kind=kind, wall_s=time.time(), mono_s=trio.current_time(), plugin=self.plugin, **fields)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
        self._sink.record(record)


class _Params(msgspec.Struct, frozen=True):
    params: _Place = _Place()


def _place_of(body: bytes) -> _Place:
    try:
        return msgspec.json.decode(body, type=_Params).params
    except msgspec.DecodeError:
        return _Place()


class _Verdict(msgspec.Struct, frozen=True):
    decision: str | None = None


def _decision(result: msgspec.Raw | None) -> str | None:
    try:
        return msgspec.json.decode(result, type=_Verdict).decision if result is not None else None
    except msgspec.DecodeError:
        return None
