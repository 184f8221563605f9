"""Pure: the messages of OpenAI's chat completions, as servers really send them.

Every field may be missing or null, and unknown fields may come. Values of any shape stay JSON text
(`Raw`): to decode them would make an object of every two bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, TypeVar

import msgspec

from sliphook.schemas import tool_for
from sliphook_sdk.protocol import Message, ModelTool, Part, ToolCallRequest, Usage

from .base import token_count
from .bounded.limits import MAX_PARTS, TooMuch
from .bounded.written import decode
from .echoed_fields import EchoedFields, EchoedFieldStore
from .request import NO_IMAGES, as_json, as_text, images_of

_T = TypeVar("_T")


ABSENT: Final = msgspec.Raw(b"null")


def is_there(raw: msgspec.Raw) -> bool:
    """The field was sent, and not as null."""
    return bytes(raw) != b"null"


class ErrorDetail(msgspec.Struct):
    """The object under `error`. Some servers send an HTTP status as `code`, others a word."""

    message: str | None = None
    type: str | None = None
    code: int | str | None = None


class Function(msgspec.Struct):
    """The function of a call. `arguments` is a piece of JSON text; some servers send the value."""

    name: str | None = None
    arguments: msgspec.Raw = ABSENT

    @property
    def written(self) -> str:
        """The arguments as a model writes them, or the next piece of that."""
        return text_of(self.arguments) if is_there(self.arguments) else ""


class CallPart(msgspec.Struct):
    """A part of one tool call; `index` says of which one, if the server sends it."""

    index: int | None = None
    id: str | None = None
    function: Function | None = None
    extra_content: msgspec.Raw = ABSENT


class ContentPart(msgspec.Struct):
    """One part of a content that is a list; parts without text are ignored."""

    text: str | None = None


class ChoiceDelta(msgspec.Struct):
    """The new part in a chunk, or the message of an answer that was not streamed.

    Reasoning is not shown, but sent back (see `echoed_fields`).
    """

    content: str | list[ContentPart] | None = None
    refusal: str | None = None
    tool_calls: list[CallPart] | None = None
    reasoning_content: msgspec.Raw = ABSENT
    reasoning_details: msgspec.Raw = ABSENT

    @property
    def text(self) -> str:
        """The text, which is often empty.

        Raises:
            TooMuch: it has more parts than are taken. The server's fault.
        """
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in counted(self.content))
        return self.content or self.refusal or ""


class Choice(msgspec.Struct):
    """One answer; only one is requested."""

    delta: ChoiceDelta | None = None
    message: ChoiceDelta | None = None
    finish_reason: str | None = None


class PromptTokens(msgspec.Struct):
    """How the tokens of the prompt divide."""

    cached_tokens: int | None = None


class CompletionUsage(msgspec.Struct):
    """The server's count."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: PromptTokens | None = None
    prompt_cache_hit_tokens: int | None = None

    @property
    def usage(self) -> Usage:
        """The same as the protocol's `Usage`."""
        cached = (
            self.prompt_tokens_details.cached_tokens
            if self.prompt_tokens_details
            else self.prompt_cache_hit_tokens
        )
        return Usage(
            input_tokens=token_count(self.prompt_tokens),
            output_tokens=token_count(self.completion_tokens),
            cached_tokens=token_count(cached),
        )


class Chunk(msgspec.Struct):
    """One event of a stream, one whole answer, or an error instead."""

    model: str | None = None
    choices: list[Choice] | None = None
    usage: CompletionUsage | None = None
    object: str | None = None
    error: ErrorDetail | str | None = None
    message: msgspec.Raw = ABSENT
    code: int | str | None = None
    detail: msgspec.Raw = ABSENT

    @property
    def failure(self) -> ErrorDetail | None:
        """The error in any shape that servers send, or None."""
        if isinstance(self.error, ErrorDetail):
            return self.error
        if self.error:
            return ErrorDetail(message=self.error, code=self.code)
        if self.object == "error" or (self.choices is None and is_there(self.message)):
            return ErrorDetail(message=text_of(self.message), code=self.code)
        if self.choices is None and is_there(self.detail):
            return ErrorDetail(message=text_of(self.detail))
        return None


def text_of(raw: msgspec.Raw) -> str:
    """A text; of any other value its JSON. FastAPI sends a text as its reason, or an object."""
    written = bytes(raw)
    if written[:1] == b'"':
        return msgspec.json.decode(written, type=str)
    return msgspec.json.format(written, indent=-1).decode()


