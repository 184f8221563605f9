"""Pure: messages, tools and answers of `chat_completions`, in the protocol's shapes and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import msgspec

from sliphook_sdk.protocol import Message, ModelTool, ToolCallRequest, Usage

Json = dict[str, Any]


class ModelReply(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a model call.

    Attributes:
        message: the model's message.
        finish_reason: why it ended.
        usage: the tokens.
        model: who answered, as the server says.
    """

    message: Message
    finish_reason: str | None
    usage: Usage
    model: str | None


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
        if part.get("type") in ("text", "input_text")
    ]
    return "\n".join(text for text in texts if isinstance(text, str))


def arguments_of(raw: object) -> Json:
    """The arguments of a call as an object; those that are none are empty."""
    try:
        value = json.loads(raw) if isinstance(raw, str) else raw
    except ValueError:
        return {}
    return cast("Json", value) if isinstance(value, dict) else {}


def message_of(raw: Json) -> Message:
    """A message of a request."""
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


def tool_of(raw: Json) -> ModelTool:
    """A tool of a request."""
    function = cast("Json", raw.get("function") or raw)
    return ModelTool(
        name=str(function.get("name") or ""),
        description=str(function.get("description") or ""),
        input_schema=cast("Json", function.get("parameters") or {"type": "object"}),
    )


def put_back(
    raw: Sequence[Json], before: Sequence[Message], after: Sequence[Message]
) -> list[Json]:
    """The messages that plugins left, as Hermes had them, with those that they changed.

    Args:
        raw: the messages of the request.
        before: the same, as the plugins were given them.
        after: as they are wanted.
    """
    found: list[Json] = []
    at = 0
    for message in after:
        same = next((k for k in range(at, len(before)) if before[k] == message), None)
        if same is None:
            found.append(_raw_message(message))
        else:
            found.append(raw[same])
            at = same + 1
    return found


def tools_put_back(
    raw: Sequence[Json], before: Sequence[ModelTool], after: Sequence[ModelTool]
) -> list[Json]:
    """The same for the tools."""
    kept = {tool.name: k for k, tool in enumerate(before)}
    return [
        raw[kept[tool.name]]
        if tool.name in kept and before[kept[tool.name]] == tool
        else {"type": "function", "function": _function(tool)}
        for tool in after
    ]


def with_system(messages: Sequence[Json], texts: Sequence[str]) -> list[Json]:
    """The messages, with texts behind the system message; one is made if there is none."""
    if not texts:
        return list(messages)
    if messages and messages[0].get("role") == "system":
        first = messages[0]
        return [{**first, "content": _joined(first.get("content"), texts)}, *messages[1:]]
    return [{"role": "system", "content": "\n\n".join(texts)}, *messages]


def with_notes(messages: Sequence[Json], texts: Sequence[str]) -> list[Json]:
    """The messages, with texts for this call: in the user's last message if that is the last one.

    Two messages of the user in a row are refused by some providers.
    """
    if not texts:
        return list(messages)
    if messages and messages[-1].get("role") == "user":
        last = messages[-1]
        return [*messages[:-1], {**last, "content": _joined(last.get("content"), texts)}]
    return [*messages, {"role": "user", "content": "\n\n".join(texts)}]


def completion(model: object, message: Message, finish_reason: str | None = None) -> Any:
    """A message as the answer of a server, for Hermes to read."""
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
    usage = getattr(response, "usage", None)
    why, model = getattr(choice, "finish_reason", None), getattr(response, "model", None)
    return ModelReply(
        message=Message(
            role="assistant", content=text_of(said.content) or None, tool_calls=calls or None
        ),
        finish_reason=str(why) if why is not None else None,
        usage=Usage(
            input_tokens=_count(usage, "prompt_tokens"),
            output_tokens=_count(usage, "completion_tokens"),
        ),
        model=model if isinstance(model, str) else None,
    )


def _count(usage: object, name: str) -> int | None:
    value: object = (
        cast("Mapping[str, object]", usage).get(name)
        if isinstance(usage, Mapping)
        else getattr(usage, name, None)
    )
    return value if isinstance(value, int) else None


def _joined(content: object, texts: Sequence[str]) -> object:
    if isinstance(content, list):
        added = [{"type": "text", "text": text} for text in texts]
        return [*cast("list[object]", content), *added]
    return "\n\n".join([*([content] if isinstance(content, str) and content else []), *texts])


def _function(tool: ModelTool) -> Json:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
    }


def _raw_message(message: Message) -> Json:
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
    return raw
