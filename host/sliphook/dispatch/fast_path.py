"""The fast path: a hook that is asked of one plugin, by a subscription that does not replace.

These are most hooks of most agents, on every tool and model call.

`SingleFire` is `Fire` without the parts that only several plugins need: rounds, shared bytes, and a
timer for the whole. Both use the same code for the rules (`first_match`, `encode_params`,
`merge_one`) and for the request, its timeout and its end (`Call`, `Connection`). What makes it
fast:

- the task that asks reads the plugin's pipe itself, so the answer costs one pass of trio's
  scheduler instead of two;
- the reader's task is not woken for that, nor directly after it (see `PipeReader`);
- the request has no future in the JSON-RPC engine, because no task would wait for it (see
  `Rpc.ask`);
- one read usually brings one whole message, which is decoded without a buffer (see
  `FrameReader.whole`).

A hook that needs more than this one answer is a `Fire`: the plugin is still starting, its
subscription replaces, a second one takes part, there is a budget, or the content of the hook must
not be lost. Subscribers whose subscriptions do not match cost a look. If other tasks ask the same
plugin at the same time, the reader's task reads for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

import msgspec

from sliphook.plugin.route import Route
from sliphook.plugin.supervision import Plugin
from sliphook.transport.call import Call
from sliphook.transport.connection import Connection
from sliphook.transport.deadlines import Deadlines
from sliphook_sdk.protocol import Entry, Payload

from .audience import Subscriber, first_two
from .encoding import PayloadTooLarge, encode_params
from .hook_recorder import HookRecord
from .outcome import Outcome
from .policy import merge_one
from .shares import Result
from .waiting import PendingOutcome, read_or_refuse, result_of


class AskedPlugin(msgspec.Struct, frozen=True):
    """Who is asked, by which subscription, over which connection."""

    subscriber: Subscriber
    route: Route
    connection: Connection


def asked_single(
    entry: Entry,
    payload: Payload,
    subscribers: Sequence[Subscriber],
    plugins: Mapping[str, Plugin],
) -> AskedPlugin | Literal["nobody"] | None:
    """Who alone is asked, if anyone is; None if it takes a `Fire`."""
    if not subscribers:
        return "nobody"
    # an urgent hook must reach the plugin even if the turn ends: only `Fire` tells it then
    if entry.urgent:
        return None
    found = first_two(subscribers, payload)
    if not found:
        return "nobody"
    subscriber, route = found[0]
    if len(found) > 1 or route.replaces or route.mode != "hook":
        return None
    plugin = plugins.get(subscriber.plugin)
    connection = plugin.connection if plugin is not None else None
    return AskedPlugin(subscriber, route, connection) if connection is not None else None


class SingleFire(PendingOutcome):
    """One hook that one task asks of one plugin.

    The task calls `begin` and, if there is no outcome yet, `wait`.

    Args:
        entry: the hook.
        payload: its payload, heavy fields filled in.
        asked: who is asked; with no one the outcome is known at once.
        deadlines: the host's deadlines.
        record: takes the outcome, or None.
    """

    __slots__ = ("_asked", "_call", "_deadlines", "_entry")

    def __init__(
        self,
        entry: Entry,
        payload: Payload,
        asked: AskedPlugin | Literal["nobody"],
        deadlines: Deadlines,
        record: HookRecord | None,
    ) -> None:
        super().__init__(payload, record)
        self._entry = entry
        self._asked = asked if isinstance(asked, AskedPlugin) else None
        self._deadlines = deadlines

    def begin(self) -> None:
        """Ask the plugin; without one the outcome is known at once."""
        if self._asked is None:
            self._finish(Outcome(payload=self._payload))
            return
        route, connection = self._asked.route, self._asked.connection
        try:
            params = encode_params(self._entry, self._payload, route.include, route.timeout_s)
        except PayloadTooLarge as error:
            result = Result(status="payload_too_large", error=str(error), elapsed_ms=0.0)
            self._finish(self._merged(self._asked, result))
            return
        # the call's timeout counts from here: the plugin must not pay for the encoding above
        payload = self._payload
        self._call = call = Call(
            self._entry.method,
            route.timeout_s,
            self._settled,
            session_id=payload.session_id,
            turn_id=payload.turn_id,
        )
        if self._record is not None:
            call.traceparent = self._record.asked(self._asked.subscriber.plugin)
        if connection.ask(call, params):
            self._reading = connection
        if call.status is None:
            # after sending: the plugin works meanwhile, and the time counts from `Call()` anyway
            call.start_clock(self._deadlines)

    async def _read_for_it(self) -> None:
        if self._reading is not None:
            await self._reading.read_for(self._call)
            self._reading = None

    def _cancel_calls(self) -> None:
        if self._asked is not None:
            self._asked.connection.cancel(self._call)

    def _settled(self, call: Call) -> None:
        # else the turn or the caller was cancelled meanwhile, and that outcome stands
        if self.outcome is None and self._asked is not None:
            self._finish(read_or_refuse(partial(self._merged, self._asked), result_of(call)))

    def _merged(self, asked: AskedPlugin, result: Result) -> Outcome:
        return merge_one(self._entry, self._payload, asked.subscriber, asked.route, result)
