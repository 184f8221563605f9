"""A model behind any server that speaks OpenAI's chat completions: streaming, by httpx on trio."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Final, TypeVar

import httpx
import msgspec
import trio
from httpx_sse import EventSource, ServerSentEvent

from sliphook.quoting import quote
from sliphook_sdk.protocol import Message, ModelTool

from .assemble import Assembler
from .chat_completion import decode_chunk, request_body
from .http_failure import failure_of_status, failure_of_transport
from .model import ModelError, Piece, TextDelta

_T = TypeVar("_T")

OPENAI_BASE_URL: Final = "https://api.openai.com/v1"

CONNECT_TIMEOUT_S: Final = 10.0
SILENCE_TIMEOUT_S: Final = 300.0
"""A local model may read a long prompt for minutes before its first word."""

LINGER_S: Final = 2.0
"""How long to wait for usage and `[DONE]` once the model has said why it ended: not every server closes."""

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
"""The most that is read of an answer that is not streamed, or of an error."""


class OpenAIModel:
    """A chat-completions server. It holds one pool of connections: make one a conversation, and `aclose()` it.

    Attributes:
        name: the model that is asked unless a call says otherwise.
        provider: `openai`, whoever runs the server.
        base_url: where the server is, without the slash at the end.
    """

    def __init__(self, name: str, *, base_url: str = OPENAI_BASE_URL, api_key: str | None = None) -> None:
        """Connect to nothing yet.

        Args:
            name: the model.
            base_url: up to and with `/v1`; the server's `/chat/completions` is below it.
            api_key: sent as a bearer token; None sends none, which local servers do not mind.

        Raises:
            ModelError: the key or the address cannot be used at all. The caller's fault.
        """
        self.name = name
        self.provider = "openai"
        self.base_url = base_url.strip().rstrip("/").removesuffix("/chat/completions")
        self._known = False  # whether the server has ever answered
        self._client = httpx.AsyncClient(
            headers=_headers(api_key),
            timeout=httpx.Timeout(SILENCE_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            trust_env=not _is_loopback(self.base_url),  # a proxy cannot reach this machine's own servers
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def offered(self) -> list[str]:
        """The names of the models that the server offers; empty where it does not say.

        Raises:
            ModelError: it cannot be reached, or refuses the key.
        """
        try:
            response = await self._client.get(f"{self.base_url}/models")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise failure_of_transport(error, url=self.base_url, answering=False, known=self._known) from error
        if response.status_code in (401, 403):
            raise failure_of_status(response.status_code, response.headers, response.content, url=self.base_url, model=self.name)
        try:
            return [model.id for model in msgspec.json.decode(response.content, type=_Models).data]
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return []

    @asynccontextmanager
    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ModelTool], *, model: str | None = None
    ) -> AsyncGenerator[AsyncIterator[Piece]]:
        """See `sliphook.agent.model.Model.stream`."""
        asked = model or self.name
        body = request_body(asked, messages, tools)
        answering = False
        try:
            async with self._client.stream("POST", f"{self.base_url}/chat/completions", json=body) as response:
                self._known = True
                if response.status_code != 200:
                    raise failure_of_status(response.status_code, response.headers, await _read(response), url=self.base_url, model=asked)
                answering = True
                streamed = "text/event-stream" in response.headers.get("content-type", "")
                async with aclosing(_streamed(response) if streamed else _whole(response, self.base_url)) as pieces:
                    yield pieces
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise failure_of_transport(error, url=self.base_url, answering=answering, known=self._known) from error


class _Named(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Named] = []


async def _streamed(response: httpx.Response) -> AsyncGenerator[Piece]:
    """The pieces of an answer that comes as server-sent events."""
    response.encoding = "utf-8"  # what server-sent events are, whatever the header says
    assembler = Assembler()
    done = False
    async with _unwound(EventSource(response).aiter_sse()) as events:
        while (event := await _next_event(events, assembler)) is not None:
            done = event.data.strip() == "[DONE]"
            if done:
                break
            if not event.data:
                continue
            chunk = decode_chunk(event.data)
            if chunk is None:
                raise ModelError("malformed", f"the model server sent an event that is no chunk of an answer: {quote(event.data, 80)}")
            text = assembler.feed(chunk)
            if text:
                yield TextDelta(text)
    if assembler.finish_reason is None and not done:
        raise ModelError("stream", "the model's answer broke off: the server ended it without saying why", transient=True)
    for piece in assembler.end():
        yield piece


async def _next_event(events: AsyncIterator[ServerSentEvent], assembler: Assembler) -> ServerSentEvent | None:
    """The next event, or None at the end. An answer that is whole needs no more: neither patience nor a connection."""
    if assembler.finish_reason is None:
        return await anext(events, None)
    try:
        with trio.move_on_after(LINGER_S):
            return await anext(events, None)
    except httpx.TransportError:
        pass
    return None


async def _whole(response: httpx.Response, url: str) -> AsyncGenerator[Piece]:
    """The pieces of an answer that is one JSON object, from a server that does not stream."""
    chunk = decode_chunk(await _read(response))
    if chunk is None or (chunk.choices is None and chunk.failure is None):
        kind = quote(response.headers.get("content-type", "no content type"), 60)
        raise ModelError("malformed", f"what {url} sent is no answer of a model ({kind}); check --base-url")
    assembler = Assembler()
    text = assembler.feed(chunk)
    if text:
        yield TextDelta(text)
    for piece in assembler.end():
        yield piece


async def _read(response: httpx.Response) -> bytes:
    """The body, at most `MAX_BODY_BYTES` of it."""
    body = bytearray()
    async with _unwound(response.aiter_bytes()) as chunks:
        async for chunk in chunks:
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                break
    return bytes(body[:MAX_BODY_BYTES])


@asynccontextmanager
async def _unwound(items: AsyncIterator[_T]) -> AsyncGenerator[AsyncIterator[_T]]:
    """Leave no generator of httpx suspended: they are nested and close nobody, but a cancel from within ends them all."""
    try:
        yield items
    finally:
        with trio.CancelScope() as scope:
            scope.cancel()
            async for _ in items:
                pass


def _headers(api_key: str | None) -> dict[str, str]:
    key = (api_key or "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ModelError("refused", "the API key holds characters that no key has; set SLIPHOOK_API_KEY or OPENAI_API_KEY anew")
    return {"Authorization": f"Bearer {key}"} if key else {}


def _is_loopback(base_url: str) -> bool:
    try:
        host = httpx.URL(base_url).host
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except (httpx.InvalidURL, ValueError):
        return False
