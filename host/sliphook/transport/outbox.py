"""Pure: messages that wait to be written to one plugin: two lanes, bounded in count and bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sliphook.errors import SliphookError
from sliphook.wire.shared_params import END
from sliphook_sdk.protocol.limits import QUEUE_BYTES, QUEUE_MESSAGES

if TYPE_CHECKING:
    from .call import Call

WRITE_BYTES = 64 * 1024
"""At most this much is joined for one write: what a pipe takes at once on Linux."""


class Item:
    """One message that waits.

    Attributes:
        frame: the bytes, or the beginning of them.
        rest: what follows before `END`, if many messages share it; else None.
        size: how many bytes there are.
        method: for the trace and for people.
        call: the request that it starts, or None.
        session_id: the session it belongs to, or None.
        droppable: an event that may be lost when the queue is full.
        reply_to: the plugin's request that it answers, or None.
    """

    __slots__ = ("call", "droppable", "frame", "method", "reply_to", "rest", "session_id", "size")

    def __init__(
        self,
        frame: bytes,
        method: str,
        *,
        call: Call | None = None,
        session_id: str | None = None,
        droppable: bool = False,
        reply_to: int | str | None = None,
        rest: memoryview | None = None,
    ) -> None:
        self.frame = frame
        self.rest = rest
        self.size = len(frame) if rest is None else len(frame) + len(rest) + len(END)
        self.method = method
        self.call = call
        self.session_id = session_id
        self.droppable = droppable
        self.reply_to = reply_to

    def parts(self) -> list[bytes | memoryview]:
        """All of the bytes, in order."""
        return [self.frame] if self.rest is None else [self.frame, self.rest, END]


class QueueFull(SliphookError):
    """There is no room, and nothing may be dropped for it."""


class Outbox:
    """Two first-in-first-out lanes.

    A message whose first byte has left is finished before anything else.

    Attributes:
        size: bytes that wait; 0 if nothing waits.
    """

    __slots__ = ("_begun", "_max_bytes", "_max_messages", "_normal", "_urgent", "size")

    def __init__(self, max_messages: int = QUEUE_MESSAGES, max_bytes: int = QUEUE_BYTES) -> None:
        self._urgent: deque[Item] = deque()
        self._normal: deque[Item] = deque()
        self._begun: list[memoryview] = []
        self.size = 0
        self._max_messages = max_messages
        self._max_bytes = max_bytes

    def __bool__(self) -> bool:
        return self.size > 0

    def __len__(self) -> int:
        return len(self._urgent) + len(self._normal) + bool(self._begun)

    def put(self, item: Item, *, urgent: bool = False) -> list[Item]:
        """Queue `item`; returns the droppable events that had to go, the oldest first.

        Nothing goes in vain: a droppable item that would not fit even then is itself returned, and
        all others stay.

        Raises:
            QueueFull: there is no room, and dropping all that may be dropped would not make enough.
        """
        lane = self._urgent if urgent else self._normal
        size = self.size + item.size
        if (
            size <= self._max_bytes
            and len(self._urgent) + len(self._normal) + 1 < self._max_messages
        ):  # room, also beside what has begun
            lane.append(item)
            self.size = size
            return []
        dropped = self._in_the_way(item)
        if dropped is None:
            if item.droppable:
                return [item]
            raise QueueFull
        for victim in dropped:
            (self._urgent if victim in self._urgent else self._normal).remove(victim)
            self.size -= victim.size
        lane.append(item)
        self.size += item.size
        return dropped

    def _in_the_way(self, item: Item) -> list[Item] | None:
        """The droppable events that must go to make room for `item`; None if all are not enough."""
        messages = len(self) + 1 - self._max_messages
        size = self.size + item.size - self._max_bytes
        victims: list[Item] = []
        droppable = (waiting for waiting in self._in_order() if waiting.droppable)
        while messages > len(victims) or size > 0:
            victim = next(droppable, None)
            if victim is None:
                return None
            victims.append(victim)
            size -= victim.size
        return victims

    def withdraw(self, calls: set[Call]) -> set[Call]:
        """Take out the requests of `calls` of which no byte has been written; returns them."""
        taken: set[Call] = set()
        for lane in (self._urgent, self._normal):
            # the usual lane has none of them, and is not built anew
            if any(item.call in calls for item in lane if item.call is not None):
                kept: list[Item] = []
                for item in lane:
                    if item.call is not None and item.call in calls:
                        taken.add(item.call)
                        self.size -= item.size
                    else:
                        kept.append(item)
                lane.clear()
                lane.extend(kept)
        return taken

    def swap(self, call: Call, item: Item) -> bool:
        """Replace the request of `call` by `item`; False if it has begun to leave."""
        for lane in (self._urgent, self._normal):
            for index, waiting in enumerate(lane):
                if waiting.call is call:
                    # within the bounds: without id and timeout it is smaller than the request
                    lane[index] = item
                    self.size += item.size - waiting.size
                    return True
        return False

    def hasten(self, session_id: str) -> None:
        """Move what waits for the session to the urgent lane, so that it stays first."""
        if self._normal and any(item.session_id == session_id for item in self._normal):
            kept = [item for item in self._normal if item.session_id != session_id]
            self._urgent.extend(item for item in self._normal if item.session_id == session_id)
            self._normal.clear()
            self._normal.extend(kept)

    def next_write(self) -> bytes | memoryview:
        """What to write now, joined; b"" if nothing waits."""
        # even before the urgent: bytes inside a message would garble both
        if self._begun:
            return self._begun[0]
        parts: list[bytes | memoryview] = []
        size = 0
        for item in self._in_order():
            size += item.size
            # a message that is larger than this goes alone
            if parts and size > WRITE_BYTES:
                break
            if size > WRITE_BYTES:
                return item.frame  # joining would copy a large message once more
            parts += item.parts()
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def wrote(self, count: int) -> list[Item]:
        """`count` bytes of `next_write` have left; returns the messages that have begun or left."""
        # the usual case: all that waited has left in one write
        if not self._begun and count == self.size:
            return self.clear()
        left: list[Item] = []
        self.size -= count
        if self._begun:
            self._begun = _behind(self._begun, count)
            return left
        while count:
            lane = self._urgent or self._normal
            item = lane.popleft()
            left.append(item)
            if count < item.size:
                # views: a slow reader takes 64 KiB at a time, and the rest is not copied each time
                self._begun = _behind([memoryview(part) for part in item.parts()], count)
                return left
            count -= item.size
        return left

    def clear(self) -> list[Item]:
        """Forget everything; returns what had not begun."""
        waiting = [*self._urgent, *self._normal]
        self._urgent.clear()
        self._normal.clear()
        self._begun = []
        self.size = 0
        return waiting

    def _in_order(self) -> Iterator[Item]:
        yield from self._urgent
        yield from self._normal


def _behind(parts: list[memoryview], count: int) -> list[memoryview]:
    """What is left of `parts` behind so many bytes."""
    while parts and count >= len(parts[0]):
        count -= len(parts[0])
        parts = parts[1:]
    return [parts[0][count:], *parts[1:]] if parts else []
