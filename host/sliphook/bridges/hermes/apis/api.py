"""Pure: what the bridge needs of a model API: it reads and writes requests and answers."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, cast

import msgspec

from sliphook_sdk.protocol import Message, ModelTool, ToolCallRequest, Usage

Json = dict[str, Any]


class RequestPart(NamedTuple):
    """One message of a request.

    Attributes:
        message: as plugins are shown it.
        raw: what it stands for in the request.
    """

    message: Message
    raw: tuple[Json, ...]


class ModelReply(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a model call.

    Attributes:
        message: the model's message.
        finish_reason: why it ended, in the API's word.
        usage: the tokens.
        model: who answered, as the server says.
    """

    message: Message
    finish_reason: str | None
    usage: Usage
    model: str | None


class ModelApi(ABC):
    """One API.

    Attributes:
        model_key: where a request names its model.
    """

    model_key: ClassVar[str] = "model"

    @abstractmethod
    def read(self, request: Json) -> list[RequestPart]:
        """The messages of a request, the system text among them."""

    @abstractmethod
    def made(self, message: Message) -> RequestPart:
        """A message that a plugin has written."""

    @abstractmethod
    def with_parts(self, request: Json, parts: Sequence[RequestPart]) -> Json:
        """The request, with these messages."""

    @abstractmethod
    def tools(self, request: Json) -> list[Json]:
        """The tools of a request, as they are there."""

    @abstractmethod
    def tool_of(self, raw: Json) -> ModelTool:
        """One of them, as plugins are shown it."""

    @abstractmethod
    def with_tools(self, request: Json, tools: Sequence[Json | ModelTool]) -> Json:
        """The request, with these tools, some of which a plugin has written."""

    @abstractmethod
    def with_system(self, request: Json, texts: Sequence[str]) -> Json:
        """The request, with texts behind the system text; some."""

    @abstractmethod
    def with_notes(self, request: Json, texts: Sequence[str]) -> Json:
        """The request, with texts for this call, some: in the user's message if it is the last one.

        Two messages of the user in a row are refused by some providers.
        """

    @abstractmethod
    def completion(self, model: object, message: Message, finish_reason: str | None = None) -> Any:
        """A message as the answer of a server, for Hermes to read."""

    @abstractmethod
    def reply_of(self, response: Any) -> ModelReply | None:
        """What a server answered; None if it is no answer."""

    def exchanged(
        self, request: Json, before: Sequence[RequestPart], after: Sequence[Message]
    ) -> Json:
        """The request, with the messages that plugins left as they were there, and the others.

        Args:
            request: the request.
            before: its messages.
            after: as they are wanted.
        """
        if [part.message for part in before] == after:
            return request
        found: list[RequestPart] = []
        at = 0
        for message in after:
            same = next((k for k in range(at, len(before)) if before[k].message == message), None)
            found.append(self.made(message) if same is None else before[same])
            at = at if same is None else same + 1
        return self.with_parts(request, found)

    def tools_exchanged(
        self, request: Json, before: Sequence[ModelTool], after: Sequence[ModelTool]
    ) -> Json:
        """The same for the tools."""
        if before == after:
            return request
        raw = self.tools(request)
        kept = {tool.name: k for k, tool in enumerate(before)}
        return self.with_tools(
            request,
            [
                raw[kept[tool.name]]
                if tool.name in kept and before[kept[tool.name]] == tool
                else tool
                for tool in after
            ],
        )


def text_of(content: object) -> str:
    """The text of a message's content; of parts, the texts among them."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = cast("list[object]", content)
    texts = [
        part.get("text")
        for part in (cast("Json", one) for one in parts if isinstance(one, dict))
        if part.get("type", "text") in ("text", "input_text", "output_text")
    ]
    return "\n".join(text for text in texts if isinstance(text, str))


def arguments_of(raw: object) -> Json:
    """The arguments of a call as an object; those that are none are empty."""
    try:
        value = json.loads(raw) if isinstance(raw, str) else raw
    except (ValueError, RecursionError):
        return {}
    return cast("Json", value) if isinstance(value, dict) else {}


def joined(text: object, texts: Sequence[str]) -> str:
    """A text, if it is one, with others behind it."""
    return "\n\n".join([*([text] if isinstance(text, str) and text else []), *texts])


def usage_of(usage: object, given: str, made: str) -> Usage:
    """The tokens of an answer, by the names that the API has for them."""
    return Usage(input_tokens=_count(usage, given), output_tokens=_count(usage, made))


def _count(usage: object, name: str) -> int | None:
    value: object = (
        cast("Mapping[str, object]", usage).get(name)
        if isinstance(usage, Mapping)
        else getattr(usage, name, None)
    )
    return value if isinstance(value, int) else None


def reply(
    response: object,
    text: str,
    calls: list[ToolCallRequest],
    finish_reason: object,
    tokens: tuple[str, str],
) -> ModelReply:
    """What a response says; `tokens`: the API's names for those that it was given, and has made."""
    return ModelReply(
        message=Message(role="assistant", content=text or None, tool_calls=calls or None),
        finish_reason=word(finish_reason),
        usage=usage_of(getattr(response, "usage", None), *tokens),
        model=word(getattr(response, "model", None)),
    )


def word(value: object) -> str | None:
    """A text of a server, such as the model's name; None if it is none."""
    return value if isinstance(value, str) else None
