"""What the loop asks of a model client: the request, the pieces of an answer, and its failures."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Literal, Protocol, cast

import msgspec

from sliphook.errors import SliphookError
from sliphook.quoting import quote
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook_sdk.protocol import Message, ModelTool, Usage
from sliphook_sdk.protocol.weight import Weight, weigh

from .bounded.limits import (
    MAX_ANSWER_VALUES,
    MAX_NAME_CHARS,
    TooMuch,
)
from .bounded.written import without_halves

FailureKind = Literal[
    "connection", "timeout", "http", "refused", "rate_limited", "stream", "malformed"
]
"""What can fail in one attempt: the values of `llm_call_failed.kind` that a model client uses."""

MAX_QUOTED_CHARS: Final = 300
"""The longest quotation of a server or a model in an error."""


MAX_PIECE_CHARS: Final = 4 * 1024
"""The longest piece of an answer's text."""


class TextDelta(msgspec.Struct, frozen=True):
    """The next piece of the answer's text."""

    text: str


def in_pieces(text: str) -> Iterator[str]:
    """A text in pieces that are shown at once: for each, a display looks at every character."""
    for at in range(0, len(text), MAX_PIECE_CHARS):
        yield text[at : at + MAX_PIECE_CHARS]


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call, whole.

    Attributes:
        call_id: the model's id of the call, unique in the conversation.
        name: the tool that the model named; it may not exist.
        arguments: the arguments; empty if they cannot be read.
        unreadable: None, or what the model wrote instead of a JSON object. The loop answers such a
            call with a tool error.
    """

    call_id: str
    name: str
    arguments: dict[str, Any]
    unreadable: str | None = None


def read_calls(calls: Iterable[tuple[str, str, str]]) -> Iterator[ToolCall]:
    """Tool calls from triples of id, name and arguments as a model wrote them.

    A missing, repeated or endless id is replaced by a new one, and an endless name is cut.

    Raises:
        TooMuch: during iteration; all arguments together have more values than are taken.
    """
    taken: set[str] = set()
    values = 0
    for call_id, name, written in calls:
        values += _weight(written).values
        if values > MAX_ANSWER_VALUES:
            raise TooMuch(f"more than {MAX_ANSWER_VALUES:,} values in the arguments of its calls")
        # results are matched by id: two calls with one id would share a result
        usable = 0 < len(call_id) <= MAX_NAME_CHARS and call_id not in taken
        unique = call_id if usable else f"call_{secrets.token_hex(6)}"
        taken.add(unique)
        yield read_call(unique, cut_name(name), written)


def cut_name(name: str) -> str:
    """A name of a server or a model, cut so that no tool can have it."""
    return name if len(name) <= MAX_NAME_CHARS else name[: MAX_NAME_CHARS - 1] + "…"


def read_call(call_id: str, name: str, written: str) -> ToolCall:
    """A tool call from the text that the model wrote as its arguments; no text means `{}`."""
    if not written.strip():
        return ToolCall(call_id=call_id, name=name, arguments={})
    arguments = _arguments(written)
    if isinstance(arguments, dict):
        return ToolCall(call_id=call_id, name=name, arguments=cast("dict[str, Any]", arguments))
    return ToolCall(call_id=call_id, name=name, arguments={}, unreadable=written)


def why_unreadable(written: str) -> str:
    """What is wrong with arguments that cannot be read, in words for the model."""
    excess = _weight(written).excess
    if excess is not None:
        return f"are too much: {excess}; call it several times with less"
    return f"are no JSON object: {quote(written, MAX_QUOTED_CHARS)}"


def _weight(written: str) -> Weight:
    """What the arguments hold, before they are decoded; plugins are told of them within limits."""
    return weigh(written.encode("utf-8", "surrogatepass"))


def token_count(sent: int | None) -> int | None:
    """A server's count of tokens; None for one that no other language could read."""
    return sent if sent is not None and 0 <= sent < 2**53 else None


def _arguments(written: str) -> object:
    if _weight(written).excess is not None:
        return None
    try:
        return msgspec.json.decode(written)
    except DECODE_ERRORS:
        repaired = without_halves(written)
    try:
        return None if repaired is None else msgspec.json.decode(repaired)
    except DECODE_ERRORS:
        return None


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """The answer is complete. This is always the last piece.

    Attributes:
        reason: why the model ended, in the provider's words, or None.
        usage: tokens of this call.
        model: the server's name for the model that answered, or None.
    """

    reason: str | None = None
    usage: Usage = Usage()
    model: str | None = None


Piece = TextDelta | ToolCall | Finish
"""One piece of an answer. Texts come first, then calls, then one `Finish`."""


class Model(Protocol):
    """Something that continues a conversation.

    Attributes:
        name: the model that answers, unless a call names another one; empty if that is not known
            before the first call.
        provider: the server's kind, a short word for payloads.
    """

    name: str
    provider: str

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[ModelTool],
        *,
        model: str | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> AbstractAsyncContextManager[AsyncIterator[Piece]]:
        """Make one attempt at one answer.

        Use it as `async with model.stream(...) as pieces: async for piece in pieces: ...`. Leaving
        the block closes the connection at once, also on a cancel. The loop retries, not the model.

        Args:
            messages: the conversation, system text first.
            tools: the tools that the model may call.
            model: another model's name for this call only; None stands for `name`.
            parameters: more fields of the request, such as `temperature`, for this call only. They
                never replace what the client writes itself. None leaves it to the model.

        Raises:
            ModelError: on entry or during iteration. The server, the network or the settings are at
                fault.
        """
        ...

    async def aclose(self) -> None:
        """Close the model's connections."""
        ...


class ModelError(SliphookError):
    """An attempt to call a model failed; `str()` is one line for people.

    Attributes:
        kind: what failed.
        status: the HTTP status, or None.
        retry_after_s: how long the server asks the client to wait, or None.
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
