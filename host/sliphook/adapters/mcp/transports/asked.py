"""What a server may ask at the same time, whatever it comes over.

The SDK has a task for each request, which waits until the answer is written: a server that asks
and does not read would be given ever more of them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import msgspec
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.client import Transport
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse, RequestId

from .bounds import MAX_MESSAGE_BYTES

MOST_ASKED: Final = 100
"""Requests of a server that are not answered yet. For one more, nothing is read until one is."""
MOST_ASKED_BYTES: Final = MAX_MESSAGE_BYTES
"""Of their params, beside the newest."""
PATIENCE_S: Final = 5.0
"""How long nothing is read so; then the connection ends."""


class OpenRequests:
    """The open requests of one connection. One whose id is open is dropped.

    Args:
        lost: told in a line that there are too many; nothing is read behind that.
    """

    def __init__(self, lost: Callable[[str], None]) -> None:
        self._lost = lost
        self._open: dict[RequestId, int] = {}  # bytes
        self._ended = anyio.Event()

    @asynccontextmanager
    async def over(self, transport: Transport) -> AsyncGenerator[tuple[Any, Any]]:
        """The same transport, with so many requests."""
        async with transport as (read, write):
            yield _Reading(read, self), _Writing(write, self)

    async def begin(self, request: JSONRPCRequest) -> SessionMessage | None:
        """Pass on a request when there is room, or None.

        Raises:
            anyio.EndOfStream: too many are open. The server's fault.
        """
        with anyio.move_on_after(PATIENCE_S):
            while self._are_too_many():
                self._ended = anyio.Event()
                await self._ended.wait()
        if self._are_too_many():
            self._lost(f"it has asked {len(self._open)} times, and does not read the answers")
            raise anyio.EndOfStream
        id = coerce_request_id(request.id)
        if id in self._open:
            return None
        self._open[id] = len(msgspec.json.encode(request.params))

        async def unanswered() -> None:
            self.end(id)

        return SessionMessage(request, ServerMessageMetadata(on_request_unanswered=unanswered))

    def end(self, id: RequestId | None) -> None:
        """It is answered, or the server has cancelled it."""
        if id is not None:
            self._open.pop(coerce_request_id(id), None)
            self._ended.set()

    def _are_too_many(self) -> bool:
        return len(self._open) >= MOST_ASKED or sum(self._open.values()) > MOST_ASKED_BYTES


class _Reading(ObjectReceiveStream[SessionMessage | Exception]):
    """What comes over a transport."""

    def __init__(self, inner: Any, asked: OpenRequests) -> None:
        self._inner = inner
        self._asked = asked

    async def receive(self) -> SessionMessage | Exception:
        while True:
            message: SessionMessage | Exception = await self._inner.receive()
            if isinstance(message, Exception) or not isinstance(message.message, JSONRPCRequest):
                return message
            if (request := await self._asked.begin(message.message)) is not None:
                return request

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Writing(ObjectSendStream[SessionMessage]):
    """What goes over it."""

    def __init__(self, inner: Any, asked: OpenRequests) -> None:
        self._inner = inner
        self._asked = asked

    async def send(self, item: SessionMessage) -> None:
        try:
            await self._inner.send(item)
        finally:
            if isinstance(item.message, JSONRPCResponse | JSONRPCError):
                self._asked.end(item.message.id)

    async def aclose(self) -> None:
        await self._inner.aclose()
