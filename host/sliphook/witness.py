"""What the trace is told of one plugin. Where there is no trace, the caller has None instead of a `Witness` and pays nothing."""

from __future__ import annotations

import time
from typing import Final, TypeVar

import msgspec
import trio

from . import wire
from .call import Call
from .trace.record import Direction, Kind, TraceRecord, TraceSink
from .trace.redact import REDACTED

_V = TypeVar("_V")

MAX_REMEMBERED: Final = 1_000
"""Requests of which something may still come, remembered for each plugin; the oldest is forgotten first."""


class Witness:
    """Makes the records of one plugin.

    Attributes:
        plugin: its name; it may change once, when the plugin says its own.
        conceals_config: what of its settings is secret is not known yet, so its `initialize` is recorded without them.
    """

    def __init__(self, sink: TraceSink, plugin: str) -> None:
        self._sink = sink
        self.plugin = plugin
        self.conceals_config = False
        self._given_up: dict[int | str, Call] = {}
        self._asked_s: dict[int | str, float] = {}

    def sent(self, body: bytes, method: str, request_id: int | str | None, call: Call | None) -> None:
        """The host wrote a message; a `request_id` without a call is that of the plugin's request that it answers."""
        if method == "initialize" and self.conceals_config:
            body = _without_config(body)
        asked_s = self._asked_s.pop(request_id, None) if call is None and request_id is not None else None
        self._record(
            "message",
            direction="to_plugin",
            body=body,
            size=len(body),
            method=method,
            id=request_id,
            elapsed_ms=None if asked_s is None else (trio.current_time() - asked_s) * 1000,
            session_id=None if call is None else call.session_id,
            turn_id=None if call is None else call.turn_id,
        )

    def received(self, body: bytes, message: wire.Message, call: Call | None) -> None:
        """The plugin wrote a valid message; `call` is what a reply answers."""
        if isinstance(message, wire.Reply):
            verdict = f"error {message.error.code}" if message.error is not None else None
            self._answer("message", body, message.id, call, verdict=verdict)
            return
        request_id = message.id if isinstance(message, wire.Request) else None
        if request_id is not None:
            _remember(self._asked_s, request_id, trio.current_time())
        self._record("message", direction="from_plugin", body=body, size=len(body), method=message.method, id=request_id)

    def settled(self, call: Call) -> None:
        """The host ended a call without a reply: timed out, cancelled, crashed."""
        if call.written:
            _remember(self._given_up, call.id, call)
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
        self._answer("late", body, request_id, self._given_up.pop(request_id, None), note="the request has ended already")

    def dropped(self, body: bytes, method: str, why: str) -> None:
        """A message was given up before it was written."""
        self._record("drop", direction="to_plugin", method=method, body=body, size=len(body), note=why)

    def oddity(self, kind: Kind, body: bytes, note: str) -> None:
        """Something that the plugin wrote was stray or was refused."""
        self._record(kind, direction="from_plugin", body=body, size=len(body), note=note)

    def life(self, kind: Kind, *, verdict: str | None = None, note: str | None = None, body: bytes | None = None) -> None:
        """The process or its state changed, or it wrote to stderr."""
        self._record(kind, verdict=verdict, note=note, body=body)

    def _answer(
        self, kind: Kind, body: bytes, request_id: int | str, call: Call | None, *, verdict: str | None = None, note: str | None = None
    ) -> None:
        self._record(
            kind,
            direction="from_plugin",
            body=body,
            size=len(body),
            method=None if call is None else call.method,
            id=request_id,
            verdict=verdict,
            note=note,
            elapsed_ms=None if call is None else call.so_far_ms(),
            session_id=None if call is None else call.session_id,
            turn_id=None if call is None else call.turn_id,
        )

    def _record(
        self,
        kind: Kind,
        *,
        direction: Direction | None = None,
        body: bytes | None = None,
        size: int | None = None,
        method: str | None = None,
        id: int | str | None = None,
        verdict: str | None = None,
        note: str | None = None,
        elapsed_ms: float | None = None,
        session_id: str | None = None,
        turn_id: str | None = None,
    ) -> None:
        self._sink.record(
            TraceRecord(
                kind=kind,
                wall_s=time.time(),
                mono_s=trio.current_time(),
                plugin=self.plugin,
                direction=direction,
                method=method,
                id=id,
                size=size,
                elapsed_ms=elapsed_ms,
                verdict=verdict,
                body=body,
                note=note,
                session_id=session_id,
                turn_id=turn_id,
            )
        )


def body_of(frame: bytes) -> bytes:
    """What a frame carries, without its header and the line end behind it."""
    return frame[frame.index(b"\r\n\r\n") + 4 :].rstrip(b"\n")


def _without_config(initialize: bytes) -> bytes:
    message = msgspec.json.decode(initialize)
    if message["params"]["plugin"]["config"]:
        message["params"]["plugin"]["config"] = REDACTED
    return wire.encode(message)


def _remember(kept: dict[int | str, _V], key: int | str, value: _V) -> None:
    if len(kept) >= MAX_REMEMBERED:
        del kept[next(iter(kept))]
    kept[key] = value
