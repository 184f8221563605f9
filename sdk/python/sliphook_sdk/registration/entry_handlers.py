"""The handlers of one hook or event, and which of them a payload is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from sliphook_sdk.errors import RpcError
from sliphook_sdk.protocol import ErrorCode

if TYPE_CHECKING:
    from sliphook_sdk.protocol import Entry, Payload

    from .handlers import HookHandler


class EntryHandlers:
    """The handlers of one entry of the catalogue, in the order of the manifest.

    Attributes:
        entry: the hook or event.
        decoder: decodes its params.
        can_be_asked: True if any of the handlers answers.
    """

    def __init__(self, entry: Entry, handlers: list[HookHandler]) -> None:
        self.entry = entry
        self.decoder = msgspec.json.Decoder(entry.payload)
        self.can_be_asked = any(handler.asked for handler in handlers)
        self._handlers = handlers
        self._one_asked = sum(handler.asked for handler in handlers) == 1

    def to_ask(self, payload: Payload) -> HookHandler:
        """The handler that answers: the first that fits.

        If there is only one, the host has already checked that it fits.

        Raises:
            RpcError: none fits, so the host has read more in the payload than the SDK does. To
                abstain would open a guard.
        """
        for handler in self._handlers:
            if handler.asked and (self._one_asked or handler.fits(payload)):
                return handler
        raise RpcError(ErrorCode.INVALID_PARAMS, f"no handler's match fits this {self.entry.name}")

    def would_be_asked(self, payload: Payload) -> bool:
        """True if the host would send this payload as a request."""
        return any(handler.asked and handler.fits(payload) for handler in self._handlers)

    def to_tell(self, payload: Payload) -> list[HookHandler]:
        """The handlers of an event: all that are told of it, or the one that would be asked."""
        fitting = [handler for handler in self._handlers if handler.fits(payload)]
        asked = [handler for handler in fitting if handler.asked]
        return asked[:1] or fitting
