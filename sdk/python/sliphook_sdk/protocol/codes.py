"""The error codes of the wire."""

from __future__ import annotations

import enum


class ErrorCode(enum.IntEnum):
    """Codes of JSON-RPC error objects.

    `text` is the standard message; `meaning` says when it is sent and who is at fault.
    """

    text: str
    meaning: str

    def __new__(cls, value: int, text: str, meaning: str) -> ErrorCode:
        """A member is an int on the wire, and has its texts as attributes."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.text = text
        member.meaning = meaning
        return member

    PARSE_ERROR = (
        -32700,
        "parse error",
        "a framed body that is no JSON; the sender's fault, and the connection ends",
    )
    INVALID_REQUEST = (
        -32600,
        "invalid request",
        "JSON that is no valid message: no envelope, a batch, an id that is null, a float or "
        "a boolean; the sender's fault",
    )
    METHOD_NOT_FOUND = (
        -32601,
        "method not found",
        "a request for a method that the receiver does not know",
    )
    INVALID_PARAMS = (
        -32602,
        "invalid params",
        "the method exists, its params do not fit; `data` may say where",
    )
    INTERNAL_ERROR = (
        -32603,
        "internal error",
        "the receiver failed; the message says how, never a traceback",
    )
    REQUEST_CANCELLED = (
        -32800,
        "request cancelled",
        "the answer to a request that `$/cancelRequest` withdrew",
    )
    NOT_READY = (
        -32001,
        "not ready",
        "sent before the manifest was read; or `host/tools` or `host/ask` while the plugin is "
        "ended",
    )
    UNKNOWN_SESSION = (-32002, "unknown session", "no living session has this `session_id`")
    NOT_GRANTED = (
        -32003,
        "not granted",
        "the method is not listed in the manifest's `uses`, or the user has not granted it; or "
        "`host/answer` to a question of the plugin's own",
    )
    BUSY = (-32004, "busy", "over a limit; the same request may succeed later")
