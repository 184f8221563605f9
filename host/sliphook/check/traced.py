"""The trace of a check: the messages of one process, recorded as the host records them."""

from __future__ import annotations

from sliphook.trace.record import TraceSink
from sliphook.transport.call import Call
from sliphook.transport.outbox import Item
from sliphook.transport.transport_recorder import TransportRecorder
from sliphook.wire import envelope
from sliphook.wire.framing import Body, FrameReader, FramingError, Stray
from sliphook_sdk.framing import frame

__all__ = ["Watched"]


class Watched:
    """Records the bytes of both directions.

    Wrong bytes that a check writes on purpose are recorded as they are.

    Args:
        sink: gets the records.
        plugin: the plugin's name, or the name of its file.
    """

    def __init__(self, sink: TraceSink, plugin: str) -> None:
        self.recorder = TransportRecorder(sink, plugin)
        self._writing = FrameReader()
        self._calls: dict[int | str, Call] = {}

    def wrote(self, data: bytes) -> None:
        """Record bytes that the check wrote; a message may come in several pieces."""
        try:
            self._writing.feed(data)
            while (piece := self._writing.next()) is not None:
                if isinstance(piece, Body):
                    self._sent(piece)
        except FramingError:
            self._writing = FrameReader()

    def read(self, piece: Body | Stray) -> None:
        """Record what the plugin wrote."""
        if isinstance(piece, Stray):
            self.recorder.oddity("stray", piece.data, piece.why)
        elif isinstance(piece.message, envelope.InvalidMessage):
            self.recorder.oddity("refused", piece.data, piece.message.why)
        else:
            call = (
                self._calls.pop(piece.message.id, None)
                if isinstance(piece.message, envelope.Reply)
                else None
            )
            self.recorder.received(piece.data, piece.message, call)

    def _sent(self, body: Body) -> None:
        message, whole = body.message, frame(body.data)
        if isinstance(message, envelope.Request):
            call = Call(message.method, 0.0, _ignore)
            call.id = message.id if isinstance(message.id, int) else 0
            self._calls[message.id] = call
            self.recorder.sent(Item(whole, message.method, call=call))
        elif isinstance(message, envelope.Notification):
            self.recorder.sent(Item(whole, message.method))
        elif isinstance(message, envelope.Reply):
            self.recorder.sent(Item(whole, "reply", reply_to=message.id))
        else:
            self.recorder.sent(Item(whole, "invalid", reply_to=message.id))


def _ignore(_: Call) -> None:
    """The recorder needs a call, but no result."""
