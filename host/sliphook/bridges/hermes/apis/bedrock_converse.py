"""Pure: `bedrock_converse`. Hermes itself turns its answers into those of `chat_completions`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from sliphook_sdk.protocol import Message, ModelTool, ToolCallRequest

from .api import Json, ModelReply, arguments_of, text_of
from .blocks import BlockApi, ToolBlock
from .chat_completions import completion, reply_of


class BedrockConverse(BlockApi):
    """A block is an object with one key."""

    model_key: ClassVar[str] = "modelId"

    def text_block(self, text: str) -> Json:
        """See `BlockApi`."""
        return {"text": text}

    def call_block(self, call: ToolCallRequest) -> Json:
        """See `BlockApi`."""
        return {"toolUse": {"toolUseId": call.call_id, "name": call.name, "input": call.arguments}}

    def result_block(self, result: ToolBlock) -> Json:
        """See `BlockApi`."""
        return {
            "toolResult": {"toolUseId": result.call_id, "content": [self.text_block(result.text)]}
        }

    def call_of(self, block: Json) -> ToolCallRequest | None:
        """See `BlockApi`."""
        call: Json | None = block.get("toolUse")
        if call is None:
            return None
        return ToolCallRequest(
            call_id=str(call.get("toolUseId") or ""),
            name=str(call.get("name") or ""),
            arguments=arguments_of(call.get("input")),
        )

    def result_of(self, block: Json) -> ToolBlock | None:
        """See `BlockApi`."""
        result: Json | None = block.get("toolResult")
        if result is None:
            return None
        return ToolBlock(str(result.get("toolUseId") or ""), text_of(result.get("content")))

    def tools(self, request: Json) -> list[Json]:
        """See `ModelApi`."""
        config: Json = request.get("toolConfig") or {}
        return config.get("tools") or []

    def tool_of(self, raw: Json) -> ModelTool:
        """See `ModelApi`."""
        tool: Json = raw.get("toolSpec") or {}
        schema: Json = tool.get("inputSchema") or {}
        return ModelTool(
            name=str(tool.get("name") or ""),
            description=str(tool.get("description") or ""),
            input_schema=cast("Json", schema.get("json") or {"type": "object"}),
        )

    def with_tools(self, request: Json, tools: Sequence[Json | ModelTool]) -> Json:
        """See `ModelApi`."""
        found: list[Json] = [
            {
                "toolSpec": {
                    "name": tool.name,
                    "description": tool.description,
                    "inputSchema": {"json": tool.input_schema},
                }
            }
            if isinstance(tool, ModelTool)
            else tool
            for tool in tools
        ]
        before: Json = request.get("toolConfig") or {}
        return {**request, "toolConfig": {**before, "tools": found}}

    def completion(self, model: object, message: Message, finish_reason: str | None = None) -> Any:
        """See `ModelApi`."""
        return completion(model, message, finish_reason)

    def reply_of(self, response: Any) -> ModelReply | None:
        """See `ModelApi`."""
        return reply_of(response)
