"""Models of servers, and the clients that they share."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from sliphook.quoting import quote
from sliphook_sdk.protocol import Message, ModelRoute, ModelTool

from .address import Endpoint
from .anthropic import AnthropicModel
from .base import Model, ModelError, Piece
from .openai import OpenAIModel

Client = OpenAIModel | AnthropicModel

MAX_KEPT: Final = 8
"""Clients that are kept for the next call; each holds connections."""
_MAX_LISTED: Final = 8
_NAME_CHARS: Final = 64


class ClientPool:
    """The clients of an agent, one for each endpoint.

    One that is not in use is closed if `MAX_KEPT` others were used later.
    """

    def __init__(self) -> None:
        self._kept: dict[Endpoint, Client] = {}  # the last used is the last one
        self._users: dict[Endpoint, int] = {}

    @asynccontextmanager
    async def client(self, endpoint: Endpoint) -> AsyncGenerator[Client]:
        """The client of that endpoint, to be used inside the block.

        Raises:
            ModelError: the key cannot be sent in a header.
        """
        client = self._kept.pop(endpoint, None) or _client(endpoint)
        self._kept[endpoint] = client
        self._users[endpoint] = self._users.get(endpoint, 0) + 1
        try:
            yield client
        finally:
            self._users[endpoint] -= 1
            if not self._users[endpoint]:
                del self._users[endpoint]
            # looked for anew each time: others take clients while one is closed
            while len(self._kept) > MAX_KEPT and (idle := self._idle()) is not None:
                await self._kept.pop(idle).aclose()

    def _idle(self) -> Endpoint | None:
        return next((endpoint for endpoint in self._kept if endpoint not in self._users), None)

    async def aclose(self) -> None:
        """Close the clients; no call may be under way."""
        while self._kept:
            _, client = self._kept.popitem()
            await client.aclose()


class ServedModel:
    """A model of a server.

    Attributes:
        name: see `Model`; empty until the server has been asked for its only model.
        provider: the name of the provider in the user's settings; else what the server speaks.
        endpoint: the server.
        parameters: more fields of each request, unless a call has others.
        is_configured: the provider is one of the user's settings.
    """

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        pool: ClientPool,
        *,
        provider: str | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """Nothing is sent yet.

        Args:
            name: the model; "" for the only one of the server.
            endpoint: the server.
            pool: has the client; who made it closes it.
            provider: its name in the user's settings, or None.
            parameters: more fields of each request.
        """
        self.name = name
        self.provider: str = provider or endpoint.api
        self.endpoint = endpoint
        self.parameters = parameters
        self.is_configured = provider is not None
        self._pool = pool

    @asynccontextmanager
    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[ModelTool],
        *,
        model: str | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[AsyncIterator[Piece]]:
        """See `Model`.

        Raises:
            ModelError: on entry, also if no name is known and the server offers several models, or
                does not say.
        """
        async with self._pool.client(self.endpoint) as client:
            if not (model or self.name):
                self.name = _the_only(await client.offered(), self.endpoint)
            async with client.stream(
                messages,
                tools,
                model=model or self.name,
                parameters=self.parameters if parameters is None else parameters,
            ) as pieces:
                yield pieces

    async def aclose(self) -> None:
        """See `Model`: the pool has the connections."""


def route_of(model: Model) -> ModelRoute:
    """Where a call of the model goes, as plugins are told."""
    if not isinstance(model, ServedModel):
        return ModelRoute(provider=model.provider)
    return ModelRoute(
        provider=model.provider,
        base_url=model.endpoint.url,
        api=model.endpoint.api,
        parameters=dict(model.parameters) if model.parameters else None,
    )


def api_of(model: Model) -> str:
    """What the model's server speaks; of a model without a server its provider."""
    return model.endpoint.api if isinstance(model, ServedModel) else model.provider


def _client(endpoint: Endpoint) -> Client:
    make = AnthropicModel if endpoint.api == "anthropic" else OpenAIModel
    return make(
        "",
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        set_by=endpoint.set_by,
        images=endpoint.takes_images,
    )


def _the_only(offered: list[str], endpoint: Endpoint) -> str:
    if len(offered) == 1:
        return offered[0]
    names = (quote(name, _NAME_CHARS) for name in offered[:_MAX_LISTED])
    listed = ", ".join(names) + (", …" if len(offered) > _MAX_LISTED else "")
    has = (
        f"the server at {endpoint.url} offers {listed}"
        if offered
        else f"the server at {endpoint.url} does not say which models it offers"
    )
    raise ModelError("http", f"{has}; say which with {endpoint.set_by.model}")
