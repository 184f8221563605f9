"""The format of a trace file: one JSON object a line, its fields those of `TraceRecord`.

`body` is the message itself where it is JSON, `text` a line of stderr, and `raw` (base64) the bytes of everything else.
"""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from .record import TraceRecord

__all__ = ["decode_line", "encode_line"]

_encoder = msgspec.json.Encoder()
_any_json = msgspec.json.Decoder(msgspec.Raw)


def encode_line(record: TraceRecord) -> bytes:
    """One record as a line, its LF included."""
    body = record.body
    if body is None:
        return _encoder.encode(record) + b"\n"
    if record.kind != "stderr" and _is_json(body):
        # A line break can only stand between tokens here, where a space means the same.
        flat = body.strip().replace(b"\n", b" ").replace(b"\r", b" ")
        return _encoder.encode(msgspec.structs.replace(record, body=msgspec.Raw(flat))) + b"\n"
    fields: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(record, body=None))
    if record.kind == "stderr":
        fields["text"] = body.decode("utf-8", "backslashreplace")
    else:
        fields["raw"] = base64.b64encode(body).decode("ascii")
    return _encoder.encode(fields) + b"\n"


def decode_line(line: bytes) -> TraceRecord:
    """The record of one line; the white space of a JSON body may differ from what was on the wire.

    Raises:
        ValueError: it is no line of a trace; the message says why.
    """
    try:
        fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        body: bytes | None = None
        if "body" in fields:
            body = bytes(fields.pop("body"))
        if "text" in fields:
            body = msgspec.json.decode(fields.pop("text"), type=str).encode()
        if "raw" in fields:
            body = base64.b64decode(msgspec.json.decode(fields.pop("raw"), type=str), validate=True)
        plain = {name: msgspec.json.decode(value) for name, value in fields.items()}
        return msgspec.convert({**plain, "body": body}, TraceRecord)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ValueError(f"no line of a trace: {error}") from None


def _is_json(body: bytes) -> bool:
    try:
        if not body.isascii():
            body.decode("utf-8")  # msgspec passes over strings without a look at their bytes
        _any_json.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
    return True
