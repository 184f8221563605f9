"""Pure: messages that wait to be written to one plugin: two lanes, bounded in count and bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import chain
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
        more: what follows, in parts that other messages share; () if `frame` is all.
        size: how many bytes there are.
        method: for the trace and for people.
        call: the request that it starts, or None.
        session_id: the session it belongs to, or None.
        droppable: an event that may be lost when the queue is full.
        reply_to: the plugin's request that it answers, or None.
    """

    __slots__ = ("call", "droppable", "frame", "method", "more", "reply_to", "session_id", "size")

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
        self.more: tuple[bytes | memoryview, ...] = () if rest is None else (rest, END)
        self.size = len(frame) + sum(map(len, self.more))
        self.method = method
        self.call = call
        self.session_id = session_id
        self.droppable = droppable
        self.reply_to = reply_to

    def parts(self) -> list[bytes | memoryview]:
        """All of the bytes, in order."""
        return [self.frame, *self.more]

    def fill(self, frame: bytes, more: tuple[bytes | memoryview, ...]) -> None:
        """Give it other bytes, before it is sent."""
        self.frame = frame
        self.more = more
        self.size = len(frame) + sum(map(len, more))


class QueueFull(SliphookError):
    """There is no room, and nothing may be dropped for it."""


class _Lane:
    """Messages that wait, first in, first out, by their numbers.

    Attributes:
        items: in the order in which they leave.
        droppable: those of them that may be lost, in the same order.
    """

    __slots__ = ("droppable", "items")

    def __init__(self) -> None:
        self.items: OrderedDict[int, Item] = OrderedDict()
        self.droppable: dict[int, Item] = {}

    def add(self, number: int, item: Item) -> None:
        self.items[number] = item
        if item.droppable:
            self.droppable[number] = item

    def take(self, number: int) -> Item:
        item = self.items.pop(number)
        if item.droppable:
            del self.droppable[number]
        return item


class Outbox:
    """Two first-in-first-out lanes.

    A message whose first byte has left is finished before anything else. What an interrupt asks for
    (`hasten`, `withdraw`, `swap`) costs by what it moves, however much waits.

    Attributes:
        size: bytes that wait; 0 if nothing waits.
    """

    __slots__ = (
        "_begun",
        "_by_call",
        "_by_session",
        "_last",
        "_max_bytes",
        "_max_messages",
        "_normal",
        "_urgent",
        "size",
    )

    def __init__(self, max_messages: int = QUEUE_MESSAGES, max_bytes: int = QUEUE_BYTES) -> None:
        self._urgent = _Lane()
        self._normal = _Lane()
        self._begun: list[memoryview] = []
        self._last = 0  # number
        self._by_call: dict[Call, int] = {}
        # of the normal lane alone; None: of no session
        self._by_session: dict[str | None, set[int]] = {}
        self.size = 0
        self._max_messages = max_messages
        self._max_bytes = max_bytes

    def __bool__(self) -> bool:
        return self.size > 0

    def __len__(self) -> int:
        return len(self._urgent.items) + len(self._normal.items) + bool(self._begun)

    def put(self, item: Item, *, urgent: bool = False) -> list[Item]:
        """Queue `item`; returns the droppable events that had to go, the oldest first.

        Nothing goes in vain: a droppable item that would not fit even then is itself returned, and
        all others stay.

        Raises:
            QueueFull: there is no room, and dropping all that may be dropped would not make enough.
        """
        lane = self._urgent if urgent else self._normal
        if (
            self.size + item.size <= self._max_bytes
            and len(self._urgent.items) + len(self._normal.items) + 1 < self._max_messages
        ):  # room, also beside what has begun
            dropped: list[Item] = []
        else:
            victims = self._in_the_way(item)
            if victims is None:
                if item.droppable:
                    return [item]
                raise QueueFull
            dropped = [self._take(number) for number in victims]
        self._last += 1
        self._add(self._last, item, lane)
        return dropped

    def _in_the_way(self, item: Item) -> list[int] | None:
        """The droppable events that must go to make room for `item`; None if all are not enough."""
        messages = len(self) + 1 - self._max_messages
        size = self.size + item.size - self._max_bytes
        victims: list[int] = []
        droppable = chain(self._urgent.droppable.items(), self._normal.droppable.items())
        while messages > len(victims) or size > 0:
            number, victim = next(droppable, (0, None))
            if victim is None:
                return None
            victims.append(number)
            size -= victim.size
        return victims

    def _add(self, number: int, item: Item, lane: _Lane) -> None:
        lane.add(number, item)
        self.size += item.size
        if item.call is not None:
            self._by_call[item.call] = number
        if lane is self._normal:
            self._by_session.setdefault(item.session_id, set()).add(number)

    def _take(self, number: int) -> Item:
        item = (self._urgent if number in self._urgent.items else self._normal).take(number)
        self._forget(number, item)
        return item

    def _forget(self, number: int, item: Item) -> None:
        """The item has left its lane."""
        self.size -= item.size
        if item.call is not None:
            self._by_call.pop(item.call, None)
        if same := self._by_session.get(item.session_id):
            same.discard(number)
            if not same:
                del self._by_session[item.session_id]

    def withdraw(self, calls: set[Call]) -> set[Call]:
        """Take out the requests of `calls` of which no byte has been written; returns them."""
        taken = {call for call in calls if call in self._by_call}
        for call in taken:
            self._take(self._by_call[call])
        return taken

    def swap(self, call: Call, item: Item) -> bool:
        """Replace the request of `call` by `item`; False if it has begun to leave."""
        number = self._by_call.get(call)
        if number is None:
            return False
        lane = self._urgent if number in self._urgent.items else self._normal
        self._forget(number, lane.items[number])
        # in its place, and within the bounds: without id and timeout it is smaller than the request
        self._add(number, item, lane)
        return True

    def hasten(self, session_id: str) -> None:
        """Move what waits for the session to the urgent lane, so that it stays first."""
        numbers = self._by_session.pop(session_id, ())
        if 2 * len(numbers) > len(self._normal.items) and not self._urgent.items:
            # the lanes change places, and what is of no session or another one goes back
            self._urgent, self._normal = self._normal, self._urgent
            for number in sorted(chain.from_iterable(self._by_session.values())):
                self._normal.add(number, self._urgent.take(number))
            return
        for number in sorted(numbers):
            self._urgent.add(number, self._normal.take(number))

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
        if self._begun:
            self.size -= count
            self._begun = _behind(self._begun, count)
            return left
        while count:
            lane = self._urgent if self._urgent.items else self._normal
            item = self._take(next(iter(lane.items)))
            left.append(item)
            if count < item.size:
                self.size += item.size - count
                # views: a slow reader takes 64 KiB at a time, and the rest is not copied each time
                self._begun = _behind([memoryview(part) for part in item.parts()], count)
                return left
            count -= item.size
        return left

    def clear(self) -> list[Item]:
        """Forget everything; returns what had not begun."""
        waiting = [*self._in_order()]
        self._urgent = _Lane()
        self._normal = _Lane()
        self._by_call.clear()
        self._by_session.clear()
        self._begun = []
        self.size = 0
        return waiting

    def _in_order(self) -> Iterator[Item]:
        yield from self._urgent.items.values()
        yield from self._normal.items.values()


def _behind(parts: list[memoryview], count: int) -> list[memoryview]:
    """What is left of `parts` behind so many bytes."""
    while parts and count >= len(parts[0]):
        count -= len(parts[0])
        parts = parts[1:]
    return [parts[0][count:], *parts[1:]] if parts else []
