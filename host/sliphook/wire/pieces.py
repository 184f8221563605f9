"""What a plugin's output is cut into, and what is kept of a message that is too large. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from sliphook_sdk.protocol import limits
from sliphook_sdk.protocol.weight import Weight, weigh

from . import envelope
from .faults import PEEK_BYTES, refusal

EXCERPT: Final = 1024
"""Of what is not kept; more than a quote can show."""


_WEIGHED_AT_ONCE: Final = 16 * 1024  # bytes; of a message that comes in drops


class Body(msgspec.Struct, frozen=True):
    """One message: its bytes as they came, and what they say.

    An `InvalidMessage` is JSON that breaks the envelope or a limit.

    Attributes:
        data: the bytes; of a message that was passed over the beginning.
        message: what they say.
        values: how many (see `weight`); 1 if there are too few to count.
        size: the bytes that came.
    """

    data: bytes
    message: envelope.Message | envelope.InvalidMessage
    values: int
    size: int


class Stray(msgspec.Struct, frozen=True):
    """Output that is no message, without its line end.

    `why` is a sentence for people that quotes it harmlessly.
    """

    data: bytes
    why: str


class Weighing:
    """Weighs one message as it comes, so that its last bytes are not the ones that cost most."""

    def __init__(self) -> None:
        self._weight: Weight | None = None
        self._weighed = 0

    def add_some(self, buffer: bytearray, start: int) -> None:
        """Weigh what has come of the message that begins at `start` and is not complete."""
        came = start + self._weighed
        if len(buffer) - came >= _WEIGHED_AT_ONCE:
            self._weight = self._weight or Weight()
            with memoryview(buffer) as view:
                self._weight.add(bytes(view[came:]))
            self._weighed = len(buffer) - start

    def total(self, data: bytes) -> Weight:
        """The weight of the complete message; the next one can be weighed then."""
        weight, weighed = self._weight, self._weighed
        self._weight, self._weighed = None, 0
        if weight is None:
            return weigh(data)
        weight.add(data[weighed:])
        return weight


class PassedOver:
    """A message over the limit, of which only the beginning and the end are kept.

    Args:
        length: its bytes; None if it is a line, which ends before the LF.

    Attributes:
        left: bytes of it that have not come; None if it is a line.
        size: bytes of it that have come.
        head: its beginning.
        is_complete: all of it has come.
    """

    def __init__(self, length: int | None) -> None:
        self.left = length
        self.size = 0
        self.head = b""
        self.is_complete = False
        self._tail = b""

    def take(self, buffer: bytearray, start: int) -> int:
        """Take what `buffer` has of it, from `start`; returns where that ends."""
        if self.left is None:
            end = buffer.find(b"\n", start)
            self.is_complete = end >= 0
            end = end if self.is_complete else len(buffer)
        else:
            end = min(len(buffer), start + self.left)
            self.left -= end - start
            self.is_complete = self.left == 0
        self.size += end - start
        with memoryview(buffer)[start:end] as came:
            self.head += bytes(came[: EXCERPT - len(self.head)])
            self._tail = (self._tail + bytes(came[-PEEK_BYTES:]))[-PEEK_BYTES:]
        return end

    def body(self) -> Body:
        """Its refusal."""
        why = (
            f"it has {self.size:,} bytes, at most {limits.MAX_MESSAGE_BYTES:,} are allowed:"
            " write it to a file and send the path, or send it in pieces"
        )
        return Body(self.head, refusal(self.head[:PEEK_BYTES], self._tail, why), 1, self.size)
