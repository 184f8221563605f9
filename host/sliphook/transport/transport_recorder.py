"""The trace records of one plugin's wire and process.

Without a trace, the caller holds None instead of a `TransportRecorder` and pays nothing.
"""

from __future__ import annotations

import time
from typing import Final, TypeVar

import msgspec
import trio

from sliphook.trace.background_sink import KEPT_BYTES
from sliphook.trace.record import Direction, Kind, TraceRecord, TraceSink
from sliphook.trace.redact import REDACTED
from sliphook.wire import envelope
from sliphook_sdk.protocol import ErrorCode

from .call import Call
from .outbox import Item

_V = TypeVar("_V")

MAX_REMEMBERED: Final = 1_000
"""Requests of each plugin that are remembered until they are answered; the oldest goes first."""

_CONCEALED: Final = msgspec.json.encode(REDACTED)


class TransportRecorder:
    """Makes the records of one plugin.

    Attributes:
        plugin: its name; it may change once, when the manifest gives another.
        conceals_config: True until the host knows which settings are secret; `initialize` is then
            recorded without settings.
    """

    def __init__(self, sink: TraceSink, plugin: str) -> None:
        self._take = sink.record
        self.plugin = plugin
        self.conceals_config = False
        # `trio.current_time` looks the clock up at every call
        self._now = trio.lowlevel.current_clock().current_time
        self._asked_s: dict[int | str, float] = {}
        self._put_off: list[Item] | None = None
        self._put_off_at = 0.0, 0.0

    def sent(self, item: Item) -> None:
        """The host wrote a message."""
        if self._put_off is None:
            self._sent(item, self._now(), None)
        else:
            self._put_off.append(item)

    def put_off(self, items: list[Item]) -> None:
        """The host wrote these in an interrupt: the records are made when `catch_up` comes."""
        if self._put_off is None:
            self._put_off = items
            self._put_off_at = self._now(), time.time()
        else:
            self._put_off += items

    def catch_up(self) -> None:
        """Make the records that were put off."""
        sent, self._put_off = self._put_off, None
        for item in sent or ():
            self._sent(item, *self._put_off_at)

    def _sent(self, item: Item, now_s: float, wall_s: float | None) -> None:
        (body, size), call, request_id = _body_of(item), item.call, item.reply_to
        if call is not None:
            # the host's request alone: a reply to a request of that name has other params, or none
            if self.conceals_config and item.method == "initialize":
                body = _without_config(body)
                size = len(body)
            self._record("message", now_s, "to_plugin", body, call, wall_s=wall_s, size=size)
            return
        asked_s = self._asked_s.pop(request_id, None) if request_id is not None else None
        self._record(
            "message",
            now_s,
            "to_plugin",
            body,
            None,
            item.method,
            request_id,
            None if asked_s is None else (now_s - asked_s) * 1000,
            wall_s=wall_s,
            size=size,
        )

    def received(self, body: bytes, message: envelope.Message, call: Call | None) -> None:
        """The plugin wrote a valid message; `call` is the request that a reply answers."""
        now_s = self._now()
        if isinstance(message, envelope.Reply):
            elapsed_ms = None if call is None else call.so_far_ms(now_s)
            verdict = None if message.error is None else f"error {message.error.code}"
            self._record(
                "message", now_s, "from_plugin", body, call, None, message.id, elapsed_ms, verdict
            )
            return
        if self.conceals_config and message.method == "initialize":
            body = _CONCEALED  # a program that sends back what it reads, such as `cat`
        request_id = message.id if isinstance(message, envelope.Request) else None
        if request_id is not None:
            # bounded, as the plugin chooses the ids and may send requests faster than it reads
            _remember(self._asked_s, request_id, now_s)
        self._record("message", now_s, "from_plugin", body, None, message.method, request_id)

    def settled(self, call: Call) -> None:
        """The host ended a call without a reply: timed out, cancelled, crashed."""
        now_s = self._now()
        why = call.why if call.why != call.status else ""
        told = "told to stop; still running" if call.goes_on else ""
        self._record(
            "settled",
            now_s,
            call=call,
            elapsed_ms=call.so_far_ms(now_s),
            verdict=call.status,
            note="; ".join(filter(None, (why, told))) or None,
        )

    def late(self, body: bytes, reply: envelope.Reply, over: tuple[Call, str] | None) -> None:
        """The plugin answered a request that had ended already.

        Args:
            body: the JSON.
            reply: the same, read.
            over: the request and what came of its work (see `Unfinished`); None if forgotten.
        """
        now_s = self._now()
        call, words = over or (None, "the request has ended already")
        code = None if reply.error is None else reply.error.code
        stopped = call is not None and code == int(ErrorCode.REQUEST_CANCELLED)
        self._record(
            "late",
            now_s,
            "from_plugin",
            body,
            call,
            request_id=reply.id,
            elapsed_ms=None if call is None else call.so_far_ms(now_s),
            verdict="cancelled" if stopped else None,
            note=words,
        )

    def killed(self, call: Call, words: str) -> None:
        """The process ended while a request that had ended already may still have run."""
        self._record("late", self._now(), call=call, verdict="killed", note=words)

    def dropped(self, item: Item, why: str) -> None:
        """A message was given up before it was written."""
        body, size = _body_of(item)
        self._record(
            "drop", self._now(), "to_plugin", body, method=item.method, note=why, size=size
        )

    def oddity(self, kind: Kind, body: bytes, note: str) -> None:
        """The plugin wrote something stray, or something that was refused."""
        self._record(kind, self._now(), "from_plugin", body, note=note)

    def life(
        self,
        kind: Kind,
        *,
        verdict: str | None = None,
        note: str | None = None,
        body: bytes | None = None,
    ) -> None:
        """The process or its state changed, or it wrote to stderr."""
        self._record(kind, self._now(), None, body, verdict=verdict, note=note)

    def _record(
        self,
        kind: Kind,
        now_s: float,
        direction: Direction | None = None,
        body: bytes | None = None,
        call: Call | None = None,
        method: str | None = None,
        request_id: int | str | None = None,
        elapsed_ms: float | None = None,
        verdict: str | None = None,
        note: str | None = None,
        wall_s: float | None = None,
        size: int | None = None,
    ) -> None:
        """Hand one record to the sink, after those that were put off.

        Runs for every message, so it takes no `**fields`: a Struct made of them costs ten times as
        much.

        Args:
            kind: what happened.
            now_s: the host's clock.
            direction: None if nothing went over the wire; the record then has no size.
            body: the bytes.
            call: the host's request; it gives method, id, session and turn.
            method: the method, without a call.
            request_id: the id, without a call.
            elapsed_ms: on what ends a request.
            verdict: what came of it.
            note: a sentence for people.
            wall_s: the time of day, if it is not now.
            size: of the whole body, if `body` may be its beginning.
        """
        if self._put_off is not None:
            self.catch_up()
        session_id = turn_id = None
        if call is not None:
            method, request_id = call.method, call.id
            session_id, turn_id = call.session_id, call.turn_id
        if size is None and direction is not None and body is not None:
            size = len(body)
        self._take(
            TraceRecord(
                kind=kind,
                wall_s=time.time() if wall_s is None else wall_s,
                mono_s=now_s,
                plugin=self.plugin,
                direction=direction,
                method=method,
                id=request_id,
                size=size,
                cut=size is not None and body is not None and size > len(body),
                elapsed_ms=elapsed_ms,
                verdict=verdict,
                body=body,
                note=note,
                session_id=session_id,
                turn_id=turn_id,
            )
        )


def _body_of(item: Item) -> tuple[bytes, int]:
    """The body of a message, without its header and the line end after it, and its length.

    Of a long one only so much as a sink keeps: a copy of it all for each plugin takes long.
    """
    begin = item.frame.index(b"\r\n\r\n") + 4
    size = item.size - begin - 1
    end = begin + min(size, KEPT_BYTES)
    body = item.frame[begin:end]
    if item.more:
        left = end - begin - len(body)
        more: list[bytes | memoryview] = []
        for part in item.more:
            more.append(part[:left])
            left -= len(more[-1])
        body = b"".join([body, *more])
    return body, size


def _without_config(initialize: bytes) -> bytes:
    message = msgspec.json.decode(initialize)
    if message["params"]["plugin"]["config"]:
        message["params"]["plugin"]["config"] = REDACTED
    return envelope.encode(message)


def _remember(kept: dict[int | str, _V], key: int | str, value: _V) -> None:
    if len(kept) >= MAX_REMEMBERED:
        # a dict keeps the order of insertion: the first key is the oldest
        del kept[next(iter(kept))]
    kept[key] = value
