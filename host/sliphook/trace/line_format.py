"""The format of a trace file: one JSON object a line, its fields those of `TraceRecord`.

`body` is the message itself if it is JSON, `text` a line of stderr, and `raw` (base64) the bytes of
everything else. The first line of each file is a `header`; a `lost` line takes the place of records
that are missing.
"""

from __future__ import annotations

import base64
from importlib import metadata
from typing import Final, Literal, get_args

import msgspec

from sliphook.errors import SliphookError
from sliphook.wire.decoding import DECODE_ERRORS, read_types

from .bodies import Header, Lost
from .from_body import told_by_body
from .record import Kind, TraceRecord

__all__ = ["FORMAT", "UnknownKind", "decode_line", "encode_line", "header_line", "lost_line"]

FORMAT: Final = 1
"""The version of the format.

New fields and kinds do not change it; another number means that old ones have changed.
"""

_KINDS: Final = frozenset(get_args(Kind))

_encoder = msgspec.json.Encoder()
_any_json = msgspec.json.Decoder(msgspec.Raw)
read_types(TraceRecord)


class UnknownKind(SliphookError):
    """A record of a kind that a later version has added."""


def header_line(first: TraceRecord, *, part: int) -> bytes:
    """The first line of a file; its time is that of the first record behind it."""
    return _own_line(
        "header", first, Header(format=FORMAT, sliphook=metadata.version("sliphook"), part=part)
    )


def lost_line(next_one: TraceRecord, *, count: int, why: str) -> bytes:
    """A line in the place of records that were lost; its time is that of the next one."""
    return _own_line("lost", next_one, Lost(count=count, why=why))


def _own_line(kind: Literal["header", "lost"], beside: TraceRecord, body: Header | Lost) -> bytes:
    record = TraceRecord(
        kind=kind, wall_s=beside.wall_s, mono_s=beside.mono_s, plugin="", body=_encoder.encode(body)
    )
    return encode_line(record)


def encode_line(record: TraceRecord, *, is_json: bool = False) -> bytes:
    """One record as a line, its LF included; what its body tells of it is added (see `complete`).

    Args:
        record: the record.
        is_json: the body is known to be JSON in UTF-8, so it is not checked again.
    """
    body = record.body
    if body is None:
        return _encoder.encode(record) + b"\n"
    # The closing brace is cut off: the body follows as it is, not decoded and encoded again.
    head = _encoder.encode(msgspec.structs.replace(record, body=None, **told_by_body(record)))[:-1]
    if record.kind == "stderr":
        return (
            head + b',"text":' + _encoder.encode(body.decode("utf-8", "backslashreplace")) + b"}\n"
        )
    if is_json or _is_json(body):
        # Valid JSON has line breaks only between tokens, and a space means the same there.
        return head + b',"body":' + body.strip().replace(b"\n", b" ").replace(b"\r", b" ") + b"}\n"
    return head + b',"raw":"' + base64.b64encode(body) + b'"}\n'


def decode_line(line: bytes) -> TraceRecord:
    """The record of one line; white space in a JSON body may differ from what went over the wire.

    Raises:
        UnknownKind: it is a record, of a kind that is not known here.
        ValueError: it is no line of a trace; the message says why, in words that follow its number.
    """
    try:
        # `Raw`, so that the body keeps its bytes: the order of keys and the spelling of numbers.
        fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        body: bytes | None = None
        if "body" in fields:
            body = bytes(fields.pop("body"))
        if "text" in fields:
            body = msgspec.json.decode(fields.pop("text"), type=str).encode()
        if "raw" in fields:
            body = base64.b64decode(msgspec.json.decode(fields.pop("raw"), type=str), validate=True)
        plain = {name: msgspec.json.decode(value) for name, value in fields.items()}
        # `mono_s` tells a record of a later version from any other JSON that has a `kind`.
        if isinstance(plain.get("kind"), str) and "mono_s" in plain and plain["kind"] not in _KINDS:
            raise UnknownKind(plain["kind"])
        return msgspec.convert({**plain, "body": body}, TraceRecord)
    except msgspec.ValidationError as error:
        raise ValueError(f"it is no record: {error}") from None
    except msgspec.DecodeError:
        raise ValueError("it is no JSON, or not all of it") from None
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ValueError(f"it is no record: {error}") from None


def _is_json(body: bytes) -> bool:
    try:
        if not body.isascii():
            body.decode("utf-8")  # msgspec does not check the bytes of strings that it skips
        _any_json.decode(body)
    except DECODE_ERRORS:
        return False
    return True
