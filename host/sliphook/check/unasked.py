"""Pure: what a plugin sends without being asked, and how the host's side of it is played."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from sliphook.quoting import quote
from sliphook.wire import envelope
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook.wire.near_misses import meant_method
from sliphook_sdk.protocol import METHOD_BY_NAME, METHODS

RESULTS: Final[dict[str, Any]] = {
    "host/inject": {"queued": True},
    "host/interrupt": {"interrupted": False},
    "host/submit": {"message_id": "m-1", "status": "queued"},
}
"""The results of requests by their method; `{}` for the others."""
_PARAMS: Final = {m.name: msgspec.json.Decoder(m.params) for m in METHODS if m.by == "plugin"}


def why_not_taken(
    asked: envelope.Request | envelope.Notification, *, ready: bool, uses: frozenset[str]
) -> str | None:
    """Why the host does not take a message of the plugin; None if it does.

    Args:
        asked: the message.
        ready: the manifest has been read.
        uses: the grants that it lists.
    """
    method = METHOD_BY_NAME.get(asked.method)
    if method is None or method.by != "plugin":
        return f"a method that the host does not know{meant_method(asked.method)}"
    if not ready and method.name != "host/log":
        return "sent before the manifest, where only host/log counts"
    if isinstance(asked, envelope.Request) != (method.kind == "request"):
        return f"{method.name} is a {method.kind}"
    if method.grant is not None and method.grant not in uses:
        return f"{method.name} needs {method.grant} in the manifest's uses"
    try:
        _PARAMS[method.name].decode(asked.params)
    except DECODE_ERRORS as error:
        return f"the params of {method.name} do not fit ({quote(str(error))})"
    return None
