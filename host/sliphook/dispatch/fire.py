"""One hook or event put to all who subscribed.

The policy is `dispatch`'s; this drives it with calls, and never waits itself.

A `Fire` moves on whenever the last call of a round is settled, inside whatever settled it: an
answer, a timeout, a death, an interrupt. A task that wants the outcome is merely woken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import trio

from sliphook.plugin.supervision import Plugin
from sliphook.quoting import quote
from sliphook.transport.call import Call, Carrier
from sliphook.transport.deadlines import Deadlines, Timer
from sliphook_sdk.protocol import Entry, Payload

from .broadcast import listeners_among, tell
from .encoding import Delivery, PayloadTooLarge
from .hook_recorder import HookRecord
from .outcome import Outcome, cancelled_outcome
from .policy import Ask, Audience, Result, Round, Subscriber, dispatch


def result_of(call: Call) -> Result:
    """What a settled hook call means to the policy."""
    if call.status == "answered":
        return Result(status="answered", raw=call.result, elapsed_ms=call.elapsed_ms)
    if call.status is None or call.status == "error":
        why = (
            f"it answered an error: {quote(call.error.message, 300)} ({call.error.code})"
            if call.error is not None
            else call.why
        )
        return Result(status="refused_answer", error=why, elapsed_ms=call.elapsed_ms)
    return Result(status=call.status, error=call.why, elapsed_ms=call.elapsed_ms)


class Fire:
    """A hook under way.

    Args:
        entry: the hook.
        payload: what it is about, heavy fields filled in.
        subscribers: who may be asked; see `dispatch`.
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
        self.entry = entry
        self.seq = payload.seq
        self.outcome: Outcome | None = None
        self._payload = payload
        self._subscribers = subscribers
        self._heard: set[str] = set()
        self._plugins = plugins
        self._deadlines = deadlines
        self._turn_id = turn_id
        self._record = record
        self._policy = dispatch(entry, payload, subscribers)
        self._delivery = Delivery(entry)
        self._waiters: list[trio.lowlevel.Task] = []
        self._reading: Carrier | None = None
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
        """The turn has ended: from now on the outcome is `cancelled`, whatever comes.

        The calls are the caller's to settle.
        """
        if self.outcome is None:
            self._finish(cancelled_outcome(self._payload))
            if self.entry.urgent:
                # what it says may not be lost: those whose turn to be asked had not come are told
                rest = [
                    subscriber
                    for subscriber in self._subscribers
                    if subscriber.plugin not in self._heard
                ]
                self._tell(rest, self._payload)

    async def wait(self, *, owned: bool = True) -> Outcome:
        """Wait for the outcome.

        Args:
            owned: the caller's cancellation withdraws the calls; False where others wait too.

        Raises:
            trio.Cancelled: the caller was cancelled, or its turn was interrupted and the caller
            runs inside of it.
        """
        try:
            await self._read_for_it()
            if self.outcome is None:
                await self._park()
        except BaseException:  # cancelled, or Ctrl+C: nobody is left who wants the outcome
            if owned:
                self.withdraw()
            raise
        assert self.outcome is not None
        if self.outcome.cancelled:
            await trio.lowlevel.checkpoint_if_cancelled()
        return self.outcome

    async def _read_for_it(self) -> None:
        """Where one answer is all that is missing, read that plugin's pipe in this task."""
        if self._reading is not None:
            return  # another one who waits does so
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
                return  # somebody else reads

    def _only_call(self) -> Call | None:
        if len(self._calls) != 1:
            return None
        ((_, call),) = self._calls.values()
        return call if call.written else None

    async def _park(self) -> None:
        task = trio.lowlevel.current_task()
        self._waiters.append(task)

        def give_up(_: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
            self._waiters.remove(task)
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(give_up)

    def withdraw(self) -> None:
        """Give up: the calls under way are cancelled at the plugins, the outcome is `cancelled`."""
        self.abandon()
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

    def _ask(self, index: int, ask: Ask) -> None:
        self._heard.add(ask.subscriber.plugin)
        timeout_s = ask.route.timeout_s
        if self._timer is not None:
            timeout_s = min(timeout_s, self._ends_at - trio.current_time())
            if timeout_s <= 0:
                if self.entry.urgent:
                    self._tell((ask.subscriber,), ask.payload)
                self._note(
                    index,
                    Result(status="timed_out", error="no time was left to ask it", elapsed_ms=0.0),
                )
                return
        try:
            params = self._delivery.params(ask.payload, ask.route.include, timeout_s)
        except PayloadTooLarge as error:
            self._note(index, Result(status="payload_too_large", error=str(error), elapsed_ms=0.0))
            return
        plugin = self._plugins.get(ask.subscriber.plugin)
        if plugin is None:
            self._note(
                index,
                Result(status="failed_to_start", error="it was left out meanwhile", elapsed_ms=0.0),
            )
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
        """Tell those of one round, who all see the same payload."""
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
        self.outcome = outcome
        if self._record is not None:
            self._record.over(outcome)
        if self._timer is not None:
            self._deadlines.remove(self._timer, self._budget_s)
        waiters, self._waiters = self._waiters, []
        for task in waiters:
            trio.lowlevel.reschedule(task)
        if self._reading is not None:
            self._reading.nudge()
