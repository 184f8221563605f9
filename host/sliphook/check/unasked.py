"""Pure: what a plugin sends without being asked, and how the host's side of it is played."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, Final

import msgspec

from sliphook.quoting import quote
from sliphook.wire import envelope
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook.wire.near_misses import meant_method
from sliphook_sdk.protocol import METHOD_BY_NAME, METHODS, ProgressParams
from sliphook_sdk.protocol.describe import example_of

_WHERE_NOBODY_IS: Final[Mapping[str, Any]] = {
    "host/answer": {"taken": False},
    "host/ask": {"outcome": "nobody", "answer": None},
    "host/interrupt": {"interrupted": False},
}
"""What the results are without a person and without an open turn."""
_RESULTS: Final[Mapping[str, Any]] = {
    method.name: {**example_of(method.result), **_WHERE_NOBODY_IS.get(method.name, {})}
    for method in METHODS
    if method.by == "plugin" and method.result is not None
}
_PARAMS: Final = {m.name: msgspec.json.Decoder(m.params) for m in METHODS if m.by == "plugin"}


def why_not_taken(
    asked: envelope.Request | envelope.Notification,
    *,
    ready: bool,
    uses: frozenset[str],
    sent: Container[int],
) -> str | None:
    """Why the host does not take a message of the plugin; None if it does.

    Args:
        asked: the message.
        ready: the manifest has been read.
        uses: the grants that it lists.
        sent: the ids of the host's requests so far.
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
        params = _PARAMS[method.name].decode(asked.params)
    except DECODE_ERRORS as error:
        return f"the params of {method.name} do not fit ({quote(str(error))})"
    if isinstance(params, ProgressParams) and params.id not in sent:
        return f"{method.name} of the request {params.id}, which was never sent"
    return None


def result_of(method: str) -> Any:
    """The result with which a request of a plugin is played; `{}` for an unknown one."""
    return _RESULTS.get(method, {})
