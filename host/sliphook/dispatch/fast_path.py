"""The fast path: a hook that one plugin is asked, which replaces nothing.

Most hooks of most agents, on every tool and model call.

It is `Fire` without all that only several plugins need: rounds, shared bytes, a timer for the
whole. The rules are the same code (`first_match`, `encode_params`, `merge_one`), and so are the
request, its timeout and its end (`Call`, `Connection`). What makes it fast:

- the task that asks reads the plugin's pipe itself, so the answer costs one pass of trio's
  scheduler, not two;
- the reader's task is not woken for that, nor directly after it (see `PipeReader`);
- the request goes past the JSON-RPC engine's future, which would have no waiter (see `Rpc.ask`);
- what was read is usually one whole message, and is not put into a buffer first (see
  `FrameReader.whole`).

A fire that waits for anything but this one answer is a `Fire`: a plugin that starts, a replacer, a
second subscriber, a budget, an entry whose content must not be lost. If other tasks ask the same
plugin at the same time, the reader's task reads for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sliphook.plugin.supervision import Plugin
from sliphook.transport.call import Call
from sliphook.transport.connection import Connection
from sliphook.transport.deadlines import Deadlines
from sliphook_sdk.protocol import Entry, Payload

from .encoding import PayloadTooLarge, encode_params
from .hook_recorder import HookRecord
from .outcome import Outcome
from .policy import Audience, Result, Subscriber, first_match, merge_one
from .waiting import PendingOutcome, result_of


def asked_single(
    entry: Entry, subscribers: Sequence[Subscriber], plugins: Mapping[str, Plugin]
) -> tuple[Subscriber, Connection] | None:
    """The subscriber and its connection if a `SingleFire` can ask it, else None."""
    if entry.urgent or not isinstance(subscribers, Audience) or not subscribers.is_one_asked:
        return None
    subscriber = subscribers[0]
    plugin = plugins.get(subscriber.plugin)
    connection = plugin.connection if plugin is not None else None
    return (subscriber, connection) if connection is not None else None


class SingleFire(PendingOutcome):
    """A hook under way at one plugin, for one task.

    The task calls `begin` and, if there is no outcome yet, `wait`.

    Args:
        entry: the hook.
        payload: what it is about, heavy fields filled in.
        subscriber: who is asked, by its only subscription.
        connection: to that plugin.
        deadlines: the host's deadlines.
        record: what is recorded of it, or None.
    """

    __slots__ = ("_call", "_connection", "_deadlines", "_entry", "_route", "_subscriber")

    def __init__(
        self,
        entry: Entry,
        payload: Payload,
        subscriber: Subscriber,
        connection: Connection,
        deadlines: Deadlines,
        record: HookRecord | None,
    ) -> None:
        super().__init__(payload, record)
        self._entry = entry
        self._subscriber = subscriber
        self._connection = connection
        self._deadlines = deadlines
        (self._route,) = subscriber.routes

    def begin(self) -> None:
        """Ask, if the subscription matches."""
        route = self._route
        if first_match(self._subscriber, self._payload) is None:
            self._finish(Outcome(payload=self._payload))
            return
        try:
            params = encode_params(self._entry, self._payload, route.include, route.timeout_s)
        except PayloadTooLarge as error:
            result = Result(status="payload_too_large", error=str(error), elapsed_ms=0.0)
            self._finish(merge_one(self._entry, self._payload, self._subscriber, route, result))
            return
        # only now: the timeout is the plugin's, and encoding a large payload takes time
        payload = self._payload
        self._call = call = Call(
            self._entry.method,
            route.timeout_s,
            self._settled,
            session_id=payload.session_id,
            turn_id=payload.turn_id,
        )
        if self._record is not None:
            call.traceparent = self._record.asked(self._subscriber.plugin)
        if self._connection.ask(call, params):
            self._reading = self._connection
        if call.status is None:
            # it counts from the call's making; the plugin works meanwhile
            call.start_clock(self._deadlines)

    async def _read_for_it(self) -> None:
        if self._reading is not None:
            await self._reading.read_for(self._call)
            self._reading = None

    def _cancel_calls(self) -> None:
        self._connection.cancel(self._call)

    def _settled(self, call: Call) -> None:
        if self.outcome is None:
            result = result_of(call)
            self._finish(
                merge_one(self._entry, self._payload, self._subscriber, self._route, result)
            )
