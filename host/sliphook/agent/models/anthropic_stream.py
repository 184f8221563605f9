"""Pure: turns the events of Anthropic's messages API into pieces.

Text comes at once, tool calls when they are whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from sliphook.quoting import quote
from sliphook_sdk.protocol import Usage

from .base import (
    MAX_QUOTED_CHARS,
    Finish,
    ModelError,
    Piece,
    TextDelta,
    cut_name,
    read_calls,
    token_count,
)
from .bounded.limits import MAX_TOOL_CALLS, TooMuch
from .bounded.written import Budget, Halves, arguments, decode, settled
from .openai_wire import ABSENT, ErrorDetail, counted, is_there, text_of

_PASSING: Final = ("overloaded_error", "api_error", "rate_limit_error", "timeout_error")
"""Types of errors after which the same request may succeed later."""


class ContentBlock(msgspec.Struct):
    """A block of content. Blocks of thinking have other fields, which are not read."""

    type: str = ""
    text: str | None = None
    partial_json: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = ABSENT


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

    def __init__(self, block: ContentBlock, budget: Budget, marked: bool) -> None:
        self.call_id = settled(block.id or "", marked)
        self.name = settled(block.name or "", marked)
        self.parts = arguments(budget)
        self.at_once = arguments(budget)

    @property
    def written(self) -> str:
        """The arguments as JSON; in an answer that was not streamed, the block holds them."""
        return str(self.parts) or str(self.at_once)


class MessageAssembler:
    """One answer of the messages API; see `AnswerAssembler` in `.http`."""

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self.done = False
        self._budget = Budget()
        self._text = Halves()
        self._calls: list[_OpenToolUse] = []
        self._by_index: dict[int | None, _OpenToolUse] = {}
        self._tokens: dict[str, int] = {}
        self._model: str | None = None

    def event(self, data: str, kind: str) -> str:
        """See `AnswerAssembler.event`."""
        event, marked = decode(_DECODER, data)
        if event is None or kind == "error" or event.error is not None:
            raise _failure(event, data)
        if isinstance(event.message, AnthropicMessage):
            self._take(event.message)
        match event.type:
            case "content_block_start" if event.content_block is not None:
                return self._begin(event.index, event.content_block, marked)
            case "content_block_delta" if event.delta is not None:
                # the server's own tools send such parts too, but their calls are not ours to run
                if event.delta.partial_json and event.index in self._by_index:
                    self._by_index[event.index].parts.add(event.delta.partial_json, marked)
                return self._say(event.delta.text, marked)
            case "message_delta":
                self._take(event)
                if event.delta is not None and event.delta.stop_reason:
                    self.finish_reason = cut_name(event.delta.stop_reason)
            case "message_stop":
                self.done = True
            case _:  # ping, content_block_stop, and events of a later API
                pass
        return ""

    def whole(self, body: str) -> str | None:
        """See `AnswerAssembler.whole`."""
        event, marked = decode(_DECODER, body)
        if event is not None and event.error is not None:
            raise _failure(event, "")
        if event is None or event.content is None:
            return None
        self._take(event)
        self.finish_reason = cut_name(event.stop_reason) if event.stop_reason else None
        return "".join([self._begin(None, block, marked) for block in counted(event.content)])

    def end(self) -> Iterator[Piece]:
        """See `AnswerAssembler.end`."""
        if rest := self._text.end():
            yield TextDelta(rest)
        yield from read_calls((call.call_id, call.name, call.written) for call in self._calls)
        tokens = self._tokens
        read = [
            tokens[name]
            for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
            if name in tokens
        ]
        usage = Usage(
            input_tokens=token_count(sum(read)) if read else None,
            output_tokens=token_count(tokens.get("output_tokens")),
            cached_tokens=token_count(tokens.get("cache_read_input_tokens")),
        )
        yield Finish(reason=self.finish_reason, usage=usage, model=self._model)

    def _begin(self, index: int | None, block: ContentBlock, marked: bool) -> str:
        if block.type == "tool_use":
            if len(self._calls) == MAX_TOOL_CALLS:
                raise TooMuch(f"more than {MAX_TOOL_CALLS} tool calls in one answer")
            call = _OpenToolUse(block, self._budget, marked)
            if is_there(block.input):
                call.at_once.add(text_of(block.input), marked)
            self._calls.append(call)
            self._by_index[index] = call
        return self._say(block.text, marked)

    def _say(self, text: str | None, marked: bool) -> str:
        if not text:
            return ""
        self._budget.take(len(text))
        return self._text.add(text, marked)

    def _take(self, body: AnthropicMessage) -> None:
        """Keep the model's name and the tokens; the last count replaces earlier ones."""
        self._model = cut_name(body.model) if body.model else self._model
        if body.usage is not None:
            self._tokens |= {
                name: count
                for name, count in msgspec.structs.asdict(body.usage).items()
                if count is not None
            }


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
