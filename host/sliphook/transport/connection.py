"""The conversation with one process: its two pipes, its open requests, and its limits."""

from __future__ import annotations

import msgspec

from sliphook.quoting import quote
from sliphook.wire import envelope
from sliphook.wire.framing import Body, FramingError, Stray
from sliphook.wire.message_limits import within_limits
from sliphook.wire.rpc import Handlers, Rpc, Violation
from sliphook_sdk.protocol import ErrorCode
from sliphook_sdk.protocol.limits import MAX_PLUGIN_REQUESTS, UNWEIGHED_BYTES

from .call import Call, CallStatus, Params
from .deadlines import BLOCKED_LOOP_S, Deadlines
from .interrupted import Interrupts, cancel_of, take_back
from .outbox import Item, QueueFull
from .owner import ConnectionOwner
from .pace import Pace
from .reader import PipeReader
from .transport_recorder import TransportRecorder
from .unfinished import Unfinished
from .writer import PipeWriter


class Connection:
    """The conversation with one process. Only its two tasks wait; all else are plain functions.

    Args:
        stdin: descriptor that the plugin reads, non-blocking; the connection closes it.
        stdout: descriptor that the plugin writes, non-blocking; the connection closes it.
        handlers: what the plugin may call.
        deadlines, pace: the host's.
        owner: the plugin.
        recorder: records the messages, or None.

    Attributes:
        under_way: the requests that have no reply yet, by id, the oldest first.
        newest_answered: the highest id among those that were answered in time, pings left out.
    """

    def __init__(
        self,
        stdin: int,
        stdout: int,
        handlers: Handlers,
        deadlines: Deadlines,
        pace: Pace,
        owner: ConnectionOwner,
        recorder: TransportRecorder | None = None,
    ) -> None:
        self._owner = owner
        self._recorder = recorder
        self._rpc = Rpc(self._reply, handlers)
        self._reader = reader = PipeReader(stdout, deadlines, pace, self)
        # each hook calls these, so no method of our own stands between
        self.read_for, self.nudge, self.read_rest = reader.read_for, reader.nudge, reader.read_rest
        self._writer = writer = PipeWriter(stdin, deadlines, self)
        self.hasten = writer.outbox.hasten
        # the two tasks: they end with the stream, or when the connection is closed
        self.read, self.write = reader.run, writer.run
        self.close_stdin = writer.close
        self.under_way: dict[int, Call] = {}
        self.newest_answered = 0
        self._unfinished = Unfinished(deadlines, owner.goes_on, recorder)
        self._interrupts = interrupts = Interrupts(
            writer, self.under_way, deadlines, self._queue_urgent, self._settle, recorder
        )
        self.give_up, self.flush = interrupts.give_up, interrupts.flush
        self.closed = False

    # -- requests and notifications

    def call(self, call: Call, params: Params) -> None:
        """Send a request. It is settled later, or at once if it cannot be queued."""
        if self.closed:
            call.settle("crashed", "the plugin has ended")
            return
        call.connection = self
        call.id, frame, rest = self._rpc.begin(call.method, params, call, call.traceparent)
        self._send(call, frame, rest)
        self._reader.attend()

    def ask(self, call: Call, params: msgspec.Raw) -> bool:
        """Send a request, for the fast path.

        Returns:
            True if the caller has to read the answer (`read_for`) before another task runs. False
            if other calls are under way, so the reader's task reads for all, or if the call is
            settled.
        """
        if self.closed:
            call.settle("crashed", "the plugin has ended")
            return False
        call.connection = self
        call.id, frame = self._rpc.ask(call.method, params, call, call.traceparent)
        if self.under_way:
            self._send(call, frame)
            self._reader.attend()
            return False
        count = self._writer.write(frame)
        if count == len(frame) and self._recorder is None:  # usually; there is nothing to note
            self.under_way[call.id] = call
            call.written = True
        elif count:
            self.under_way[call.id] = call
            item = Item(frame, call.method, call=call, session_id=call.session_id)
            self._writer.wrote(item, count)
        else:
            self._send(call, frame)
        return True

    def _send(self, call: Call, frame: bytes, rest: memoryview | None = None) -> None:
        self.under_way[call.id] = call
        others = len(self.under_way) > 1 and not self._reader.brought_one()
        item = Item(frame, call.method, call=call, session_id=call.session_id, rest=rest)
        try:
            self._writer.send(item, join=others)
        except QueueFull:
            self.end(call, "queue_full", "its queue is full: it does not read what it is sent")

    def notify(self, method: str, params: msgspec.Raw) -> None:
        """Send a notification of the protocol's own, which may not be lost."""
        self.tell(Item(self._rpc.notify(method, params), method))

    def tell_urgently(self, item: Item) -> None:
        """Send a notification with the next `flush`; else as `tell`."""
        self._interrupts.urgent.append(item)

    def tell(self, item: Item) -> None:
        """Send a notification; the same item may go to many.

        One that may not be dropped and does not fit breaks the connection.
        """
        count = self._writer.write(item.frame)
        if count == item.size and self._recorder is None:
            return  # usually; there is nothing to note
        if count:
            self._writer.wrote(item, count)
            return
        # looked at only here: a closed pipe takes no byte, so the usual message needs no look
        if not self.closed:
            self._queue(item)

    def _queue_urgent(self, item: Item) -> None:
        if not self.closed:
            self._queue(item, urgent=True)

    def _queue(self, item: Item, *, urgent: bool = False) -> None:
        try:
            self._writer.send(item, urgent=urgent)
        # a droppable item never gets here: the outbox gives it back instead
        except QueueFull:
            why = f"its queue is full and {item.method} may not be lost"
            self._break("crashed", f"{why}: it does not read what it is sent")

    def withdraw(self, turn_ids: set[str]) -> list[Call]:
        """Settle these turns' calls that are not written, by `take_back`; returns the rest."""
        calls = [call for call in self.under_way.values() if call.turn_id in turn_ids]
        if taken := take_back(self._writer.outbox, calls):
            self._interrupts.take(taken)
        return [call for call in calls if call.status is None]

    def _withdraw(self, calls: list[Call]) -> list[Call]:
        for call in (taken := take_back(self._writer.outbox, calls)):
            self.end(call, "cancelled", "cancelled before it was sent")
        return [call for call in calls if call not in taken and call.status is None]

    def cancel(self, call: Call) -> None:
        """Withdraw one call: tell the plugin if it has been sent, and settle it here and now."""
        if call.status is not None or not (call.written or self._withdraw([call])):
            return
        self.tell(cancel_of(call))
        self.end(call, "cancelled", "cancelled")

    def expire(self, call: Call, late_s: float) -> None:
        """The call's timeout is over; what can already be read is read first."""
        # if the agent held the loop, the reply lies there already, and the plugin was not late
        self._reader.read_now()
        if call.status is not None:
            return
        if late_s > BLOCKED_LOOP_S:
            self._owner.agent_blocked(late_s)
        # not `withdraw`: that would settle it as cancelled
        if not take_back(self._writer.outbox, [call]):
            self.tell(cancel_of(call))
        self.end(call, "timed_out", call.unanswered())

    def end(self, call: Call, status: CallStatus, why: str) -> None:
        """Settle a call of this connection as the host sees fit."""
        if call.status is None:
            # first: `replied` keeps a status that is there
            call.status, call.why = status, why
            self.under_way.pop(call.id, None)
            self._settle(call)

    def _settle(self, call: Call) -> None:
        self._rpc.settle(call.id, ErrorCode.REQUEST_CANCELLED, call.why)
        # an answer that could not be taken was one
        if call.written and not self.closed and call.status != "error":
            self._owner.unanswered(call)
            self._unfinished.add(call)
        if self._recorder is not None:
            self._recorder.settled(call)

    @property
    def is_owed(self) -> bool:
        """Some request has no reply yet."""
        return bool(self.under_way)

    # -- writing (see WriterOwner)

    def left(self, item: Item) -> None:
        """The first byte of a message has been written."""
        if item.call is not None:
            item.call.written = True
        if item.reply_to is not None:
            # not before: the plugin cannot have seen the reply, so the id is still taken
            self._rpc.answered(item.reply_to)
        if self._recorder is not None:
            self._recorder.sent(item)

    def lost(self, item: Item) -> None:
        """An event had to go, the queue is full."""
        self._owner.dropped(item)
        if self._recorder is not None:
            self._recorder.dropped(item, "the queue is full")

    def cannot_write(self, why: str) -> None:
        """The plugin does not read any more."""
        # a plugin that is ending may have answered first; how it ended is told by its exit
        self._reader.read_now()
        if not self._owner.is_dead():
            self._break("crashed", why)

    def _reply(self, frame: bytes, method: str, request_id: int | str) -> None:
        self._put_reply(Item(frame, method, reply_to=request_id))

    def _put_reply(self, item: Item) -> None:
        try:
            self._writer.send(item)
        except QueueFull:
            self._break("crashed", "its queue is full of answers: it asks and does not read")

    # -- reading (see ReaderOwner)

    @property
    def cut_short(self) -> str | None:
        """What the stream ended in the middle of, or None."""
        return self._reader.cut_short

    def stray(self, stray: Stray) -> None:
        """Something was no message."""
        self._owner.stray_output(stray.why)
        if self._recorder is not None:
            self._recorder.oddity("stray", stray.data, stray.why)

    def unreadable(self, error: FramingError) -> None:
        """The stream cannot be read on."""
        if self._recorder is not None:
            self._recorder.oddity("refused", error.excerpt.encode(), error.why)
        self._break("protocol_error", str(error))

    def message(self, body: Body) -> bool:
        """Handle one message; False if the host had not asked for it."""
        if self._interrupts.ended:
            self._interrupts.catch_up()
        message = body.message
        self._owner.heard(message)
        try:
            if body.size > UNWEIGHED_BYTES:  # a smaller one keeps every limit
                message = within_limits(body, self.under_way, self._unfinished.told)
            if isinstance(message, envelope.Reply):
                return self._handle_reply(body.data, message)
            if isinstance(message, envelope.InvalidMessage):
                self._handle_invalid(body.data, message)
                return False
            if self._recorder is not None:
                self._recorder.received(body.data, message, None)
            full = self._rpc.owed >= MAX_PLUGIN_REQUESTS
            # an id that stands twice is refused for that
            if full and isinstance(message, envelope.Request) and self._rpc.is_free(message.id):
                refusal = self._rpc.refuse(message.id, ErrorCode.BUSY, "too many requests are open")
                # no `reply_to`: the engine never saw this request, so its id was not taken
                self._put_reply(Item(refusal, message.method))
                return False
            return self._rpc.consume(message)
        except Violation as violation:
            self._violation(body.data, str(violation), fatal=violation.fatal)
            return False

    def _handle_reply(self, data: bytes, reply: envelope.Reply) -> bool:
        # out of the table first: what its maker asks next may then go alone, on the fast path
        call = self.under_way.pop(reply.id, None) if isinstance(reply.id, int) else None
        if call is not None and call.id > self.newest_answered and call.method != "ping":
            self.newest_answered = call.id
        if call is None and self._rpc.was_issued(reply.id):
            self._unfinished.replied(reply, data)
        elif self._recorder is not None:
            self._recorder.received(data, reply, call)
        return self._rpc.consume_reply(reply)

    def _handle_invalid(self, data: bytes, error: envelope.InvalidMessage) -> None:
        content = error.in_content
        may_answer = error.is_reply or error.may_be_reply
        call = self.under_way.get(error.id) if may_answer and isinstance(error.id, int) else None
        late = error.is_reply and self._unfinished.unreadable(error.id)
        # a reply is never answered: two peers could refuse each other's refusals for ever
        refused = call is None and not error.is_reply and not (content and error.id is None)
        if call is not None:
            wrong = "cannot be taken" if content else "is not valid"
            self.end(call, "error", f"its reply {wrong}: {error.why}")
        elif refused:
            if error.id is not None:
                self._rpc.check_free(error.id)
            self._put_reply(Item(self._rpc.refuse(error.id, error.code, error.why), "error"))
        why = f"a message was refused: {error.why}" if content else error.why
        # that is no violation if the plugin or the host's call is told of it
        self._violation(data, why, counts=not content or not (refused or call or late))

    def _violation(
        self, data: bytes, why: str, *, fatal: bool = False, counts: bool = True
    ) -> None:
        self._owner.stray_output(why)
        if self._recorder is not None:
            self._recorder.oddity("refused", data, why)
        if counts:  # last, as it may raise
            self._reader.violation(why, quote(data), fatal=fatal)

    # -- the end

    def _break(self, status: CallStatus, why: str) -> None:
        if not self.closed:
            self.close(status, why)
            self._owner.connection_broken(status, why)

    def close(self, status: CallStatus, why: str) -> None:
        """End the conversation: every call is settled with `status`, both pipes are closed."""
        if self.closed:
            return
        # first: a request that the makers of these calls send now must fail at once
        self.closed = True
        self._interrupts.catch_up()
        for call in list(self.under_way.values()):
            self.end(call, status, why)
        self._unfinished.close()
        self._rpc.close()
        self._writer.close()
        self._reader.close()
