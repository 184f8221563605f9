"""A server elsewhere, over streamable HTTP, with a token from the plugin's environment."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import httpx2
from mcp.client import Transport
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client
from mcp.shared.inbound import MCP_METHOD_HEADER
from mcp_types import INTERNAL_ERROR

from .bounds import (
    MAX_MESSAGE_BYTES,
    MOST_PER_SECOND,
    TOO_LONG,
    EventWeight,
    PerSecond,
    too_heavy,
    whole_characters,
)
from .lines import in_a_line

_CONNECT_S: Final = 10.0
_MORE_S: Final = 2.0
"""What an answer may take beyond the time that its call has: the call's end comes first."""
_GOODBYE_S: Final = 0.5
_MOST_OPENED: Final = 4
"""So many streams are opened in `_OPENED_S` at most, whatever time (`retry`) the server wishes
between two of them."""
_OPENED_S: Final = 4.0
_LINES_PER_MESSAGE: Final = 4
_ERRORS: Final = HTTPStatus.BAD_REQUEST
"""A status from this one on is a failure."""
_JSON_RPC: Final = b'"jsonrpc"'
_HERE: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def remote(words: Sequence[str], call_s: float) -> Transport:
    """The transport to the server at an address.

    Args:
        words: the address, and the variable that holds the token if it needs one.
        call_s: what a call may take.

    Raises:
        ConnectionError: the token is not there, or would be sent for everybody to read.
    """
    address, variable = words[0], words[1] if len(words) > 1 else None
    headers = {"Accept-Encoding": "identity"}
    if variable is not None:
        token = os.environ.get(variable)
        if not token:
            raise ConnectionError(f"its token, the variable {variable}, is not set or not granted")
        if not address.startswith("https://") and urlsplit(address).hostname not in _HERE:
            raise ConnectionError("a token is only sent over https://, or to this machine")
        headers["Authorization"] = f"Bearer {token}"
    return _remote(address, headers, call_s + _MORE_S)


@asynccontextmanager
async def _remote(
    address: str, headers: dict[str, str], answer_s: float
) -> AsyncGenerator[tuple[Any, Any]]:
    timeout = httpx2.Timeout(_CONNECT_S, read=None)  # `_Bounded` has the time of an answer
    bounded = _Bounded(httpx2.AsyncHTTPTransport(), answer_s)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, transport=bounded) as client,
        streamable_http_client(
            address, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES
        ) as streams,
    ):
        yield streams


class _TooMuch(Exception):
    """The server sent what is not read any further; str() says what."""


class _Bounded(httpx2.AsyncBaseTransport):
    """Sends requests, and bounds what comes: bytes, values, lines a second, and the time.

    A request that fails is answered with an error, so no other call is lost with it.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, answer_s: float) -> None:
        self._inner = inner
        self._answer_s = answer_s
        self._opened_s = deque([-math.inf] * _MOST_OPENED, _MOST_OPENED)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        lasts = request.method == "GET"
        if lasts:
            await self._wait_to_open()
        within_s = _GOODBYE_S if request.method == "DELETE" else self._answer_s
        ends_s = anyio.current_time() + within_s
        lasts = lasts or request.headers.get(MCP_METHOD_HEADER) == "subscriptions/listen"
        try:
            with anyio.fail_after(within_s):
                response = await self._inner.handle_async_request(request)
                if _is_stream(response):
                    response.stream = _Events(response.stream, math.inf if lasts else ends_s)
                    return response
                body = await _whole(response)
        except TimeoutError:
            return _failed(f"it did not answer within {within_s:g} s")
        except (_TooMuch, httpx2.TransportError) as exc:
            return _failed(in_a_line(exc))
        status = response.status_code
        # that a session is gone, the SDK tells
        is_gone = status == HTTPStatus.NOT_FOUND and MCP_SESSION_ID in request.headers
        if status >= _ERRORS and not is_gone and _JSON_RPC not in body:
            return _failed(f"it answered with HTTP {status} ({response.reason_phrase})", status)
        return httpx2.Response(status, headers=response.headers, content=body)

    async def _wait_to_open(self) -> None:
        now_s = anyio.current_time()
        opens_s = max(now_s, self._opened_s[0] + _OPENED_S)
        self._opened_s.append(opens_s)
        if opens_s > now_s:
            await anyio.sleep(opens_s - now_s)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Events(httpx2.AsyncByteStream):
    """A stream of events: it is read until it is too much, or too late."""

    def __init__(self, inner: Any, ends_s: float) -> None:
        self._inner = inner
        self._ends_s = ends_s

    async def __aiter__(self) -> AsyncIterator[bytes]:
        weight, pace = EventWeight(), PerSecond(MOST_PER_SECOND * _LINES_PER_MESSAGE)
        pieces = aiter(self._inner)
        while True:
            try:
                with anyio.fail_after(self._ends_s - anyio.current_time()):
                    piece = await anext(pieces)
            except StopAsyncIteration:
                break
            except TimeoutError:
                raise httpx2.SSEError("it did not end in time") from None
            lines = weight.lines
            if (why := weight.add(piece)) is not None:
                raise httpx2.SSEError(why)
            if ended := weight.ended():
                yield ended
            pause_s = pace.pause_s(weight.lines - lines, anyio.current_time())
            if pause_s:
                await anyio.sleep(pause_s)
        if rest := weight.rest():
            yield rest

    async def aclose(self) -> None:
        await self._inner.aclose()


def _is_stream(response: httpx2.Response) -> bool:
    return (
        response.is_success
        and response.headers.get("content-type", "").lower().startswith("text/event-stream")
        and _encoding(response) is None
    )


def _encoding(response: httpx2.Response) -> str | None:
    """How it is packed, though that was not asked for: a few bytes may be very many."""
    encoding = response.headers.get("content-encoding", "identity")
    return None if encoding.strip().lower() == "identity" else encoding


async def _whole(response: httpx2.Response) -> bytes:
    body = bytearray()
    try:
        if (encoding := _encoding(response)) is not None:
            raise _TooMuch(f"it packs its answers ({encoding[:40]}), which was not asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        async for piece in response.stream:
            body += piece
            if len(body) > MAX_MESSAGE_BYTES:
                raise _TooMuch(TOO_LONG)
    finally:
        await response.aclose()
    if (why := too_heavy(bytes(body))) is not None:
        raise _TooMuch(why)
    return whole_characters(bytes(body))


def _failed(why: str, status: int = HTTPStatus.BAD_GATEWAY) -> httpx2.Response:
    error = {"code": INTERNAL_ERROR, "message": why}
    return httpx2.Response(status, json={"jsonrpc": "2.0", "id": None, "error": error})
