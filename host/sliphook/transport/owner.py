"""What a connection reports to the plugin that owns it."""

from __future__ import annotations

from typing import Protocol

from .call import CallStatus
from .outbox import Item


class ConnectionOwner(Protocol):
    """Supervises the plugin. None of the methods may raise."""

    def heard(self) -> None:
        """A message came."""
        ...

    def unanswered(self) -> None:
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

    def agent_blocked(self, late_s: float) -> None:
        """The agent blocked the loop, so a timeout was noticed `late_s` seconds late."""
        ...
