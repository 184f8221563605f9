"""Pure: the envelope of what the host sends, and the bodies of what the plugin sends unasked."""

from __future__ import annotations

from typing import Any, Final, Literal, Optional, Union

import msgspec

from sliphook_sdk.errors import text_of
from sliphook_sdk.protocol import LogParams

from .encoding import check_limits, to_json
from .values import fault_in

_LOG_CHARS: Final = 10_000
"""The length to which the message of a log line is cut if the whole line cannot be sent."""


class ErrorObject(msgspec.Struct, frozen=True):
    """The host's reason to refuse a request."""

    code: int
    message: str


class Envelope(msgspec.Struct, frozen=True):
    """A message of the host before its params or its result are decoded."""

    jsonrpc: Literal["2.0"]
    id: Optional[Union[int, str, msgspec.UnsetType]] = msgspec.UNSET
    method: Union[str, msgspec.UnsetType] = msgspec.UNSET
    traceparent: Optional[str] = None
    params: msgspec.Raw = msgspec.Raw(b"{}")
    result: Union[msgspec.Raw, msgspec.UnsetType] = msgspec.UNSET
    error: Union[ErrorObject, msgspec.UnsetType] = msgspec.UNSET


def unasked_body(message: dict[str, Any]) -> bytes:
    """Encode a request or a notification of the plugin.

    A log line beyond the limits is cut; any other message beyond them is the author's mistake.

    Raises:
        ValueError: the message is too large, nested too deep, or not JSON.
    """
    try:
        body = to_json(message, unknown=repr)  # a log line names at least what JSON cannot hold
        fault = fault_in(message["params"]) if b"null" in body else None
        if fault is not None and not isinstance(message["params"], LogParams):
            raise ValueError(fault)
        check_limits(body, message["method"])
    except Exception as exc:  # a value's own conversion may raise anything
        params = message["params"]
        if not isinstance(params, LogParams):
            raise ValueError(f"{message['method']} cannot be sent: {text_of(exc)}") from None
        short = LogParams(
            level=params.level,
            message=params.message[:_LOG_CHARS],
            fields={"left_out": text_of(exc)},
        )
        body = to_json({**message, "params": short})
    return body
