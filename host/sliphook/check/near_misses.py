"""Pure: what a plugin has nearly said; the host ignores it, and its author should know."""

from __future__ import annotations

from collections.abc import Callable

from sliphook.wire import envelope
from sliphook.wire.near_misses import NearMisses


class NearMissRule:
    """Looks at the messages of one process.

    Args:
        breach: takes the name of the rule, and what was found.
    """

    def __init__(self, breach: Callable[[str, str], object]) -> None:
        self._breach = breach
        self._found = NearMisses()

    def replied(self, method: str, reply: envelope.Reply) -> None:
        """Look at the reply to a request of the host."""
        if reply.result is not None:
            for text in self._found.found_in(method, reply.result):
                self._breach("near", text)

    def asked(self, message: envelope.Request | envelope.Notification) -> None:
        """Look at what came unasked."""
        for text in self._found.found_in(message.method, message.params):
            self._breach("near", text)
