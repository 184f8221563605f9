"""The fast path: a hook that one plugin is asked, which replaces nothing.

Most hooks of most agents, on every tool and model call.

It is `Fire` without all that only several plugins need: rounds, shared bytes, a timer for the
whole. The rules are the same code (`first_match`, `encode_params`, `merge_one`), and so are the
request, its timeout and its end (`Call`, `Connection`). What makes it fast:

- the task that asks reads the plugin's pipe itself, so the answer costs one pass of trio's
  scheduler, not two;
- the reader's task is not woken for that, nor directly after it (see `PipeReader`);
- the request goes past the JSON-RPC engine's future, which nobody would wait for (see `Rpc.ask`);
- what was read is usually one whole message, and is not put into a buffer first (see
  `FrameReader.whole`).

Who has to wait for anything but the answer gets a `Fire`: a plugin that starts, a replacer, a
second subscriber, a budget, an entry whose content must not be lost. Where others ask the same
plugin at the same time, the reader's task reads for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import trio

from sliphook.plugin.supervision import Plugin
from sliphook.transport.call import Call
from sliphook.transport.connection import Connection
from sliphook.transport.deadlines import Deadlines
from sliphook_sdk.protocol import Entry, Payload

from .encoding import PayloadTooLarge, encode_params
from .fire import result_of
from .hook_recorder import HookRecord
from .outcome import Outcome, cancelled_outcome
from .policy import Audience, Result, Subscriber, first_match, merge_one


def asked_single(
    entry: Entry, subscribers: Sequence[Subscriber], plugins: Mapping[str, Plugin]
) -> tuple[Subscriber, Connection] | None:
    """Who is asked and over what, where a `SingleFire` can do it; else None."""
    if entry.urgent or not isinstance(subscribers, Audience) or not subscribers.is_one_asked:
        return None
    subscriber = subscribers[0]
    plugin = plugins.get(subscriber.plugin)
    connection = plugin.connection if plugin is not None else None
    return (subscriber, connection) if connection is not None else None


class SingleFire:
    """A hook under way at one plugin, for one task: it calls `begin` and, where that gives no outcome yet, `wait`.

    Args:
        entry: the hook.
        payload: what it is about, heavy fields filled in.
        subscriber: who is asked, by its only subscription.
        connection: to that plugin.
        deadlines: the host's deadlines.
        record: what is recorded of it, or None.

    Attributes:
        seq: the payload's.
        outcome: None while it is under way.
    """

    __slots__ = (
        "_call",
        "_connection",
        "_deadlines",
        "_entry",
        "_parked",
        "_payload",
        "_reads",
        "_record",
        "_route",
        "_subscriber",
        "outcome",
        "seq"
    )  # fmt: skip

    def __init__(
        self,
        entry: Entry,
        payload: Payload,
        subscriber: Subscriber,
        connection: Connection,
        deadlines: Deadlines,
        record: HookRecord | None,
    ) -> None:
        self.seq = payload.seq
        self.outcome: Outcome | None = None
        self._entry = entry
        self._payload = payload
        self._subscriber = subscriber
        self._connection = connection
        self._deadlines = deadlines
        self._record = record
        (self._route,) = subscriber.routes
        self._reads = False
        self._parked: trio.lowlevel.Task | None = None

    def begin(self) -> None:
        """Ask, if the subscription matches."""
        route = self._route
        if first_match(self._subscriber, self._payload) is None:
            self._finish(Outcome(payload=self._payload))
            return
        try:
            params = encode_params(self._entry, self._payload, route.include, route.timeout_s)
        except PayloadTooLarge as error:
            self._answered(Result(status="payload_too_large", error=str(error), elapsed_ms=0.0))
            return
        # not before its bytes are there: the timeout is the plugin's, and a large payload takes its
        # time
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
        self._reads = self._connection.ask(call, params)
        if call.status is None:
            call.start_clock(
                self._deadlines
            )  # it counts from the call's making; the plugin works meanwhile

    async def wait(self) -> Outcome:
        """Wait for the outcome.

        Raises:
            trio.Cancelled: the caller was cancelled, which withdraws the call, or its turn was
            interrupted and it runs inside of it.
        """
        try:
            if self._reads:
                await self._connection.read_for(self._call)
            if self.outcome is None:
                await self._park()
        except BaseException:  # cancelled, or Ctrl+C: nobody is left who wants the outcome
            self.withdraw()
            raise
        assert self.outcome is not None
        if self.outcome.cancelled:
            await trio.lowlevel.checkpoint_if_cancelled()
        return self.outcome

    def abandon(self) -> None:
        """The turn has ended: from now on the outcome is `cancelled`, whatever comes.

        The call is the caller's to settle.
        """
        if self.outcome is None:
            self._finish(cancelled_outcome(self._payload))

    def withdraw(self) -> None:
        """Give up: the call is cancelled at the plugin, the outcome is `cancelled`."""
        self.abandon()
        self._connection.cancel(self._call)

    def _settled(self, call: Call) -> None:
        if self.outcome is None:
            self._answered(result_of(call))

    def _answered(self, result: Result) -> None:
        self._finish(merge_one(self._entry, self._payload, self._subscriber, self._route, result))

    def _finish(self, outcome: Outcome) -> None:
        self.outcome = outcome
        if self._record is not None:
            self._record.over(outcome)
        if self._parked is not None:
            trio.lowlevel.reschedule(self._parked)
            self._parked = None
        elif self._reads:
            self._connection.nudge()

    async def _park(self) -> None:
        self._parked = trio.lowlevel.current_task()
        await trio.lowlevel.wait_task_rescheduled(self._give_up)

    def _give_up(self, _: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
        self._parked = None
        return trio.lowlevel.Abort.SUCCEEDED
