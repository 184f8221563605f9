"""One hook put to all its subscribers: drives the policy with calls and never waits itself.

A `Fire` moves on when the last call of a round is settled, inside the code that settled it: an
answer, a timeout, a death, an interrupt. A task that waits for the outcome is only woken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import trio

from sliphook.plugin.supervision import Plugin
from sliphook.transport.call import Call
from sliphook.transport.deadlines import Deadlines, Timer
from sliphook_sdk.protocol import Entry, Payload

from .broadcast import listeners_among, tell
from .encoding import Delivery, PayloadTooLarge
from .hook_recorder import HookRecord
from .outcome import Outcome, Status
from .policy import Ask, Audience, Result, Round, Subscriber, dispatch
from .waiting import PendingOutcome, result_of


class Fire(PendingOutcome):
    """A hook under way at any number of plugins.

    Args:
        entry: the hook.
        payload: what it is about, heavy fields filled in.
        subscribers: the plugins that may be asked; see `dispatch`.
        plugins: the plugins by name.
        deadlines: the host's deadlines.
        turn_id: the turn it belongs to, or None.
        budget_s: the most that all of it may take; None: the largest timeout among the
            subscriptions.
        record: what is recorded of it, or None.
    """

    def __init__(
        self,
        entry: Entry,
        payload: Payload,
        subscribers: Sequence[Subscriber],
        plugins: Mapping[str, Plugin],
        deadlines: Deadlines,
        *,
        turn_id: str | None = None,
        budget_s: float | None = None,
        record: HookRecord | None = None,
    ) -> None:
        super().__init__(payload, record)
        self.entry = entry
        self._subscribers = subscribers
        self._heard: set[str] = set()
        self._plugins = plugins
        self._deadlines = deadlines
        self._turn_id = turn_id
        self._policy = dispatch(entry, payload, subscribers)
        self._delivery = Delivery(entry)
        self._calls: dict[int, tuple[Plugin, Call]] = {}
        self._results: list[Result | None] = []
        self._missing = 0
        self._opening = False
        audience = subscribers if isinstance(subscribers, Audience) else Audience(subscribers)
        # without a sequence each call's own timeout is enough
        timed = budget_s is not None or audience.has_sequence
        self._timer = Timer(self._out_of_budget) if timed else None
        self._budget_s = audience.longest_s if budget_s is None else budget_s
        self._ends_at = 0.0

    def begin(self) -> None:
        """Ask the first ones."""
        if self._timer is not None:
            self._ends_at = trio.current_time() + self._budget_s
            self._deadlines.add(self._timer, self._budget_s)
        self._advance(None)

    def abandon(self) -> None:
        """The turn has ended; the content of an urgent hook still reaches those not yet asked."""
        if self.outcome is not None:
            return
        super().abandon()
        if self.entry.urgent:
            rest = [one for one in self._subscribers if one.plugin not in self._heard]
            self._tell(rest, self._payload)

    async def _read_for_it(self) -> None:
        if self._reading is not None:
            return  # another waiter reads
        while (
            self.outcome is None
            and (call := self._only_call()) is not None
            and call.connection is not None
        ):
            self._reading = call.connection
            try:
                await call.connection.read_for(call)
            finally:
                self._reading = None
            if call.status is None:
                return  # another task reads

    def _only_call(self) -> Call | None:
        if len(self._calls) != 1:
            return None
        ((_, call),) = self._calls.values()
        return call if call.written else None

    def _cancel_calls(self) -> None:
        for plugin, call in list(self._calls.values()):
            plugin.cancel(call)

    def _advance(self, results: Sequence[Result] | None) -> None:
        while self.outcome is None:
            try:
                todo = next(self._policy) if results is None else self._policy.send(results)
            except StopIteration as stop:
                self._finish(stop.value)
                return
            results = self._open(todo)
            if results is None:
                return

    def _open(self, todo: Round) -> Sequence[Result] | None:
        """Begin a round; returns the results if all are there at once."""
        self._missing = len(todo.asks)
        self._results = [None] * self._missing
        self._opening = True
        for index, ask in enumerate(todo.asks):
            self._ask(index, ask)
        self._opening = False
        if todo.tells:
            self._tell([told.subscriber for told in todo.tells], todo.tells[0].payload)
        return self._complete()

    def _complete(self) -> Sequence[Result] | None:
        return None if self._missing else [result for result in self._results if result is not None]

    def _note(self, index: int, result: Result) -> None:
        self._results[index] = result
        self._missing -= 1

    def _fail(self, index: int, status: Status, error: str) -> None:
        """Note an ask that failed before anything was sent."""
        self._note(index, Result(status=status, error=error, elapsed_ms=0.0))

    def _ask(self, index: int, ask: Ask) -> None:
        self._heard.add(ask.subscriber.plugin)
        timeout_s = ask.route.timeout_s
        if self._timer is not None:
            timeout_s = min(timeout_s, self._ends_at - trio.current_time())
            if timeout_s <= 0:
                if self.entry.urgent:
                    self._tell((ask.subscriber,), ask.payload)
                self._fail(index, "timed_out", "no time was left to ask it")
                return
        try:
            params = self._delivery.params(ask.payload, ask.route.include, timeout_s)
        except PayloadTooLarge as error:
            self._fail(index, "payload_too_large", str(error))
            return
        plugin = self._plugins.get(ask.subscriber.plugin)
        if plugin is None:
            self._fail(index, "failed_to_start", "it was left out meanwhile")
            return
        call = Call(
            f"hook/{self.entry.name}",
            timeout_s,
            partial(self._settled, index),
            session_id=ask.payload.session_id,
            turn_id=self._turn_id,
            retell=params if self.entry.urgent else None,
        )
        if self._record is not None:
            call.traceparent = self._record.asked(plugin.name)
        self._calls[index] = plugin, call
        plugin.ask(call, params)

    def _tell(self, subscribers: Sequence[Subscriber], payload: Payload) -> None:
        """Tell the subscribers of one round; all see the same payload."""
        self._heard.update(one.plugin for one in subscribers)
        span = self._record.traceparent if self._record is not None else None
        tell(self.entry, payload, listeners_among(subscribers, self._plugins), traceparent=span)

    def _settled(self, index: int, call: Call) -> None:
        self._calls.pop(index, None)
        if self.outcome is not None:
            return
        self._note(index, result_of(call))
        if not self._opening:
            results = self._complete()
            if results is not None:
                self._advance(results)

    def _out_of_budget(self) -> None:
        for _, call in list(self._calls.values()):
            call.expired(0.0)

    def _finish(self, outcome: Outcome) -> None:
        if self._timer is not None:
            self._deadlines.remove(self._timer, self._budget_s)
        super()._finish(outcome)
