"""Where a message may begin inside a line, and what a line of a header says. Pure."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from .decoding import DECODE_ERRORS

_FIELD_NAME: Final = re.compile(rb"[A-Za-z0-9_-]+")
_ARRAY: Final = msgspec.json.Decoder(list[msgspec.Raw])
_MARKERS: Final = (b"Content-Length:", b'{"jsonrpc"')


def next_marker(buffer: bytearray, start: int, end: int) -> int:
    """Where the next marker begins; `end` if there is none.

    `find` is many times as fast as a pattern. In steps, as one of the markers may be missing: a
    line of a hundred thousand of the other must not be searched through for each of them.
    """
    step = 256
    while start < end:
        stop = min(end, start + step)
        ends = [(marker, min(end, stop + len(marker) - 1)) for marker in _MARKERS]
        found = [buffer.find(marker, start, until) for marker, until in ends]
        if max(found) >= 0:
            return min(at for at in found if at >= 0)
        start, step = stop, 2 * step
    return end


def is_batch(line: bytes) -> bool:
    """Whether a line is an array of messages, which JSON-RPC knows and this protocol does not."""
    if not line.startswith(b"[") or b'"jsonrpc"' not in line:
        return False
    try:
        return len(_ARRAY.decode(line)) > 0
    except DECODE_ERRORS:
        return False


def content_length(line: bytes, before: int | None) -> int | None:
    """The length of the body after one more line of a header block; None if it is not yet known.

    Args:
        line: the line.
        before: the length by the lines before it.

    Raises:
        ValueError: it is no field, no number, or a second length.
    """
    name, colon, value = line.partition(b":")
    if not colon or not _FIELD_NAME.fullmatch(name):
        raise ValueError("a header block that a blank line should have ended")
    if name.lower() != b"content-length":
        return before
    if before is not None:
        raise ValueError("a header block with more than one Content-Length")
    digits = value.strip(b" \t")
    if not digits.isdigit():  # int() would take "+5" and "1_0" too
        raise ValueError("a Content-Length that is no decimal number")
    return int(digits)
