"""Pure: `codex_responses`, the Responses API of OpenAI: a request is a list of items."""

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
from .blocks import as_blocks
from .chat_completions import function_of, raw_function


class CodexResponses(ModelApi):
    """A call of a tool is an item beside the model's text, and so a message of ours."""

    def read(self, request: Json) -> list[RequestPart]:
        """See `ModelApi`."""
        found: list[RequestPart] = []
        instructions = request.get("instructions")
        if instructions:
            system = Message(role="system", content=str(instructions))
            found.append(RequestPart(system, ({"instructions": instructions},)))
        # what the model thought belongs to the item behind it
        thoughts: list[Json] = []
        for item in _items(request):
            message = _message_of(item)
            if message is None:
                thoughts.append(item)
                continue
            found.append(RequestPart(message, (*thoughts, item)))
            thoughts.clear()
        if thoughts:
            found.append(RequestPart(Message(role="assistant", content=None), tuple(thoughts)))
        return found

    def made(self, message: Message) -> RequestPart:
        """See `ModelApi`."""
        if message.role == "system":
            return RequestPart(message, ({"instructions": message.content or ""},))
        if message.call_id is not None:
            output = {"call_id": message.call_id, "output": message.content or ""}
            return RequestPart(message, ({"type": "function_call_output", **output},))
        said = [{"role": message.role, "content": message.content}] if message.content else []
        calls = [
            {
                "type": "function_call",
                "call_id": call.call_id,
                "name": call.name,
                "arguments": json.dumps(call.arguments),
            }
            for call in message.tool_calls or []
        ]
        return RequestPart(message, (*said, *calls))

    def with_parts(self, request: Json, parts: Sequence[RequestPart]) -> Json:
        """See `ModelApi`."""
        raw = [one for part in parts for one in part.raw]
        system = [str(one["instructions"]) for one in raw if "instructions" in one]
        items = [one for one in raw if "instructions" not in one]
        return {**request, "instructions": joined("", system), "input": items}

    def tools(self, request: Json) -> list[Json]:
        """See `ModelApi`."""
        return request.get("tools") or []

    def tool_of(self, raw: Json) -> ModelTool:
        """See `ModelApi`."""
        return function_of(raw)

    def with_tools(self, request: Json, tools: Sequence[Json | ModelTool]) -> Json:
        """See `ModelApi`."""
        found = [
            {"type": "function", **raw_function(tool)} if isinstance(tool, ModelTool) else tool
            for tool in tools
        ]
        return {**request, "tools": found}

    def with_system(self, request: Json, texts: Sequence[str]) -> Json:
        """See `ModelApi`."""
        return {**request, "instructions": joined(request.get("instructions"), texts)}

    def with_notes(self, request: Json, texts: Sequence[str]) -> Json:
        """See `ModelApi`."""
        items = list(_items(request))
        before = items.pop() if items and items[-1].get("role") == "user" else {}
        content: object = before.get("content")
        more: object = joined(content, texts)
        if isinstance(content, list):
            added = [{"type": "input_text", "text": text} for text in texts]
            more = [*cast("list[object]", content), *added]
        return {**request, "input": [*items, {**before, "role": "user", "content": more}]}

    def completion(self, model: object, message: Message, finish_reason: str | None = None) -> Any:
        """See `ModelApi`."""
        text = SimpleNamespace(type="output_text", text=message.content)
        said = SimpleNamespace(
            type="message", role="assistant", status="completed", id="sliphook", content=[text]
        )
        calls = [
            SimpleNamespace(
                type="function_call",
                status="completed",
                id=None,
                call_id=call.call_id,
                name=call.name,
                arguments=json.dumps(call.arguments),
            )
            for call in message.tool_calls or []
        ]
        cut = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(
            finish_reason or ""
        )
        return SimpleNamespace(
            id="sliphook",
            model=model,
            status="completed" if cut is None else "incomplete",
            incomplete_details=SimpleNamespace(reason=cut) if cut is not None else None,
            error=None,
            usage=None,
            output=[*([said] if message.content else []), *calls],
            output_text=message.content or "",
        )

    def reply_of(self, response: Any) -> ModelReply | None:
        """See `ModelApi`."""
        if not isinstance(getattr(response, "output", None), list):
            return None
        items = as_blocks(response.output)
        texts = [
            str(part.text)
            for item in items
            if item.type == "message"
            for part in as_blocks(item.content)
            if getattr(part, "text", None)
        ]
        calls = [
            ToolCallRequest(
                call_id=str(item.call_id or ""),
                name=str(item.name or ""),
                arguments=arguments_of(item.arguments),
            )
            for item in items
            if item.type == "function_call"
        ]
        why = getattr(response, "status", None)
        return reply(response, "\n".join(texts), calls, why, ("input_tokens", "output_tokens"))


def _items(request: Json) -> list[Json]:
    return request.get("input") or []


def _message_of(item: Json) -> Message | None:
    call_id = str(item.get("call_id") or "")
    if item.get("type") == "function_call":
        call = ToolCallRequest(
            call_id=call_id,
            name=str(item.get("name") or ""),
            arguments=arguments_of(item.get("arguments")),
        )
        return Message(role="assistant", content=None, tool_calls=[call])
    if item.get("type") == "function_call_output":
        return Message(role="tool", content=text_of(item.get("output")) or None, call_id=call_id)
    if item.get("role") is None:
        return None
    return Message(role=str(item["role"]), content=text_of(item.get("content")) or None)