def counted(parts: list[_T]) -> list[_T]:
    """The parts of one event.

    Raises:
        TooMuch: there are more than are taken. The server's fault.
    """
    if len(parts) > MAX_PARTS:
        raise TooMuch(f"more than {MAX_PARTS:,} parts in one event")
    return parts


_DECODER: msgspec.json.Decoder[Chunk | list[Chunk]] = msgspec.json.Decoder(
    Chunk | Annotated[list[Chunk], msgspec.Meta(min_length=1, max_length=1)], strict=False
)


def decode_chunk(data: str) -> tuple[Chunk | None, bool]:
    """`data` as a chunk, or None if it is none; and whether it has halves of characters.

    Google's servers put errors into a list.

    Raises:
        TooMuch: it has more objects than are taken. The server's fault.
    """
    decoded, marked = decode(_DECODER, data)
    return (decoded[0] if isinstance(decoded, list) else decoded), marked


def decode_error(body: bytes) -> ErrorDetail | None:
    """The error in a body, or None if there is none that can be read."""
    try:
        chunk, _ = decode_chunk(body.decode("utf-8", "replace"))
    except TooMuch:
        return None
    return chunk.failure if chunk is not None else None


def request_body(
    model: str,
    messages: Sequence[Message],
    tools: Sequence[ModelTool],
    echoed: EchoedFieldStore,
    *,
    usage: bool = True,
    images: bool = False,
) -> dict[str, Any]:
    """The body of a chat-completions request that asks for a stream.

    Its messages are written as they are taken, once: all calls of a long conversation take 50 ms.

    Args:
        model: the model's name.
        messages: the conversation, system text first.
        tools: the tools that the model may call.
        echoed: the fields that belong to earlier answers.
        usage: ask for the count of tokens at the end.
        images: send the images of tools' results.

    Raises:
        ModelError: as the messages are taken, see `as_json`.
    """
    body: dict[str, Any] = {
        "model": model,
        "messages": _wire_messages(messages, echoed, images=images),
        "stream": True,
    }
    if usage:
        body["stream_options"] = {"include_usage": True}
    if tools:  # some servers refuse an empty list
        body["tools"] = [_wire_tool(tool) for tool in tools]
    return body


def _wire_tool(tool: ModelTool) -> dict[str, Any]:
    description, schema = tool_for("openai", tool.description, tool.input_schema)
    return {
        "type": "function",
        "function": {"name": tool.name, "description": description, "parameters": schema},
    }


def _wire_call(call: ToolCallRequest, echoed: EchoedFields) -> dict[str, Any]:
    arguments = as_json(call.arguments).decode()
    wire = {
        "id": call.call_id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }
    extra_content = echoed.extra_content.get(call.call_id, echoed.unsigned)
    return wire if extra_content is None else wire | {"extra_content": extra_content}


def _wire_messages(
    messages: Sequence[Message], store: EchoedFieldStore, *, images: bool
) -> Iterator[dict[str, Any]]:
    waiting: list[dict[str, Any]] = []  # images: a tool's message holds texts alone
    for message in messages:
        # results stay together: servers want them right behind their calls
        if waiting and message.role != "tool":
            shown, waiting = waiting, []
            if message.role == "user":  # not every model takes two of them in a row
                text = {"type": "text", "text": message.content or ""}
                yield {"role": "user", "content": [*shown, text]}
                continue
            yield {"role": "user", "content": shown}
        yield _wire_message(message, store, images=images)
        if images:
            waiting += [_wire_image(part) for part in images_of(message)]
    if waiting:
        yield {"role": "user", "content": waiting}


def _wire_image(part: Part) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{part.mime_type};base64,{part.data}"}}


def _wire_message(message: Message, store: EchoedFieldStore, *, images: bool) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.parts:
        wire["content"] = as_text(message, "shown behind the results" if images else NO_IMAGES)
    if message.tool_calls:
        echoed = store.of(message)
        wire |= echoed.fields
        wire["tool_calls"] = [_wire_call(call, echoed) for call in message.tool_calls]
    elif message.content is None:
        wire["content"] = ""  # servers take null only beside tool calls
    if message.call_id is not None:
        wire["tool_call_id"] = message.call_id
    return wire
