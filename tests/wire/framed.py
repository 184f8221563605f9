"""What a stream comes to when it is framed."""

from __future__ import annotations

import re
from typing import TypeAlias

import pytest

from sliphook.wire.envelope import InvalidMessage
from sliphook.wire.framing import Body, FrameReader, FramingError, Stray

A = b'{"jsonrpc":"2.0","method":"a"}'
B = b'{"jsonrpc":"2.0","id":1,"result":{"b":[]}}'

Piece: TypeAlias = tuple[str, bytes]


def pieces_of(*chunks: bytes, close: bool = True) -> list[Piece]:
    """All pieces, as their kind and bytes; an error is the last of them."""
    reader = FrameReader()
    pieces: list[Piece] = []

    def drain() -> None:
        while (piece := reader.next()) is not None:
            match piece:
                case Body(data, InvalidMessage()):
                    pieces.append(("invalid", data))
                case Body(data, _):
                    pieces.append(("body", data))
                case Stray(data, _):
                    pieces.append(("stray", data))

    try:
        for chunk in chunks:
            reader.feed(chunk)
            drain()
        if close:
            reader.close()
            drain()
    except FramingError as error:
        # Numbers tell how much had come, which depends on where the stream was split.
        pieces.append(("error", re.sub(r"[0-9,]+ (of|bytes)", r"N \1", error.why).encode()))
    return pieces


def failure(stream: bytes, close: bool = False) -> FramingError:
    reader = FrameReader()
    reader.feed(stream)
    if close:
        reader.close()
    with pytest.raises(FramingError) as caught:
        list(iter(reader.next, None))
    return caught.value
