"""The client for servers that speak Anthropic's messages API."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from sliphook_sdk.protocol import Message, ModelTool

from .address import SetBy, usable_key
from .anthropic_request import message_request
from .anthropic_stream import MessageAssembler
from .base import ModelError, Piece
from .http import ModelServer
from .request import with_parameters

ANTHROPIC_BASE_URL: Final = "https://api.anthropic.com/v1"
SET_BY: Final = SetBy(key="SLIPHOOK_API_KEY or ANTHROPIC_API_KEY")

API_VERSION: Final = "2023-06-01"

MAX_TOKENS: Final = 32_000
"""The longest answer, a field that the API requires, unless the parameters say another one.

If a model takes fewer, its refusal names the limit, and the request is repeated with that.
"""

_OVER_THE_LIMIT: Final = re.compile(r"max_tokens: \d+ > (\d+)")


class AnthropicModel(ModelServer):
    """A model on a server of the messages API.

    It holds one pool of connections: make one for each conversation, and `aclose()` it.

    Attributes:
        name: the model that answers, unless a call names another one.
        provider: always `anthropic`.
        base_url: the server's address, with `/v1` at the end.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str = ANTHROPIC_BASE_URL,
        api_key: str | None = None,
        set_by: SetBy = SET_BY,
        images: bool = True,
    ) -> None:
        """Prepare the requests; nothing is sent yet.

        Args:
            name: the model.
            base_url: with `/v1` or without it; `/v1/messages` lies below it.
            api_key: sent as `x-api-key`; None sends no key.
            set_by: where the user sets these, for errors.
            images: send the images of tools' results; else the model reads that there are some.

        Raises:
            ModelError: the key cannot be sent in a header. The caller's fault.
        """
        self.name = name
        self.provider = "anthropic"
        self.base_url = (
            base_url.strip().rstrip("/").removesuffix("/messages").removesuffix("/v1") + "/v1"
        )
        self._limit = "", 0  # the model that has named one last, and how many tokens it answers
        self._images = images
        key = usable_key(api_key, set_by.key)
        headers = {"anthropic-version": API_VERSION} | ({"x-api-key": key} if key else {})
        super().__init__(self.base_url, headers=headers, key=key, set_by=set_by)

    @asynccontextmanager
    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[ModelTool],
        *,
        model: str | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[AsyncIterator[Piece]]:
        """See `Model.stream`. `max_tokens` is `MAX_TOKENS` if it is not among the parameters."""
        name = model or self.name

        def body() -> dict[str, Any]:
            asked = {"max_tokens": MAX_TOKENS, **(parameters or {})}
            limited, limit = self._limit
            if limited == name and isinstance(asked["max_tokens"], int):
                asked["max_tokens"] = min(asked["max_tokens"], limit)
            return with_parameters(
                message_request(name, messages, tools, images=self._images), asked
            )

        def amend(refusal: ModelError) -> dict[str, Any] | None:
            limit = _OVER_THE_LIMIT.search(refusal.message)
            if limit is None:
                return None
            self._limit = name, int(limit[1])
            return body()

        async with self.ask("/messages", body(), MessageAssembler(), amend=amend) as pieces:
            yield pieces
