"""Asks all subscribers of one hook: turns the rounds of the policy into calls, and never waits.

A `Fire` moves on inside the code that settles the last call of a round: an answer, a timeout, the
death of a plugin, or an interrupt. A task that waits for the outcome is only woken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import trio

from sliphook.plugin.supervision import Plugin
from sliphook.transport.call import Call
from sliphook.transport.deadlines import Deadlines, Timer
from sliphook_sdk.protocol import Entry, Payload

from .audience import Audience, Subscriber
from .broadcast import listeners_among, tell
from .encoding import Delivery, PayloadTooLarge
from .hook_recorder import HookRecord
from .outcome import Outcome, Status
from .policy import Ask, Round, dispatch
from .shares import Result, Share
from .streamed import StreamedText
from .waiting import PendingOutcome, read_or_refuse, result_of


class Fire(PendingOutcome):
    """One hook that is asked of any number of plugins.

    Args:
        entry: the hook.
        payload: its payload, heavy fields filled in.
        subscribers: the plugins that may be asked; see `dispatch`.
        plugins: the plugins by name.
        deadlines: the host's deadlines.
        turn_id: the turn to which the hook belongs, or None.
        budget_s: seconds for all rounds together; None is the largest timeout among the
            subscriptions.
        record: takes the outcome, or None.
        streamed: takes the text that a plugin sends before its answer, or None.
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
        streamed: StreamedText | None = None,
    ) -> None:
        super().__init__(payload, record)
        self.entry = entry
        self._subscribers = subscribers
        self._reached: set[str] = set()
        self._plugins = plugins
        self._deadlines = deadlines
        self._turn_id = turn_id
        self._policy = dispatch(entry, payload, subscribers)
        self._delivery = Delivery(entry)
        self._streamed = streamed
        self._calls: dict[int, tuple[Plugin, Call]] = {}
        self._shares: list[Share | None] = []
        self._missing = 0
        self._opening = False
        audience = subscribers if isinstance(subscribers, Audience) else Audience(subscribers)
        # a single round ends with the last call's own timeout; several in a row need a common end
        timed = budget_s is not None or audience.has_sequence
        self._timer = Timer(self._out_of_budget) if timed else None
        whole = audience.whole or audience  # all may be asked in the last round
        self._budget_s = whole.longest_s if budget_s is None else budget_s
        if audience.has_sequence:
            # in a later round another plugin may have the name of one of these
            self._plugins = {
                one.plugin: plugin
                for one in whole
                if (plugin := plugins.get(one.plugin)) is not None
            }
        self._ends_at = 0.0

    def begin(self) -> None:
        """Begin the first round."""
        if self._timer is not None:
            self._ends_at = trio.current_time() + self._budget_s
            self._deadlines.add(self._timer, self._budget_s)
        self._advance(None)

    def abandon(self) -> None:
        """End the fire because its turn has ended; the caller settles the calls.

        The content of an urgent hook must not be lost: plugins not yet asked get it as an event.
        """
        if self.outcome is not None:
            return
        super().abandon()
        if self.entry.urgent:
            rest = [one for one in self._subscribers if one.plugin not in self._reached]
            self._tell(rest, self._payload)

    async def _read_for_it(self) -> None:
        if self._reading is not None:
            return  # another task that waits for this outcome reads already
        # after an answer the next round may begin, again with one call
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
                return  # another task reads this pipe

    def _only_call(self) -> Call | None:
        """The call under way if it is the only one and has been written, else None."""
        if len(self._calls) != 1:
            return None
        ((_, call),) = self._calls.values()
        return call if call.written else None

    def _cancel_calls(self) -> None:
        for plugin, call in list(self._calls.values()):
            plugin.cancel(call)

    def _advance(self, shares: Sequence[Share] | None) -> None:
        """Go on to the first round that has to wait, or to the outcome.

        Args:
            shares: those of the round before; None begins the first round.
        """
        # a loop and no recursion: the shares of many rounds may be known at once
        while self.outcome is None:
            try:
                todo = next(self._policy) if shares is None else self._policy.send(shares)
            except StopIteration as stop:
                self._finish(stop.value)
                return
            shares = self._open(todo)
            if shares is None:
                return

    def _open(self, todo: Round) -> Sequence[Share] | None:
        """Begin a round; returns its shares if all are known at once."""
        self._missing = len(todo.asks)
        self._shares = [None] * self._missing
        # a call may be settled while it is made: `_settled` must not go on to the next round then
        self._opening = True
        for index, ask in enumerate(todo.asks):
            self._ask(index, ask)
        self._opening = False
        # after the requests: the agent waits for those
        if todo.tells:
            self._tell([told.subscriber for told in todo.tells], todo.tells[0].payload)
        return self._complete()

    def _complete(self) -> Sequence[Share] | None:
        return None if self._missing else [share for share in self._shares if share is not None]

    def _note(self, index: int, ask: Ask, result: Result) -> None:
        self._shares[index] = read_or_refuse(partial(ask.share, self.entry), result)
        self._missing -= 1

    def _fail(self, index: int, ask: Ask, status: Status, error: str) -> None:
        """Note a plugin that could not be asked: nothing was sent."""
        self._note(index, ask, Result(status=status, error=error, elapsed_ms=0.0))

    def _ask(self, index: int, ask: Ask) -> None:
        self._reached.add(ask.subscriber.plugin)
        timeout_s = ask.route.timeout_s
        if self._timer is not None:
            timeout_s = ask.timeout_s(self._ends_at - trio.current_time(), self._budget_s)
            if timeout_s <= 0:
                if self.entry.urgent:
                    self._tell((ask.subscriber,), ask.payload)
                self._fail(index, ask, "not_asked", "the hook's time was over before it was asked")
                return
        try:
            params = self._delivery.params(ask.payload, ask.route.include, timeout_s)
        except PayloadTooLarge as error:
            self._fail(index, ask, "payload_too_large", str(error))
            return
        plugin = self._plugins.get(ask.subscriber.plugin)
        if plugin is None:
            self._fail(index, ask, "failed_to_start", "it was removed meanwhile")
            return
        call = Call(
            f"hook/{self.entry.name}",
            timeout_s,
            partial(self._settled, index, ask),
            session_id=ask.payload.session_id,
            turn_id=self._turn_id,
            # an interrupt withdraws unwritten requests; this makes it an event instead
            retell=(self._delivery.retold(ask.route.include) or params)
            if self.entry.urgent
            else None,
        )
        if self._record is not None:
            call.traceparent = self._record.asked(plugin.name)
        if ask.streams and self._streamed is not None:
            call.on_text = self._streamed.of_one_request()
        self._calls[index] = plugin, call
        plugin.ask(call, params)

    def _tell(self, subscribers: Sequence[Subscriber], payload: Payload) -> None:
        """Tell these subscribers of the hook, all with the same payload."""
        self._reached.update(one.plugin for one in subscribers)
        span = self._record.traceparent if self._record is not None else None
        tell(self.entry, payload, listeners_among(subscribers, self._plugins), traceparent=span)

    def _settled(self, index: int, ask: Ask, call: Call) -> None:
        self._calls.pop(index, None)
        if self.outcome is not None:
            return
        self._note(index, ask, result_of(call))
        if not self._opening:
            shares = self._complete()
            if shares is not None:
                self._advance(shares)

    def _out_of_budget(self) -> None:
        # a copy: a call that ends leaves the dict, and the last one may begin the next round
        for _, call in list(self._calls.values()):
            call.expired(0.0)  # late by 0 s: only the timeouts of calls report a blocked loop

    def _finish(self, outcome: Outcome) -> None:
        if self._timer is not None:
            self._deadlines.remove(self._timer, self._budget_s)
        super()._finish(outcome)
