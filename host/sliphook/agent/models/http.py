"""One model server: requests, answers as they come, and failures in our words."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any, Final, Protocol

import httpx
import msgspec
import trio
from httpx_sse import ServerSentEvent

from sliphook.quoting import quote

from .address import SetBy, is_loopback, without_login
from .base import ModelError, Piece, TextDelta, in_pieces
from .bounded.body import ACCEPTED, Events, read, unwound
from .bounded.limits import (
    ERROR_BODY_S,
    MAX_ERROR_BYTES,
    MAX_EVENT_BYTES,
    MAX_LIST_BYTES,
    MAX_REQUEST_BYTES,
    TooMuch,
    mib,
)
from .bounded.listed import names_in
from .bounded.network import bound
from .http_errors import failure_of_excess, failure_of_status, failure_of_transport, hide_key
from .request import as_json

CONNECT_TIMEOUT_S: Final = 10.0
SILENCE_TIMEOUT_S: Final = 300.0
"""Silence before a failure: a local model may read a long prompt for minutes."""
STALL_TIMEOUT_S: Final = 600.0
"""How long a server may keep the connection alive without sending a part of the answer: the
headers, an event, or all of an answer that is not streamed."""

LINGER_S: Final = 2.0
"""The wait for usage and the last event after the reason to finish: some servers do not close."""

MAX_AMENDED: Final = 2
"""How often one request is changed and repeated: each API has two fields that servers refuse."""


class AnswerAssembler(Protocol):
    """Assembles one answer from its events, without any I/O; each provider has its own class.

    Attributes:
        finish_reason: why the model ended, in the provider's words; None before that.
        done: the answer is over.
    """

    finish_reason: str | None
    done: bool

    def event(self, data: str, kind: str) -> str:
        """Take one server-sent event and return its text, which is often empty.

        Raises:
            ModelError: it is an error, or no event of an answer. The server's fault.
            TooMuch: the answer is larger than is taken.
        """
        ...

    def whole(self, body: str) -> str | None:
        """Take a body that was not streamed and return its text, or None if it is no answer.

        Raises:
            ModelError: it is an error. The server's fault.
            TooMuch: the answer is larger than is taken.
        """
        ...

    def end(self) -> Iterator[Piece]:
        """The rest of the text, the tool calls, which are now whole, and the `Finish`."""
        ...


class ModelServer:
    """One server and a pool of connections to it: the common part of all models behind a server.

    Attributes:
        url: the server's address, without a user name and a password.
    """

    def __init__(
        self, base_url: str, *, headers: Mapping[str, str], key: str, set_by: SetBy
    ) -> None:
        """Prepare the requests; nothing is sent yet.

        Args:
            base_url: the common start of all paths. Its query is sent with each request: Azure
                wants one.
            headers: sent with each request.
            key: the secret in the headers, or an empty string; errors never show it.
            set_by: where the user sets the key and the address, for errors.
        """
        self._address, _, self._query = base_url.partition("?")
        self.url = without_login(self._address)
        self._key = key
        self._set_by = set_by
        self._known = False  # the server has answered before
        local = is_loopback(base_url)
        self._client = httpx.AsyncClient(
            headers={"Accept-Encoding": ACCEPTED, **headers},
            timeout=httpx.Timeout(SILENCE_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            trust_env=not local,  # a proxy cannot reach this machine's own servers
            # plain HTTP needs no certificates, and they take time to load
            verify=not (local and base_url.startswith("http://")),
        )
        bound(self._client)

    @property
    def is_closed(self) -> bool:
        """The connections have been closed."""
        return self._client.is_closed

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def offered(self) -> list[str]:
        """The names of the models that the server offers; empty if it does not say.

        Raises:
            ModelError: the server cannot be reached, or refuses the key.
        """
        async with self._request("GET", "/models") as response:
            if response.status_code in (401, 403):
                raise await self._refusal(response, "")
            with trio.move_on_after(STALL_TIMEOUT_S):
                body, whole = await read(response, MAX_LIST_BYTES)
                return names_in(body) if whole else []
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
        """Request one answer; see `Model.stream`.

        Args:
            path: the path below the server's address.
            body: the request; errors name its `model`.
            answer: assembles the answer.
            amend: gets the refusal of a request and returns another body to try, or None. Called at
                most `MAX_AMENDED` times.

        Raises:
            ModelError: on entry or during iteration.
        """
        async with AsyncExitStack() as stack:
            response = await self._taken(stack, path, body, amend)
            streamed = "text/event-stream" in response.headers.get("content-type", "")
            pieces = _streamed(response, answer) if streamed else self._whole(response, answer)
            yield await stack.enter_async_context(aclosing(pieces))

    async def _taken(
        self,
        stack: AsyncExitStack,
        path: str,
        body: dict[str, Any],
        amend: Callable[[ModelError], dict[str, Any] | None],
    ) -> httpx.Response:
        # the last try is outside of the loop, so that its refusal is raised
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
        """The response to a request that the server has accepted."""
        async with self._request("POST", path, content=await _encoded(body)) as response:
            if response.status_code != 200:
                raise await self._refusal(response, str(body["model"]))
            yield response

    @asynccontextmanager
    async def _request(self, method: str, path: str, **more: Any) -> AsyncGenerator[httpx.Response]:
        """One request; every failure until the block is left becomes a `ModelError`."""
        answering = False
        address = f"{self._address}{path}?{self._query}".rstrip("?")
        try:
            async with AsyncExitStack() as stack:
                response: httpx.Response | None = None
                try:
                    with trio.move_on_after(STALL_TIMEOUT_S):
                        response = await stack.enter_async_context(
                            self._client.stream(method, address, **more)
                        )
                except ValueError as error:  # httpx lets out what others say about some hosts
                    raise httpx.InvalidURL(str(error)) from error
                if response is None:
                    raise _stalled()
                self._known = True
                # from here on, a lost connection is an answer that broke off
                answering = response.status_code == 200
                yield response
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            failure = failure_of_transport(
                error,
                url=self.url,
                answering=answering,
                known=self._known,
                set_by=self._set_by,
            )
            hide_key(failure, self._key)
            raise failure from error
        except TooMuch as error:
            raise failure_of_excess(error, url=self.url, set_by=self._set_by) from error
        except ModelError as error:
            hide_key(error, self._key)
            raise

    async def _whole(
        self, response: httpx.Response, answer: AnswerAssembler
    ) -> AsyncGenerator[Piece]:
        """The pieces of an answer that is one JSON object, from a server that does not stream."""
        body: bytes | None = None
        with trio.move_on_after(STALL_TIMEOUT_S):
            body, is_all = await read(response, MAX_EVENT_BYTES)
            if not is_all:
                raise TooMuch(f"more than {mib(MAX_EVENT_BYTES)} and is not streamed")
        if body is None:
            raise _stalled()
        text = answer.whole(body.decode("utf-8", "replace"))
        if text is None:
            kind = quote(response.headers.get("content-type", "no content type"), 60)
            raise ModelError(
                "malformed",
                f"what {self.url} sent is no answer of a model ({kind});"
                f" check {self._set_by.address}",
            )
        for delta in in_pieces(text):
            yield TextDelta(delta)
            await trio.lowlevel.checkpoint()
        async for piece in _ending(answer):
            yield piece

    async def _refusal(self, response: httpx.Response, model: str) -> ModelError:
        body = b""
        # a refusal is told, even if the server never ends what it says about it
        with trio.move_on_after(ERROR_BODY_S), contextlib.suppress(httpx.HTTPError, TooMuch):
            body, _ = await read(response, MAX_ERROR_BYTES)
        return failure_of_status(
            response.status_code,
            response.headers,
            body,
            url=self.url,
            model=model,
            set_by=self._set_by,
        )


async def _encoded(body: dict[str, Any]) -> bytes:
    """The body of a request, made in steps: a conversation may have megabytes.

    Half a character, as of a text that was cut, is U+FFFD in it: no server takes one.

    Raises:
        ModelError: it is longer than any model reads, or cannot be written. The conversation's
            fault.
    """
    messages: list[msgspec.Raw] = []
    length = 0
    for message in body["messages"]:
        messages.append(msgspec.Raw(as_json(message)))
        length += len(bytes(messages[-1]))
        if length > MAX_REQUEST_BYTES:
            raise ModelError(
                "refused",
                f"the conversation has grown beyond {mib(MAX_REQUEST_BYTES)}, more than any model"
                " reads; begin a new one",
            )
        await trio.lowlevel.checkpoint()
    return as_json(body | {"messages": messages})


async def _streamed(response: httpx.Response, answer: AnswerAssembler) -> AsyncGenerator[Piece]:
    """The pieces of an answer that comes as server-sent events."""
    async with unwound(aiter(Events(response))) as events:
        while not answer.done and (event := await _next_event(events, answer)) is not None:
            text = answer.event(event.data, event.event) if event.data else ""
            for part in in_pieces(text):
                yield TextDelta(part)
                await trio.lowlevel.checkpoint()
    if answer.finish_reason is None and not answer.done:
        raise ModelError(
            "stream",
            "the model's answer broke off: the server ended it without saying why",
            transient=True,
        )
    async for piece in _ending(answer):
        yield piece


async def _ending(answer: AnswerAssembler) -> AsyncGenerator[Piece]:
    for piece in answer.end():
        # the arguments of each call are decoded here
        await trio.lowlevel.checkpoint()
        yield piece


async def _next_event(
    events: AsyncIterator[ServerSentEvent], answer: AnswerAssembler
) -> ServerSentEvent | None:
    """The next event, or None at the end.

    After the reason to finish, the answer is complete: a timeout or a lost connection is no error.
    """
    if answer.finish_reason is None:
        # httpx's own timeout begins again with every byte, also of comments between events
        with trio.move_on_after(STALL_TIMEOUT_S):
            return await anext(events, None)
        raise _stalled()
    try:
        with trio.move_on_after(LINGER_S):
            return await anext(events, None)
    except httpx.TransportError:
        pass
    return None


def _stalled() -> ModelError:
    return ModelError(
        "timeout", "the model server keeps the connection alive and says nothing", transient=True
    )
