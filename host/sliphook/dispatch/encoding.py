"""Pure: encodes a payload in the forms that plugins asked for, each form once.

The forms differ in the heavy fields that they include.
"""

from __future__ import annotations

from typing import cast

import msgspec

from sliphook.errors import SliphookError
from sliphook.transport.call import Params
from sliphook.wire import envelope
from sliphook.wire.rpc import Rpc
from sliphook.wire.sendable import excess_of
from sliphook.wire.shared_params import SHARED_BYTES, SharedParams
from sliphook_sdk.protocol import Entry, Message, Payload
from sliphook_sdk.protocol.limits import MAX_HOST_DEPTH, MAX_HOST_PARAMS_BYTES

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
        self._forms: dict[tuple[frozenset[str], float | None], Params] = {}
        self._found: dict[frozenset[str], SharedParams | PayloadTooLarge] = {}
        self._events: dict[frozenset[str], bytes] = {}

    def params(self, payload: Payload, include: frozenset[str], timeout_s: float | None) -> Params:
        """The params for a plugin; those of a large request share their bytes.

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
            self._found.clear()
            self._events.clear()
        form = (include, timeout_s)
        params = self._forms.get(form)
        if params is None:
            params = self._forms[form] = self._encode(payload, include, timeout_s)
        return params

    def _encode(self, payload: Payload, include: frozenset[str], timeout_s: float | None) -> Params:
        # megabytes are encoded, or found to be too many, once and not for each timeout
        found = self._found.get(include)
        if isinstance(found, PayloadTooLarge):
            raise PayloadTooLarge(*found.args)
        if found is not None and timeout_s is not None:
            again = found.with_timeout(timeout_s)
            return again if len(again) > SHARED_BYTES else again.whole()
        try:
            params = encode_params(self._entry, payload, include, timeout_s)
        except PayloadTooLarge as error:
            self._found[include] = error
            raise
        if timeout_s is None:
            return params
        shared = SharedParams.cut(params, _before_timeout(payload), timeout_s)
        if shared is None:
            return params
        self._found[include] = shared
        return shared if len(params) > SHARED_BYTES else params

    def retold(self, include: frozenset[str]) -> SharedParams | None:
        """What `params` gave last for a request, to be told as an event; None if it cannot be."""
        found = self._found.get(include)
        return found if isinstance(found, SharedParams) else None

    def event(self, payload: Payload, include: frozenset[str]) -> bytes:
        """The whole message for a plugin that is only told; arguments and errors as in `params`."""
        params = self.params(payload, include, None)
        assert isinstance(params, msgspec.Raw)
        frame = self._events.get(include)
        if frame is None:
            frame = self._events[include] = Rpc.notify(
                f"event/{self._entry.name}", params, self._traceparent
            )
        return frame


def _before_timeout(payload: Payload) -> bytes:
    """What stands before the timeout in the params: fields without free-form values but `meta`."""
    names = payload.__struct_fields__
    first = {name: getattr(payload, name) for name in names[: names.index("timeout_s")]}
    return envelope.encode(first)[:-1]


def encode_params(
    entry: Entry, payload: Payload, include: frozenset[str], timeout_s: float | None
) -> msgspec.Raw:
    """The params for a plugin; see `Delivery.params` for arguments and errors."""
    changes: dict[str, object] = {name: None for name in entry.heavy if name not in include}
    if timeout_s is not None:
        changes["timeout_s"] = timeout_s
    shaped = msgspec.structs.replace(payload, **changes) if changes else payload
    cut = [name for name in entry.heavy if getattr(shaped, name) is not None] if include else []
    # a conversation of 100 MB is not encoded to find out that it is too long
    chars = sum(_chars_of(getattr(shaped, name)) for name in cut) if cut else 0
    fits = chars < MAX_HOST_PARAMS_BYTES
    body = b""
    try:
        body = envelope.encode(shaped) if fits else b""
    except envelope.TooManySurrogates:
        if not cut:
            raise
        fits = False
    fits = fits and len(body) <= MAX_HOST_PARAMS_BYTES
    # only a heavy field has values that nothing has looked at: what a model wrote, as it came
    if fits and not (include and excess_of(body, _PARAMS_LEVELS)):
        return msgspec.Raw(body)
    if cut:
        # without its heavy fields it may fit: `truncated` tells the plugin what is missing
        shaped = msgspec.structs.replace(shaped, **dict.fromkeys(cut), truncated=cut)
        body = envelope.encode(shaped)
    if len(body) > MAX_HOST_PARAMS_BYTES:
        raise PayloadTooLarge(
            f"{entry.name} is {len(body):,} bytes, over {MAX_HOST_PARAMS_BYTES:,}"
        )
    return msgspec.Raw(body)


def _chars_of(field: object) -> int:
    """Characters of a heavy field's messages: it has so many bytes in JSON at least."""
    messages = cast("list[object]", field) if isinstance(field, list) else [field]
    return sum(len(one.content or "") for one in messages if isinstance(one, Message))
