"""Pure: `chat_completions`, the API that most servers speak."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

from sliphook_sdk.protocol import Message, ModelTool, ToolCallRequest

from .api import (
    Json,
    ModelApi,
    ModelReply,
    RequestPart,
    arguments_of,
    joined,
    reply,
    text_of,
)


class ChatCompletions(ModelApi):
    """Each message of a request is one of ours."""

    def read(self, request: Json) -> list[RequestPart]:
        """See `ModelApi`."""
        return [RequestPart(_message_of(raw), (raw,)) for raw in _messages(request)]

    def made(self, message: Message) -> RequestPart:
        """See `ModelApi`."""
        raw: Json = {"role": message.role, "content": message.content}
        if message.tool_calls:
            raw["tool_calls"] = [
                {
                    "id": call.call_id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for call in message.tool_calls
            ]
        if message.call_id is not None:
            raw["tool_call_id"] = message.call_id
        return RequestPart(message, (raw,))

    def with_parts(self, request: Json, parts: Sequence[RequestPart]) -> Json:
        """See `ModelApi`."""
        return {**request, "messages": [raw for part in parts for raw in part.raw]}

    def tools(self, request: Json) -> list[Json]:
        """See `ModelApi`."""
        return request.get("tools") or []

    def tool_of(self, raw: Json) -> ModelTool:
        """See `ModelApi`."""
        return function_of(cast("Json", raw.get("function") or raw))

    def with_tools(self, request: Json, tools: Sequence[Json | ModelTool]) -> Json:
        """See `ModelApi`."""
        found = [
            {"type": "function", "function": raw_function(tool)}
            if isinstance(tool, ModelTool)
            else tool
            for tool in tools
        ]
        return {**request, "tools": found}

    def with_system(self, request: Json, texts: Sequence[str]) -> Json:
        """See `ModelApi`."""
        messages = _messages(request)
        if messages and messages[0].get("role") == "system":
            return {**request, "messages": [_longer(messages[0], texts), *messages[1:]]}
        first = {"role": "system", "content": joined("", texts)}
        return {**request, "messages": [first, *messages]}

    def with_notes(self, request: Json, texts: Sequence[str]) -> Json:
        """See `ModelApi`."""
        messages = _messages(request)
        if messages and messages[-1].get("role") == "user":
            return {**request, "messages": [*messages[:-1], _longer(messages[-1], texts)]}
        last = {"role": "user", "content": joined("", texts)}
        return {**request, "messages": [*messages, last]}

    def completion(self, model: object, message: Message, finish_reason: str | None = None) -> Any:
        """See `ModelApi`."""
        return completion(model, message, finish_reason)

    def reply_of(self, response: Any) -> ModelReply | None:
        """See `ModelApi`."""
        return reply_of(response)


def function_of(function: Json) -> ModelTool:
    """A tool that is described as a function."""
    return ModelTool(
        name=str(function.get("name") or function.get("type") or ""),
        description=str(function.get("description") or ""),
        input_schema=cast("Json", function.get("parameters") or {"type": "object"}),
    )


def raw_function(tool: ModelTool) -> Json:
    """The description of a tool as a function."""
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
    }


def completion(model: object, message: Message, finish_reason: str | None) -> Any:
    """The answer of a server, as its client gives it to Hermes."""
    calls = [
        SimpleNamespace(
            id=call.call_id,
            type="function",
            function=SimpleNamespace(name=call.name, arguments=json.dumps(call.arguments)),
        )
        for call in message.tool_calls or []
    ]
    said = SimpleNamespace(
        role="assistant",
        content=message.content,
        tool_calls=calls or None,
        reasoning=None,
        reasoning_content=None,
        refusal=None,
    )
    why = finish_reason or ("tool_calls" if calls else "stop")
    choice = SimpleNamespace(index=0, finish_reason=why, message=said)
    return SimpleNamespace(id="sliphook", model=model, usage=None, choices=[choice])


def reply_of(response: Any) -> ModelReply | None:
    """What a server answered; None if it is no answer."""
    choices = getattr(response, "choices", None)
    if not choices:
        return None
    choice: Any = choices[0]
    said: Any = choice.message
    found: list[Any] = getattr(said, "tool_calls", None) or []
    calls = [
        ToolCallRequest(
            call_id=str(call.id or ""),
            name=str(call.function.name or ""),
            arguments=arguments_of(call.function.arguments),
        )
        for call in found
    ]
    why = getattr(choice, "finish_reason", None)
    names = ("prompt_tokens", "completion_tokens")
    return reply(response, text_of(said.content), calls, why, names)


def _messages(request: Json) -> list[Json]:
    return request.get("messages") or []


def _message_of(raw: Json) -> Message:
    calls = [_call_of(call) for call in cast("list[Json]", raw.get("tool_calls") or [])]
    call_id = raw.get("tool_call_id")
    return Message(
        role=str(raw.get("role") or "user"),
        content=text_of(raw.get("content")) or None,
        tool_calls=calls or None,
        call_id=str(call_id) if call_id is not None else None,
    )


def _call_of(raw: Json) -> ToolCallRequest:
    function: Json = raw.get("function") or {}
    return ToolCallRequest(
        call_id=str(raw.get("id") or ""),
        name=str(function.get("name") or ""),
        arguments=arguments_of(function.get("arguments")),
    )


def _longer(raw: Json, texts: Sequence[str]) -> Json:
    content = raw.get("content")
    if isinstance(content, list):
        added = [{"type": "text", "text": text} for text in texts]
        return {**raw, "content": [*cast("list[object]", content), *added]}
    return {**raw, "content": joined(content, texts)}
