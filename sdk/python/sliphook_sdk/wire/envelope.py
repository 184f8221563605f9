"""Pure: the envelope of what the host sends, and the bodies of what the plugin sends unasked."""

from __future__ import annotations

from typing import Any, Final, Literal, Optional, Union

import msgspec

from sliphook_sdk.errors import text_of
from sliphook_sdk.protocol import LogParams

from .encoding import check_limits, to_json
from .given import shown
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

    A log line is written as far as it can be; any other message that cannot be sent is the author's
    mistake.

    Raises:
        ValueError: the message is too large, nested too deep, or not JSON.
    """
    params = message["params"]
    if isinstance(params, LogParams):
        return _log_body(message, params)
    try:
        body = to_json(message)
        fault = fault_in(params) if b"null" in body else None
        if fault is not None:
            raise ValueError(fault)
        check_limits(body, message["method"])
    except Exception as exc:  # a value's own conversion may raise anything
        raise ValueError(f"{message['method']} cannot be sent: {text_of(exc)}") from None
    return body


def _log_body(message: dict[str, Any], line: LogParams) -> bytes:
    """A log line, whatever its values: those that JSON cannot hold as their `repr`.

    Beyond the limits it is cut.
    """
    try:
        body = to_json(message, unknown=shown)
    except Exception:  # a value contains itself, or its own conversion raises
        fields = {name: _written(value) for name, value in (line.fields or {}).items()}
        line = msgspec.structs.replace(line, fields=fields)
        body = to_json({**message, "params": line}, unknown=shown)
    try:
        check_limits(body, message["method"])
    except ValueError as exc:
        level: Any = line.level[:_LOG_CHARS]
        short = LogParams(
            level=level,
            message=line.message[:_LOG_CHARS],
            fields={"left_out": text_of(exc)},
        )
        body = to_json({**message, "params": short})
    return body


def _written(value: object) -> object:
    """The value as plain parts, which are the same when they are encoded again."""
    try:
        return msgspec.json.decode(to_json(value, unknown=shown))
    except Exception:  # its own conversion may raise anything
        return shown(value)
