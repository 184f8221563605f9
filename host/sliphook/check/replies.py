"""Pure: the requests that were sent to one process, and its replies to them."""

from __future__ import annotations

from collections.abc import Callable, Container

from sliphook.quoting import quote
from sliphook.wire import envelope


class Replies:
    """Which reply belongs to which request; what is none is a breach.

    Replies are kept to the end of the process, since a second one may come at any time.

    Args:
        breach: told in words of a reply that answers nothing.
        now: the time, in seconds.

    Attributes:
        unreadable: why the reply to an id cannot be read.
    """

    def __init__(self, breach: Callable[[str], None], now: Callable[[], float]) -> None:
        self._breach = breach
        self._now = now
        self._sent: dict[int, float] = {}
        self._came: dict[int, tuple[envelope.Reply, float]] = {}
        self._last_id = 0
        self.unreadable: dict[int, str] = {}

    @property
    def sent(self) -> Container[int]:
        """The ids of the requests so far."""
        return self._sent.keys()

    def next_id(self) -> int:
        """A new id; a reply to it will come."""
        self._last_id += 1
        return self.expect(self._last_id)

    def expect(self, id: int) -> int:
        """Note that a reply to this id will come."""
        self._sent[id] = self._now()
        return id

    def settle(self, reply: envelope.Reply) -> None:
        """Keep a reply that came."""
        id = reply.id
        if isinstance(id, str) and id.isdigit() and len(id) < 20 and int(id) in self._sent:
            self._breach(f'the id {int(id)} came back as the string "{int(id)}"')
        elif not isinstance(id, int) or id not in self._sent:
            self._breach(f"a reply to the id {quote(str(id), 40)}, which was never sent")
        elif id in self._came:
            self._breach(f"a second reply to the id {id}")
        else:
            self._came[id] = (reply, self._now())

    def __contains__(self, id: int) -> bool:
        """The reply has come."""
        return id in self._came

    def __getitem__(self, id: int) -> envelope.Reply:
        """The reply, which must have come."""
        return self._came[id][0]

    def took_s(self, id: int) -> float:
        """Seconds from a request to its reply, which must have come."""
        return self._came[id][1] - self._sent[id]

    def first_of(self, *ids: int) -> int:
        """The one of these requests, one of which has its reply, whose reply came first."""
        return next(id for id in self._came if id in ids)
