"""The seam between the loop and whatever serves a model: what is asked, the pieces that come back, and how it fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Literal, Protocol

import msgspec

from sliphook.errors import SliphookError
from sliphook_sdk.protocol import Message, ModelTool, Usage

FailureKind = Literal[
    "connection", "timeout", "http", "refused", "rate_limited", "stream", "malformed"
]
"""What can go wrong in one attempt: the words of `llm_call_failed.kind` that a model may use."""

MAX_QUOTED_CHARS: Final = 300
"""How much of a server's or a model's own words is quoted in an error."""


class TextDelta(msgspec.Struct, frozen=True):
    """Some more of the answer's text."""

    text: str


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call, whole.

    Attributes:
        call_id: the model's id of the call, unique in the conversation.
        name: the tool that the model named, whether it exists or not.
        arguments: the arguments; empty where they could not be read.
        unreadable: None, or what the model wrote in place of a JSON object. The loop answers such a
            call with a tool error.
    """

    call_id: str
    name: str
    arguments: dict[str, Any]
    unreadable: str | None = None


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """The answer is complete; the last piece, always.

    Attributes:
        reason: why the model ended, in the provider's words, or None.
        usage: tokens of this call.
        model: the model that answered, as the server calls it, or None.
    """

    reason: str | None = None
    usage: Usage = Usage()
    model: str | None = None


Piece = TextDelta | ToolCall | Finish
"""What a model's answer is made of: texts as they come, then calls, then one `Finish`."""


class Model(Protocol):
    """Something that continues a conversation.

    Attributes:
        name: the model that is asked unless a call says otherwise.
        provider: who serves it, a short word for payloads.
    """

    name: str
    provider: str

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ModelTool], *, model: str | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[Piece]]:
        """One attempt at one answer: `async with model.stream(...) as pieces: async for piece in pieces: ...`.

        Leaving the block, also by cancellation, closes the connection at once. Nothing is retried
        here: that is the loop's.

        Args:
            messages: the conversation, system text first.
            tools: what the model may call.
            model: another model's name for this call only; None asks for `name`.

        Raises:
            ModelError: on entering or while iterating. It is the fault of the server, the network
                or the settings.
        """
        ...

    async def aclose(self) -> None:
        """Close what the model holds open."""
        ...


class ModelError(SliphookError):
    """An attempt to call a model failed; `str()` is one line for people.

    Attributes:
        kind: what failed.
        status: the HTTP status, where there was one.
        retry_after_s: how long the server asks to be left alone, where it says.
        transient: the same call may succeed later.
    """

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        transient: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.message = message
        self.status = status
        self.retry_after_s = retry_after_s
        self.transient = transient
