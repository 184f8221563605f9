"""The client for servers that speak OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from sliphook_sdk.protocol import Message, ModelTool

from .address import SetBy, host_of, usable_key
from .base import ModelError, Piece
from .echoed_fields import EchoedFieldStore
from .http import ModelServer
from .openai_stream import CompletionAssembler
from .openai_wire import request_body
from .request import with_parameters

OPENAI_BASE_URL: Final = "https://api.openai.com/v1"
SET_BY: Final = SetBy(key="SLIPHOOK_API_KEY or OPENAI_API_KEY")


class OpenAIModel(ModelServer):
    """A model on a chat-completions server.

    It holds one pool of connections: make one for each conversation, and `aclose()` it.

    Attributes:
        name: the model that answers, unless a call names another one.
        provider: always `openai`.
        base_url: the server's address, without a slash at the end.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str = OPENAI_BASE_URL,
        api_key: str | None = None,
        set_by: SetBy = SET_BY,
        images: bool = False,
    ) -> None:
        """Prepare the requests; nothing is sent yet.

        Args:
            name: the model.
            base_url: up to `/v1`; `/chat/completions` lies below it. A query moves behind the path.
            api_key: sent as a bearer token; None sends no key, as for local servers.
            set_by: where the user sets these, for errors.
            images: send the images of tools' results; else the model reads that there are some.

        Raises:
            ModelError: the key cannot be sent in a header. The caller's fault.
        """
        self.name = name
        self.provider = "openai"
        address, question, query = base_url.strip().partition("?")
        self.base_url = f"{address.rstrip('/').removesuffix('/chat/completions')}{question}{query}"
        self._usage_asked = True
        self._images = images
        self._echoed = EchoedFieldStore()
        key = usable_key(api_key, set_by.key)
        super().__init__(self.base_url, headers=key_headers(key, address), key=key, set_by=set_by)

    @asynccontextmanager
    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[ModelTool],
        *,
        model: str | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[AsyncIterator[Piece]]:
        """See `Model.stream`."""

        def body() -> dict[str, Any]:
            written = request_body(
                model or self.name,
                messages,
                tools,
                self._echoed,
                usage=self._usage_asked,
                images=self._images,
            )
            return with_parameters(written, parameters)

        def amend(refusal: ModelError) -> dict[str, Any] | None:
            if self._usage_asked and "stream_options" in refusal.message:
                # an older server refuses the field; its tokens stay unknown
                self._usage_asked = False
                return body()
            return body() if self._echoed.learn(refusal.message) else None

        answer = CompletionAssembler()
        async with self.ask("/chat/completions", body(), answer, amend=amend) as pieces:
            yield pieces
        # only after a whole answer: the calls of a broken one are not in the conversation
        self._echoed.keep(answer.call_ids, answer.echoed_fields)


def key_headers(key: str, address: str) -> dict[str, str]:
    """The headers that hold the key; Azure reads it from another one."""
    if not key:
        return {}
    is_azure = host_of(address).endswith(".azure.com")
    return {"Authorization": f"Bearer {key}"} | ({"api-key": key} if is_azure else {})
