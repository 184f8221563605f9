"""What an interrupt does to the calls of one connection.

It may take 2 ms beside fifty plugins: what the plugins are told is written at once, and what else
the end of a call asks for is left to the next pass of the loop, a few ms at a time (`Deadlines`).
"""

from __future__ import annotations

from collections.abc import Callable

from sliphook.wire import envelope
from sliphook.wire.rpc import Rpc
from sliphook.wire.shared_params import SharedParams

from .call import Call, Params
from .deadlines import Deadlines, Timer
from .outbox import Item, Outbox
from .transport_recorder import TransportRecorder
from .writer import PipeWriter


def take_back(outbox: Outbox, calls: list[Call]) -> set[Call]:
    """Take the calls out of the outbox that are not written; returns those.

    A request whose content must not be lost stays in its place as an event.
    """
    unwritten = [call for call in calls if not call.written]
    if not unwritten:
        return set()
    taken = outbox.withdraw({call for call in unwritten if call.retell is None})
    for call in unwritten:
        # in its place, not at the end: what waits for the plugin keeps its order
        if call.retell is not None and outbox.swap(call, _event_of(call, call.retell)):
            taken.add(call)
    return taken


def _event_of(call: Call, params: Params) -> Item:
    """The event that tells what the request says."""
    method = call.method.replace("hook/", "event/", 1)
    if isinstance(params, SharedParams):  # megabytes, perhaps for each of fifty plugins
        told, rest = params.event(method, call.traceparent), params.rest
    else:
        told, rest = Rpc.notify(method, envelope.told_instead(params), call.traceparent), None
    return Item(told, method, session_id=call.session_id, rest=rest)


class Interrupts:
    """Writes at once what an interrupt sends; settles its calls and has it recorded soon after.

    Args:
        writer: writes to the plugin.
        calls: the calls under way, by id.
        deadlines: the host's deadlines, whose watchdog does what is left.
        queue: sends an item in the urgent lane.
        settle: settles a call whose status is there.
        recorder: records the messages, or None.

    Attributes:
        urgent: goes with the next `flush`.
        ended: calls that have ended and are not settled.
    """

    def __init__(
        self,
        writer: PipeWriter,
        calls: dict[int, Call],
        deadlines: Deadlines,
        queue: Callable[[Item], None],
        settle: Callable[[Call], None],
        recorder: TransportRecorder | None,
    ) -> None:
        self.urgent: list[Item] = []
        self.ended: list[Call] = []
        self._writer = writer
        self._calls = calls
        self._deadlines = deadlines
        self._timer = Timer(self.catch_up)
        self._queue = queue
        self._settle = settle
        self._recorder = recorder

    def give_up(self, calls: list[Call]) -> None:
        """Cancel calls that were written; their makers are told in the next pass."""
        for call in calls:
            self.urgent.append(cancel_of(call))
            call.status = call.why = "cancelled"
            call.goes_on = True  # not later: what is told in this pass says so
            self._calls.pop(call.id, None)
        self.ended += calls

    def take(self, calls: set[Call]) -> None:
        """Cancel calls that were not written; their makers are told in the next pass."""
        for call in calls:
            call.status, call.why = "cancelled", "cancelled before it was sent"
            self._calls.pop(call.id, None)
        self.ended += calls
        self._deadlines.add(self._timer, 0.0)

    def flush(self, at_most: int) -> None:
        """Write what is urgent and then what waits, so many bytes at most; the rest soon after."""
        items, self.urgent = self.urgent, []
        self._deadlines.add(self._timer, 0.0)
        done = self._writer.write_first(items, at_most)
        if done and self._recorder is not None:
            self._recorder.put_off(items[:done])
        if done == len(items) > 0:
            return
        for item in items[done:]:
            self._queue(item)
        # a second write would cost as much again
        self._writer.flush(0 if done else at_most)

    def catch_up(self) -> None:
        """Do what is left now: something else is about to be noted of these calls."""
        if self._recorder is not None:
            self._recorder.catch_up()
        calls, self.ended = self.ended, []
        for call in calls:
            self._settle(call)


def cancel_of(call: Call) -> Item:
    """The message that withdraws a call."""
    return Item(Rpc.cancel(call.id), "$/cancelRequest", session_id=call.session_id)
