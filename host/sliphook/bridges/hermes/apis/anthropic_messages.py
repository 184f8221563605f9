"""Pure: `anthropic_messages`, the API of Anthropic and of those that speak like it."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Final, cast

from sliphook_sdk.protocol import Message, ModelTool, ToolCallRequest

from .api import Json, ModelReply, arguments_of, reply, text_of
from .blocks import BlockApi, ToolBlock, as_blocks

_STOP_REASONS: Final = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}
"""Its words for those of `chat_completions`."""


class AnthropicMessages(BlockApi):
    """Blocks say their `type`."""

    def text_block(self, text: str) -> Json:
        """See `BlockApi`."""
        return {"type": "text", "text": text}

    def call_block(self, call: ToolCallRequest) -> Json:
        """See `BlockApi`."""
        return {"type": "tool_use", "id": call.call_id, "name": call.name, "input": call.arguments}

    def result_block(self, result: ToolBlock) -> Json:
        """See `BlockApi`."""
        return {"type": "tool_result", "tool_use_id": result.call_id, "content": result.text}

    def call_of(self, block: Json) -> ToolCallRequest | None:
        """See `BlockApi`."""
        if block.get("type") != "tool_use":
            return None
        return ToolCallRequest(
            call_id=str(block.get("id") or ""),
            name=str(block.get("name") or ""),
            arguments=arguments_of(block.get("input")),
        )

    def result_of(self, block: Json) -> ToolBlock | None:
        """See `BlockApi`."""
        if block.get("type") != "tool_result":
            return None
        return ToolBlock(str(block.get("tool_use_id") or ""), text_of(block.get("content")))

    def tools(self, request: Json) -> list[Json]:
        """See `ModelApi`."""
        return request.get("tools") or []

    def tool_of(self, raw: Json) -> ModelTool:
        """See `ModelApi`."""
        return ModelTool(
            name=str(raw.get("name") or ""),
            description=str(raw.get("description") or ""),
            input_schema=cast("Json", raw.get("input_schema") or {"type": "object"}),
        )

    def with_tools(self, request: Json, tools: Sequence[Json | ModelTool]) -> Json:
        """See `ModelApi`."""
        found: list[Json] = [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.input_schema,
            }
            if isinstance(tool, ModelTool)
            else tool
            for tool in tools
        ]
        return {**request, "tools": found}

    def completion(self, model: object, message: Message, finish_reason: str | None = None) -> Any:
        """See `ModelApi`."""
        text = [SimpleNamespace(type="text", text=message.content)] if message.content else []
        calls = [
            SimpleNamespace(type="tool_use", id=call.call_id, name=call.name, input=call.arguments)
            for call in message.tool_calls or []
        ]
        why = finish_reason or ("tool_calls" if calls else "stop")
        return SimpleNamespace(
            id="sliphook",
            type="message",
            role="assistant",
            model=model,
            content=[*text, *calls],
            stop_reason=_STOP_REASONS.get(why, why),
            usage=None,
        )

    def reply_of(self, response: Any) -> ModelReply | None:
        """See `ModelApi`."""
        if not isinstance(getattr(response, "content", None), list):
            return None
        blocks = as_blocks(response.content)
        texts = [str(block.text) for block in blocks if block.type == "text"]
        calls = [
            ToolCallRequest(
                call_id=str(block.id or ""),
                name=str(block.name or ""),
                arguments=arguments_of(block.input),
            )
            for block in blocks
            if block.type == "tool_use"
        ]
        why = getattr(response, "stop_reason", None)
        return reply(response, "\n".join(texts), calls, why, ("input_tokens", "output_tokens"))
