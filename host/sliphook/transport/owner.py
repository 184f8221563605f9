"""What a connection reports to the plugin that owns it, and a reader to its connection."""

from __future__ import annotations

from typing import Protocol

from sliphook.wire.envelope import InvalidMessage, Message
from sliphook.wire.framing import Body, FramingError, Stray

from .call import Call, CallStatus
from .outbox import Item


class ConnectionOwner(Protocol):
    """Supervises the plugin. None of the methods may raise."""

    def heard(self, message: Message | InvalidMessage) -> None:
        """A message came; it is not handled yet."""
        ...

    def unanswered(self, call: Call) -> None:
        """A request that had been sent was given up without a reply."""
        ...

    def is_dead(self) -> bool:
        """The process has ended: an error of its pipes is no fault, and what they hold is read."""
        ...

    def connection_broken(self, status: CallStatus, why: str) -> None:
        """The connection has ended itself; the process has to end too."""
        ...

    def stray_output(self, why: str) -> None:
        """Something on stdout was no message, or broke a rule."""
        ...

    def dropped(self, item: Item) -> None:
        """An event was lost because the queue is full."""
        ...

    def goes_on(self, words: str) -> None:
        """Tell the user of work that was to stop; the words follow the plugin's name."""
        ...

    def agent_blocked(self, late_s: float) -> None:
        """The agent blocked the loop, so a timeout was noticed `late_s` seconds late."""
        ...


class ReaderOwner(Protocol):
    """Handles what is read; may raise nothing but `FramingError`."""

    def message(self, body: Body) -> bool:
        """Handle one message; False if the host had not asked for it."""
        ...

    def stray(self, stray: Stray) -> None:
        """Handle output that is no message."""
        ...

    def unreadable(self, error: FramingError) -> None:
        """The stream cannot be read on; the plugin is at fault."""
        ...

    @property
    def is_owed(self) -> bool:
        """A request has no reply yet."""
        ...
