"""What the trace is told of one plugin.

Where there is no trace, the caller has None instead of a `TransportRecorder` and pays nothing.
"""

from __future__ import annotations

import time
from typing import Final, TypeVar

import msgspec
import trio

from sliphook.trace.record import Direction, Kind, TraceRecord, TraceSink
from sliphook.trace.redact import REDACTED
from sliphook.wire import envelope
from sliphook_sdk.protocol import ErrorCode

from .call import Call

_V = TypeVar("_V")

MAX_REMEMBERED: Final = 1_000
"""Requests of which something may still come, remembered for each plugin; the oldest is forgotten first."""


class TransportRecorder:
    """Makes the records of one plugin.

    Attributes:
        plugin: its name; it may change once, when the plugin says its own.
        conceals_config: what of its settings is secret is not known yet, so its `initialize` is
            recorded without them.
    """

    def __init__(self, sink: TraceSink, plugin: str) -> None:
        self._sink = sink
        self.plugin = plugin
        self.conceals_config = False
        self._now = (
            trio.lowlevel.current_clock().current_time
        )  # `trio.current_time` finds it anew each time
        self._given_up: dict[int | str, Call] = {}
        self._asked_s: dict[int | str, float] = {}

    def sent(
        self, body: bytes, method: str, request_id: int | str | None, call: Call | None
    ) -> None:
        """The host wrote a message; a `request_id` without a call is that of the plugin's request that it answers."""
        if method == "initialize" and self.conceals_config:
            body = _without_config(body)
        now_s = self._now()
        asked_s = (
            self._asked_s.pop(request_id, None) if call is None and request_id is not None else None
        )
        self._sink.record(
            TraceRecord(
                kind="message",
                wall_s=time.time(),
                mono_s=now_s,
                plugin=self.plugin,
                direction="to_plugin",
                method=method,
                id=request_id,
                size=len(body),
                elapsed_ms=None if asked_s is None else (now_s - asked_s) * 1000,
                body=body,
                session_id=None if call is None else call.session_id,
                turn_id=None if call is None else call.turn_id,
            )
        )

    def received(self, body: bytes, message: envelope.Message, call: Call | None) -> None:
        """The plugin wrote a valid message; `call` is what a reply answers."""
        now_s = self._now()
        if isinstance(message, envelope.Reply):
            verdict = f"error {message.error.code}" if message.error is not None else None
            self._answer("message", now_s, body, message.id, call, verdict=verdict)
            return
        request_id = message.id if isinstance(message, envelope.Request) else None
        if request_id is not None:
            _remember(self._asked_s, request_id, now_s)
        self._sink.record(
            TraceRecord(
                kind="message",
                wall_s=time.time(),
                mono_s=now_s,
                plugin=self.plugin,
                direction="from_plugin",
                method=message.method,
                id=request_id,
                size=len(body),
                body=body,
            )
        )

    def settled(self, call: Call) -> None:
        """The host ended a call without a reply: timed out, cancelled, crashed."""
        if call.written:
            _remember(self._given_up, call.id, call)
        self._sink.record(
            TraceRecord(
                kind="settled",
                wall_s=time.time(),
                mono_s=self._now(),
                plugin=self.plugin,
                method=call.method,
                id=call.id,
                verdict=call.status,
                note=call.why if call.why != call.status else None,
                elapsed_ms=call.so_far_ms(),
                session_id=call.session_id,
                turn_id=call.turn_id,
            )
        )

    def late(self, body: bytes, reply: envelope.Reply) -> None:
        """An answer to a request that has ended already; one error is what the plugin has to answer to `$/cancelRequest`."""
        call = self._given_up.pop(reply.id, None)
        if (
            call is not None
            and reply.error is not None
            and reply.error.code == int(ErrorCode.REQUEST_CANCELLED)
        ):
            self._answer(
                "late", self._now(), body, reply.id, call, verdict="cancelled", note="as asked"
            )
        else:
            self._answer(
                "late", self._now(), body, reply.id, call, note="the request has ended already"
            )

    def dropped(self, body: bytes, method: str, why: str) -> None:
        """A message was given up before it was written."""
        self._oddity("drop", "to_plugin", body, method, why)

    def oddity(self, kind: Kind, body: bytes, note: str) -> None:
        """Something that the plugin wrote was stray or was refused."""
        self._oddity(kind, "from_plugin", body, None, note)

    def life(
        self,
        kind: Kind,
        *,
        verdict: str | None = None,
        note: str | None = None,
        body: bytes | None = None,
    ) -> None:
        """The process or its state changed, or it wrote to stderr."""
        self._sink.record(
            TraceRecord(
                kind=kind,
                wall_s=time.time(),
                mono_s=self._now(),
                plugin=self.plugin,
                verdict=verdict,
                note=note,
                body=body,
            )
        )

    def _answer(
        self,
        kind: Kind,
        now_s: float,
        body: bytes,
        request_id: int | str,
        call: Call | None,
        *,
        verdict: str | None = None,
        note: str | None = None,
    ) -> None:
        self._sink.record(
            TraceRecord(
                kind=kind,
                wall_s=time.time(),
                mono_s=now_s,
                plugin=self.plugin,
                direction="from_plugin",
                method=None if call is None else call.method,
                id=request_id,
                size=len(body),
                elapsed_ms=None if call is None else call.so_far_ms(now_s),
                verdict=verdict,
                body=body,
                note=note,
                session_id=None if call is None else call.session_id,
                turn_id=None if call is None else call.turn_id,
            )
        )

    def _oddity(
        self, kind: Kind, direction: Direction, body: bytes, method: str | None, note: str
    ) -> None:
        self._sink.record(
            TraceRecord(
                kind=kind,
                wall_s=time.time(),
                mono_s=self._now(),
                plugin=self.plugin,
                direction=direction,
                method=method,
                size=len(body),
                body=body,
                note=note,
            )
        )


def body_of(frame: bytes) -> bytes:
    """What a frame carries, without its header and the line end behind it."""
    return frame[frame.index(b"\r\n\r\n") + 4 : -1]


def _without_config(initialize: bytes) -> bytes:
    message = msgspec.json.decode(initialize)
    if message["params"]["plugin"]["config"]:
        message["params"]["plugin"]["config"] = REDACTED
    return envelope.encode(message)


def _remember(kept: dict[int | str, _V], key: int | str, value: _V) -> None:
    if len(kept) >= MAX_REMEMBERED:
        del kept[next(iter(kept))]
    kept[key] = value
