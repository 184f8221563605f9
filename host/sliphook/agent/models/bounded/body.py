"""The body of a response as it comes, in small pieces and with a limit; and its events.

Every step is bounded and lets other tasks run: the server is not trusted.
"""

from __future__ import annotations

import codecs
import zlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, TypeVar, cast

import httpx
import trio
from httpx_sse import EventSource, ServerSentEvent

from .limits import MAX_EVENT_BYTES, MAX_STREAM_BYTES, TooMuch, mib
from .network import came

_T = TypeVar("_T")

ACCEPTED: Final = "gzip, deflate"
"""What is decoded here: bounded, which the decoders of the HTTP library are not."""

_PIECE_BYTES: Final = 4 * 1024
"""Of one step: 4,096 empty lines take the decoder of events about 2 ms."""


async def read(response: httpx.Response, limit: int) -> tuple[bytes, bool]:
    """The body, cut at `limit` bytes, and whether that is all of it.

    Raises:
        TooMuch: it is compressed in a way that is not known.
    """
    body = bytearray()
    async with unwound(_pieces(response)) as pieces:
        async for piece in pieces:
            body += piece
            if len(body) > limit:
                return bytes(body[:limit]), False
    return bytes(body), True


class Events:
    """The server-sent events of a response.

    Raises:
        TooMuch: during iteration; an event or the whole is too long.
    """

    def __init__(self, response: httpx.Response) -> None:
        self.headers = response.headers
        self._response = response
        self._since_event = 0

    async def __aiter__(self) -> AsyncGenerator[ServerSentEvent]:
        # the decoder asks for text and headers alone, and this gives it bounded text
        async with unwound(EventSource(cast(httpx.Response, self)).aiter_sse()) as events:
            async for event in events:
                self._since_event = 0
                yield event

    async def aiter_text(self) -> AsyncGenerator[str]:
        """The text, in small pieces; UTF-8 as the standard says, whatever the headers say."""
        decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        taken = 0
        async with unwound(_pieces(self._response)) as pieces:
            async for piece in pieces:
                taken += len(piece)
                if taken > MAX_STREAM_BYTES:
                    raise TooMuch(f"more than {mib(MAX_STREAM_BYTES)}")
                self._since_event += len(piece)
                if self._since_event > MAX_EVENT_BYTES:
                    raise TooMuch(f"more than {mib(MAX_EVENT_BYTES)} in one event")
                if text := decoder.decode(piece):
                    yield text


async def _pieces(response: httpx.Response) -> AsyncGenerator[bytes]:
    """The body, decompressed, in pieces of at most `_PIECE_BYTES`."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        inflate = None
    elif encoding in ("gzip", "x-gzip", "deflate"):
        inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)  # 32: either of them
    else:
        raise TooMuch(f"an encoding that was not asked for, {encoding[:40]!r}")
    async with unwound(response.aiter_raw()) as raws:
        async for raw in raws:
            came(response)
            rest = raw
            while rest:
                await trio.lowlevel.checkpoint()
                if inflate is not None and inflate.eof:
                    return  # the decoder would keep all that comes behind the end
                if inflate is None:
                    piece, rest = rest[:_PIECE_BYTES], rest[_PIECE_BYTES:]
                else:
                    try:
                        piece = inflate.decompress(rest, _PIECE_BYTES)
                    except zlib.error as error:
                        raise httpx.DecodingError(str(error)) from error
                    rest = inflate.unconsumed_tail
                if piece:
                    yield piece


@asynccontextmanager
async def unwound(items: AsyncIterator[_T]) -> AsyncGenerator[AsyncIterator[_T]]:
    """Leave no generator of the library suspended.

    They are nested and do not close each other, but a cancel from inside ends all of them.
    """
    try:
        yield items
    finally:
        with trio.CancelScope() as scope:
            scope.cancel()
            async for _ in items:
                # what the library has read already comes without a pause
                with trio.CancelScope(shield=True):
                    await trio.lowlevel.checkpoint()
