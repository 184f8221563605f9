"""Pure: encodes a payload in the forms that plugins asked for, each form once.

The forms differ in the heavy fields that they include.
"""

from __future__ import annotations

import msgspec

from sliphook.errors import SliphookError
from sliphook.wire import envelope
from sliphook.wire.rpc import Rpc
from sliphook.wire.sendable import excess_of
from sliphook_sdk.protocol import Entry, Payload
from sliphook_sdk.protocol.limits import MAX_HOST_DEPTH, MAX_HOST_MESSAGE_BYTES

_ENVELOPE_BYTES = 256
"""Room for the header, the method and the id around the params."""
_PARAMS_LEVELS = MAX_HOST_DEPTH - 1


class PayloadTooLarge(SliphookError):
    """The message exceeds the protocol's size limit even without its heavy fields."""


class Delivery:
    """Encodes the payloads of one fire; plugins that are sent the same form share its bytes.

    Args:
        entry: the hook or event.
        traceparent: the span that a plugin may continue if it is told, or None.
    """

    def __init__(self, entry: Entry, traceparent: str | None = None) -> None:
        self._entry = entry
        self._traceparent = traceparent
        self._payload: Payload | None = None
        self._forms: dict[tuple[frozenset[str], float | None], msgspec.Raw] = {}
        self._events: dict[frozenset[str], bytes] = {}

    def params(
        self, payload: Payload, include: frozenset[str], timeout_s: float | None
    ) -> msgspec.Raw:
        """The params for a plugin.

        Args:
            payload: the payload, heavy fields filled in.
            include: the heavy fields that the plugin asked for.
            timeout_s: seconds left to answer, or None if the plugin is only told.

        Raises:
            PayloadTooLarge: the message is too large, even without the fields in `include`.
        """
        # a plugin that replaces makes a new payload: the forms of the old one are void
        if payload is not self._payload:
            self._payload = payload
            self._forms.clear()
            self._events.clear()
        form = (include, timeout_s)
        params = self._forms.get(form)
        if params is None:
            params = self._forms[form] = encode_params(self._entry, payload, include, timeout_s)
        return params

    def event(self, payload: Payload, include: frozenset[str]) -> bytes:
        """The whole message for a plugin that is only told; arguments and errors as in `params`."""
        params = self.params(payload, include, None)
        frame = self._events.get(include)
        if frame is None:
            frame = self._events[include] = Rpc.notify(
                f"event/{self._entry.name}", params, self._traceparent
            )
        return frame


def encode_params(
    entry: Entry, payload: Payload, include: frozenset[str], timeout_s: float | None
) -> msgspec.Raw:
    """The params for a plugin; see `Delivery.params` for arguments and errors."""
    changes: dict[str, object] = {name: None for name in entry.heavy if name not in include}
    if timeout_s is not None:
        changes["timeout_s"] = timeout_s
    shaped = msgspec.structs.replace(payload, **changes) if changes else payload
    body = envelope.encode(shaped)
    too_large = len(body) > MAX_HOST_MESSAGE_BYTES - _ENVELOPE_BYTES
    # only a heavy field has values that nothing has looked at: what a model wrote, as it came
    if not too_large and not (include and excess_of(body, _PARAMS_LEVELS)):
        return msgspec.Raw(body)
    # without its heavy fields the message may fit: `truncated` tells the plugin what is missing
    cut = [name for name in entry.heavy if getattr(shaped, name) is not None]
    if cut:
        shaped = msgspec.structs.replace(shaped, **dict.fromkeys(cut), truncated=cut)
        body = envelope.encode(shaped)
    if len(body) > MAX_HOST_MESSAGE_BYTES - _ENVELOPE_BYTES:
        raise PayloadTooLarge(
            f"{entry.name} is {len(body):,} bytes, over {MAX_HOST_MESSAGE_BYTES:,}"
        )
    return msgspec.Raw(body)
