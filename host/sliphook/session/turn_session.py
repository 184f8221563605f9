"""What a turn and an agent's loop need of their session."""

from __future__ import annotations

from typing import Protocol

from sliphook.dispatch.outcome import Context
from sliphook_sdk.protocol import AlertLevel

from .interrupt import InterruptReason


class TurnSession(Protocol):
    """The session of a turn, as far as a turn and an agent's loop need it (see `Session`)."""

    session_id: str

    async def ready(self) -> list[Context]:
        """Wait for the answers to `session_start`."""
        ...

    def interrupt(self, reason: InterruptReason = ..., invalidation_reason: str = ...) -> bool:
        """Abandon the open turn."""
        ...

    def notification(self, level: AlertLevel, message: str, source: str = ...) -> None:
        """Tell that the user was shown an error or a warning."""
        ...

    def take_injected(self) -> list[Context]:
        """Take the texts that wait for the next model call."""
        ...
