"""The wire of OpenAI's chat completions as servers really send it: every field may be missing or null, and more may come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from sliphook.wire.decoding import DECODE_ERRORS
from sliphook_sdk.protocol import Message, ModelTool, ToolCallRequest, Usage

from .echoed_fields import EchoedFields, EchoedFieldStore


class ErrorDetail(msgspec.Struct):
    """The object under `error`. `code` is an HTTP status to some servers and a word to others."""

    message: str | None = None
    type: str | None = None
    code: int | str | None = None


class Function(msgspec.Struct):
    """What a tool call calls; `arguments` is a piece of JSON text, or to some servers the value itself."""

    name: str | None = None
    arguments: Any = None


class CallPart(msgspec.Struct):
    """A piece of one tool call; `index` says of which, where the server tells."""

    index: int | None = None
    id: str | None = None
    function: Function | None = None
    extra_content: Any = None


class ContentPart(msgspec.Struct):
    """One part of content that is a list; parts without text do not count."""

    text: str | None = None


class ChoiceDelta(msgspec.Struct):
    """What is new in a chunk, or the message of an answer that was not streamed.

    Reasoning is not shown (see `keepsake`).
    """

    content: str | list[ContentPart] | None = None
    refusal: str | None = None
    tool_calls: list[CallPart] | None = None
    reasoning_content: Any = None
    reasoning_details: list[Any] | dict[str, Any] | str | float | None = None

    @property
    def text(self) -> str:
        """The text in it, often none."""
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content)
        return self.content or self.refusal or ""


class Choice(msgspec.Struct):
    """One of the answers; only the first is asked for."""

    delta: ChoiceDelta | None = None
    message: ChoiceDelta | None = None
    finish_reason: str | None = None


class PromptTokens(msgspec.Struct):
    """How the prompt's tokens were come by."""

    cached_tokens: int | None = None


class CompletionUsage(msgspec.Struct):
    """The server's count."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: PromptTokens | None = None
    prompt_cache_hit_tokens: int | None = None

    @property
    def usage(self) -> Usage:
        """The same in the protocol's words."""
        cached = (
            self.prompt_tokens_details.cached_tokens
            if self.prompt_tokens_details
            else self.prompt_cache_hit_tokens
        )
        return Usage(
            input_tokens=self.prompt_tokens,
            output_tokens=self.completion_tokens,
            cached_tokens=cached,
        )


class Chunk(msgspec.Struct):
    """One event of a stream, one whole answer, or an error in the place of either."""

    model: str | None = None
    choices: list[Choice] | None = None
    usage: CompletionUsage | None = None
    object: str | None = None
    error: ErrorDetail | str | None = None
    message: Any = None
    code: int | str | None = None
    detail: Any = None

    @property
    def failure(self) -> ErrorDetail | None:
        """The error, in whichever shape the server sent it, or None."""
        if isinstance(self.error, ErrorDetail):
            return self.error
        if self.error:
            return ErrorDetail(message=self.error, code=self.code)
        if self.object == "error" or (self.choices is None and self.message is not None):
            return ErrorDetail(message=_text_of(self.message), code=self.code)
        if self.choices is None and self.detail is not None:
            return ErrorDetail(message=_text_of(self.detail))
        return None


def _text_of(value: Any) -> str:
    """What FastAPI and its like say is wrong: a text, or an object or a list with texts somewhere in it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


_DECODER: msgspec.json.Decoder[Chunk | list[Chunk]] = msgspec.json.Decoder(
    Chunk | Annotated[list[Chunk], msgspec.Meta(min_length=1, max_length=1)], strict=False
)


def decode_chunk(data: bytes | str) -> Chunk | None:
    """`data` as a chunk, or None where it is none. Google's servers put errors into a list."""
    try:
        decoded = _DECODER.decode(data)
    except DECODE_ERRORS:
        return None
    return decoded[0] if isinstance(decoded, list) else decoded


def request_body(
    model: str,
    messages: Sequence[Message],
    tools: Sequence[ModelTool],
    kept: EchoedFieldStore,
    *,
    usage: bool = True,
) -> dict[str, Any]:
    """The body of a chat-completions request that asks for a stream; with `usage`, for the count of tokens at its end."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [_wire_message(message, kept) for message in messages],
        "stream": True,
    }
    if usage:
        body["stream_options"] = {"include_usage": True}
    if tools:  # an empty list is an error to some servers
        body["tools"] = [_wire_tool(tool) for tool in tools]
    return body


def _wire_tool(tool: ModelTool) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.input_schema,
        },
    }


def _wire_call(call: ToolCallRequest, keepsake: EchoedFields) -> dict[str, Any]:
    arguments = msgspec.json.encode(call.arguments).decode()
    wire = {
        "id": call.call_id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }
    extra_content = keepsake.extra_content.get(call.call_id, keepsake.unsigned)
    return wire if extra_content is None else wire | {"extra_content": extra_content}


def _wire_message(message: Message, kept: EchoedFieldStore) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        keepsake = kept.of(message)
        wire |= keepsake.fields
        wire["tool_calls"] = [_wire_call(call, keepsake) for call in message.tool_calls]
    elif message.content is None:
        wire["content"] = ""  # null is taken only beside tool calls
    if message.call_id is not None:
        wire["tool_call_id"] = message.call_id
    return wire
