"""Pure: turns the events of Anthropic's messages API into pieces.

Text comes at once, tool calls when they are whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from sliphook.quoting import quote
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook_sdk.protocol import Usage

from .base import MAX_QUOTED_CHARS, Finish, ModelError, Piece, read_calls
from .openai_wire import ErrorDetail

_PASSING: Final = ("overloaded_error", "api_error", "rate_limit_error", "timeout_error")
"""Types of errors after which the same request may succeed later."""


class ContentBlock(msgspec.Struct):
    """A block of content. Blocks of thinking have other fields, which are not read."""

    type: str = ""
    text: str | None = None
    partial_json: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None


class AnthropicUsage(msgspec.Struct):
    """The server's count. `input_tokens` leaves out what it read from its cache or wrote there."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class AnthropicDelta(msgspec.Struct):
    """The next part of a block, or the last fields of the message."""

    type: str = ""
    text: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class AnthropicMessage(msgspec.Struct):
    """A message: empty at the start of a stream, whole if the server does not stream."""

    model: str | None = None
    content: list[ContentBlock] | None = None
    stop_reason: str | None = None
    usage: AnthropicUsage | None = None


class AnthropicEvent(AnthropicMessage):
    """One event of a stream, one whole message, or an error instead."""

    type: str = ""
    index: int | None = None
    message: AnthropicMessage | str | None = None
    content_block: ContentBlock | None = None
    delta: AnthropicDelta | None = None
    error: ErrorDetail | str | None = None


_DECODER = msgspec.json.Decoder(AnthropicEvent, strict=False)


class _OpenToolUse:
    """A tool call that is not complete yet."""

    def __init__(self, block: ContentBlock) -> None:
        self.block = block
        self.parts: list[str] = []

    @property
    def written(self) -> str:
        """The arguments as JSON; in an answer that was not streamed, the block holds them."""
        return "".join(self.parts) or (
            msgspec.json.encode(self.block.input).decode() if self.block.input else ""
        )


class MessageAssembler:
    """One answer of the messages API; see `AnswerAssembler` in `.http`."""

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self.done = False
        self._calls: list[_OpenToolUse] = []
        self._by_index: dict[int | None, _OpenToolUse] = {}
        self._tokens: dict[str, int] = {}
        self._model: str | None = None

    def event(self, data: str, kind: str) -> str:
        """See `AnswerAssembler.event`."""
        event = _decode(data)
        if event is None or kind == "error" or event.error is not None:
            raise _failure(event, data)
        if isinstance(event.message, AnthropicMessage):
            self._take(event.message)
        match event.type:
            case "content_block_start" if event.content_block is not None:
                return self._begin(event.index, event.content_block)
            case "content_block_delta" if event.delta is not None:
                # the server's own tools send such parts too, but their calls are not ours to run
                if event.delta.partial_json and event.index in self._by_index:
                    self._by_index[event.index].parts.append(event.delta.partial_json)
                return event.delta.text or ""
            case "message_delta":
                self._take(event)
                self.finish_reason = (
                    event.delta.stop_reason if event.delta else None
                ) or self.finish_reason
            case "message_stop":
                self.done = True
            case _:  # ping, content_block_stop, and events of a later API
                pass
        return ""

    def whole(self, body: bytes) -> str | None:
        """See `AnswerAssembler.whole`."""
        event = _decode(body)
        if event is not None and event.error is not None:
            raise _failure(event, "")
        if event is None or event.content is None:
            return None
        self._take(event)
        self.finish_reason = event.stop_reason
        return "".join([self._begin(None, block) for block in event.content])

    def end(self) -> Iterator[Piece]:
        """See `AnswerAssembler.end`."""
        yield from read_calls(
            (call.block.id or "", call.block.name or "", call.written) for call in self._calls
        )
        tokens = self._tokens
        read = [
            tokens[name]
            for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
            if name in tokens
        ]
        usage = Usage(
            input_tokens=sum(read) if read else None,
            output_tokens=tokens.get("output_tokens"),
            cached_tokens=tokens.get("cache_read_input_tokens"),
        )
        yield Finish(reason=self.finish_reason, usage=usage, model=self._model)

    def _begin(self, index: int | None, block: ContentBlock) -> str:
        if block.type == "tool_use":
            self._calls.append(_OpenToolUse(block))
            self._by_index[index] = self._calls[-1]
        return block.text or ""

    def _take(self, body: AnthropicMessage) -> None:
        """Keep the model's name and the tokens; the last count replaces earlier ones."""
        self._model = body.model or self._model
        if body.usage is not None:
            self._tokens |= {
                name: count
                for name, count in msgspec.structs.asdict(body.usage).items()
                if count is not None
            }


def _decode(data: bytes | str) -> AnthropicEvent | None:
    try:
        return _DECODER.decode(data)
    except DECODE_ERRORS:
        return None


def _failure(event: AnthropicEvent | None, data: str) -> ModelError:
    if event is None:
        return ModelError(
            "malformed",
            f"the model server sent an event that is no part of an answer: {quote(data, 80)}",
        )
    error = (
        event.error
        if isinstance(event.error, ErrorDetail)
        else ErrorDetail(message=event.error or data)
    )
    said = quote(error.message or error.type or "it does not say why", MAX_QUOTED_CHARS)
    transient = error.type is None or error.type in _PASSING
    return ModelError(
        "stream", f"the model server failed while it answered: {said}", transient=transient
    )
