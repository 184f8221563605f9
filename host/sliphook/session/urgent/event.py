"""Pure: an event that an interrupt tells: what is large in it was encoded before.

An interrupt may take 2 ms, and a model's arguments of 4 MiB take 20 to be encoded. So large values
are there as `msgspec.Raw`: their bytes are not looked at or copied, and all plugins share them.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import replace

from sliphook.agent_log import agent_log
from sliphook.dispatch.audience import Subscriber
from sliphook.dispatch.broadcast import Broadcast
from sliphook.transport.outbox import Item
from sliphook.wire.envelope import notification_head
from sliphook.wire.shared_params import SHARED_BYTES
from sliphook_sdk.framing import frame_head
from sliphook_sdk.protocol import Entry, Payload
from sliphook_sdk.protocol.limits import MAX_HOST_PARAMS_BYTES

_log = agent_log(__name__)

_STAND_IN: Final = msgspec.Raw(b"0")
_FREE: Final = ("meta", "arguments")
"""The fields of any size, in the order of the wire."""


class UrgentEvent:
    """The message of one event, made once, as `Broadcast`; its entry has no heavy fields.

    Args:
        entry: the hook or event.
        payload: its payload; a large value is `msgspec.Raw`.
        traceparent: the span that plugins may continue, or None.
    """

    def __init__(self, entry: Entry, payload: Payload, traceparent: str | None = None) -> None:
        self._texts = {
            name: memoryview(value)
            for name in _FREE
            if isinstance(value := getattr(payload, name, None), msgspec.Raw)
            and len(memoryview(value)) > SHARED_BYTES
        }
        light = (
            replace(payload, **dict.fromkeys(self._texts, _STAND_IN)) if self._texts else payload
        )
        self._entry = entry
        self._head_bytes = len(notification_head(f"event/{entry.name}", traceparent))
        self._broadcast = Broadcast(entry, light, traceparent)
        self._whole: Item | None = None
        self._is_too_large = False

    def item_for(self, subscriber: Subscriber) -> Item | None:
        """The message for a plugin; None if no subscription matches or the message is too large."""
        item = self._broadcast.item_for(subscriber)
        if item is None or not self._texts:
            return item
        if self._whole is None:
            self._whole = item  # the same for all, as there are no heavy fields
            self._fill(item)
        return None if self._is_too_large else item

    def _fill(self, item: Item) -> None:
        """Put the texts where their stand-ins are."""
        end = item.frame[item.frame.index(b"\r\n\r\n") + 4 :]
        parts: list[bytes | memoryview] = []
        for name, text in self._texts.items():
            # a quote behind a comma is no part of a string; `meta` is the first of its name, as no
            # objects are before it, and `arguments` the last, as only a null is behind it
            mark = b',"%b":' % name.encode()
            hole = mark + bytes(_STAND_IN)
            before, _, end = end.partition(hole) if name == "meta" else end.rpartition(hole)
            parts += [before + mark, text]
        head, *more = *parts, end
        size = sum(map(len, more))
        params_bytes = len(head) + size - self._head_bytes - len(b"}\n")
        if params_bytes > MAX_HOST_PARAMS_BYTES:
            self._is_too_large = True
            _log.warning(
                "%s is %s bytes, over %s; no plugin is told of it",
                self._entry.name,
                f"{params_bytes:,}",
                f"{MAX_HOST_PARAMS_BYTES:,}",
            )
            return
        item.fill(frame_head(bytes(head), size), tuple(more))
