"""An HTTP server that serves a model: a request up, the answer's pieces down as they come, every failure in our own words."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any, Final, Protocol, TypeVar

import httpx
import msgspec
import trio
from httpx_sse import EventSource, ServerSentEvent

from sliphook.quoting import quote
from sliphook.wire.decoding import DECODE_ERRORS

from .base import ModelError, Piece, TextDelta
from .http_errors import failure_of_status, failure_of_transport, hide_key

_T = TypeVar("_T")

CONNECT_TIMEOUT_S: Final = 10.0
SILENCE_TIMEOUT_S: Final = 300.0
"""A local model may read a long prompt for minutes before its first word."""
STALL_TIMEOUT_S: Final = 600.0
"""How long a server may keep the connection alive and say nothing of the answer."""

LINGER_S: Final = 2.0
"""How long to wait for usage and the last word once the model has said why it ended: not every server closes."""

MAX_AMENDED: Final = 2
"""How often one request is amended: as many fields as there are in any API that a server may refuse or miss."""

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
"""The most that is read of an answer that is not streamed, or of an error."""


class AnswerAssembler(Protocol):
    """Puts one answer together; each provider has its own. No input or output here.

    Attributes:
        finish_reason: why the model ended, in the provider's words; None until it has said so.
        done: nothing more will come.
    """

    finish_reason: str | None
    done: bool

    def event(self, data: str, kind: str) -> str:
        """Take one server-sent event and give the text in it, often none.

        Raises:
            ModelError: it is an error, or no event of an answer; the server's fault.
        """
        ...

    def whole(self, body: bytes) -> str | None:
        """Take an answer that was not streamed and give its text, or None where it is none.

        Raises:
            ModelError: it is an error; the server's fault.
        """
        ...

    def end(self) -> Iterator[Piece]:
        """The tool calls, which are whole now, and the `Finish`."""
        ...


class ModelServer:
    """One server, and a pool of connections to it: what the models behind any server have in common.

    Attributes:
        url: where it is, without what is secret in an address.
    """

    def __init__(
        self, base_url: str, *, headers: Mapping[str, str], key: str, key_names: str
    ) -> None:
        """Connect to nothing yet.

        Args:
            base_url: the common beginning of its paths; a query, as Azure wants one, is sent with
                each request.
            headers: sent with each request.
            key: the secret in them, or the empty string; it never comes out in an error.
            key_names: the variables that the user may set it in, for an error.
        """
        self._address, _, self._query = base_url.partition("?")
        self.url = _without_login(self._address)
        self._key = key
        self._key_names = key_names
        self._known = False  # whether the server has ever answered
        local = _is_loopback(base_url)
        self._client = httpx.AsyncClient(
            headers=dict(headers),
            timeout=httpx.Timeout(SILENCE_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            trust_env=not local,  # a proxy cannot reach this machine's own servers
            verify=not (
                local and base_url.startswith("http://")
            ),  # no certificates there, and they take time to load
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def offered(self) -> list[str]:
        """The names of the models that the server offers; empty where it does not say.

        Raises:
            ModelError: it cannot be reached, or refuses the key.
        """
        async with self._request("GET", "/models") as response:
            body = await _read(response)
            if response.status_code in (401, 403):
                raise self._refusal(response, body, "")
        try:
            return [model.id for model in msgspec.json.decode(body, type=_Models).data]
        except DECODE_ERRORS:
            return []

    @asynccontextmanager
    async def ask(
        self,
        path: str,
        body: dict[str, Any],
        answer: AnswerAssembler,
        *,
        amend: Callable[[ModelError], dict[str, Any] | None],
    ) -> AsyncGenerator[AsyncIterator[Piece]]:
        """Ask for one answer; see `sliphook.agent.model.Model.stream`.

        Args:
            path: below the server's address.
            body: the request; its `model` is named in errors.
            answer: takes the answer.
            amend: given the refusal of a request, another body to try, or None. It is asked at most
                `MAX_AMENDED` times.

        Raises:
            ModelError: on entering or while iterating.
        """
        async with AsyncExitStack() as stack:
            response = await self._taken(stack, path, body, amend)
            streamed = "text/event-stream" in response.headers.get("content-type", "")
            pieces = _streamed(response, answer) if streamed else _whole(response, answer, self.url)
            yield await stack.enter_async_context(aclosing(pieces))

    async def _taken(
        self,
        stack: AsyncExitStack,
        path: str,
        body: dict[str, Any],
        amend: Callable[[ModelError], dict[str, Any] | None],
    ) -> httpx.Response:
        for _ in range(MAX_AMENDED):
            try:
                return await stack.enter_async_context(self._post(path, body))
            except ModelError as error:
                amended = amend(error)
                if amended is None:
                    raise
                body = amended
        return await stack.enter_async_context(self._post(path, body))

    @asynccontextmanager
    async def _post(self, path: str, body: dict[str, Any]) -> AsyncGenerator[httpx.Response]:
        """The response to a request that was taken."""
        async with self._request("POST", path, json=body) as response:
            if response.status_code != 200:
                raise self._refusal(response, await _read(response), str(body["model"]))
            yield response

    @asynccontextmanager
    async def _request(self, method: str, path: str, **more: Any) -> AsyncGenerator[httpx.Response]:
        """One request; what goes wrong until its block is left is a ModelError."""
        answering = False
        try:
            async with self._client.stream(
                method, f"{self._address}{path}?{self._query}".rstrip("?"), **more
            ) as response:
                self._known = True
                answering = response.status_code == 200
                yield response
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            failure = failure_of_transport(
                error, url=self.url, answering=answering, known=self._known
            )
            hide_key(failure, self._key)
            raise failure from error
        except ModelError as error:
            hide_key(error, self._key)
            raise

    def _refusal(self, response: httpx.Response, body: bytes, model: str) -> ModelError:
        return failure_of_status(
            response.status_code,
            response.headers,
            body,
            url=self.url,
            model=model,
            key_names=self._key_names,
        )


class _ListedModel(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_ListedModel] = []


async def _streamed(response: httpx.Response, answer: AnswerAssembler) -> AsyncGenerator[Piece]:
    """The pieces of an answer that comes as server-sent events."""
    response.encoding = "utf-8"  # what server-sent events are, whatever the header says
    async with _unwound(EventSource(response).aiter_sse()) as events:
        while not answer.done and (event := await _next_event(events, answer)) is not None:
            text = answer.event(event.data, event.event) if event.data else ""
            if text:
                yield TextDelta(text)
    if answer.finish_reason is None and not answer.done:
        raise ModelError(
            "stream",
            "the model's answer broke off: the server ended it without saying why",
            transient=True,
        )
    for piece in answer.end():
        yield piece


async def _next_event(
    events: AsyncIterator[ServerSentEvent], answer: AnswerAssembler
) -> ServerSentEvent | None:
    """The next event, or None at the end.

    An answer that is whole needs no more: neither patience nor a connection.
    """
    if answer.finish_reason is None:
        with trio.move_on_after(STALL_TIMEOUT_S):
            return await anext(events, None)
        raise ModelError(
            "timeout",
            "the model server keeps the connection alive and says nothing",
            transient=True,
        )
    try:
        with trio.move_on_after(LINGER_S):
            return await anext(events, None)
    except httpx.TransportError:
        pass
    return None


async def _whole(
    response: httpx.Response, answer: AnswerAssembler, url: str
) -> AsyncGenerator[Piece]:
    """The pieces of an answer that is one JSON object, from a server that does not stream."""
    text = answer.whole(await _read(response))
    if text is None:
        kind = quote(response.headers.get("content-type", "no content type"), 60)
        raise ModelError(
            "malformed", f"what {url} sent is no answer of a model ({kind}); check --base-url"
        )
    if text:
        yield TextDelta(text)
    for piece in answer.end():
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


def usable_key(api_key: str | None, key_names: str) -> str:
    """The key as a header takes it, or the empty string for none.

    Raises:
        ModelError: it holds what no key holds; the user's fault.
    """
    key = (api_key or "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ModelError(
            "refused", f"the API key holds characters that no key has; set {key_names} anew"
        )
    return key


def _without_login(address: str) -> str:
    try:
        url = httpx.URL(address)
        return str(url.copy_with(username=None, password=None)) if url.userinfo else address
    except httpx.InvalidURL:
        return address


def _is_loopback(base_url: str) -> bool:
    try:
        host = httpx.URL(base_url).host
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except (httpx.InvalidURL, ValueError):
        return False
