"""Pure: what the APIs of Anthropic and Bedrock have in common: messages are lists of blocks.

A result of a tool is a block of the user's message there; each is a message of ours.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple, cast

from sliphook_sdk.protocol import Message, ToolCallRequest

from .api import Json, ModelApi, RequestPart, text_of


class ToolBlock(NamedTuple):
    """A block that is the result of a tool."""

    call_id: str
    text: str


class BlockApi(ModelApi):
    """Reads and writes by the kinds of blocks that the API has."""

    @abstractmethod
    def text_block(self, text: str) -> Json:
        """A text."""

    @abstractmethod
    def call_block(self, call: ToolCallRequest) -> Json:
        """The model's call of a tool."""

    @abstractmethod
    def result_block(self, result: ToolBlock) -> Json:
        """What a tool gave."""

    @abstractmethod
    def call_of(self, block: Json) -> ToolCallRequest | None:
        """The call that a block is, if it is one."""

    @abstractmethod
    def result_of(self, block: Json) -> ToolBlock | None:
        """The result that a block is, if it is one."""

    def read(self, request: Json) -> list[RequestPart]:
        """See `ModelApi`."""
        system = request.get("system")
        found = [
            RequestPart(Message(role="system", content=text_of(system)), ({"system": system},))
        ]
        messages: list[Json] = request.get("messages") or []
        return [*(found if system else ()), *(one for raw in messages for one in self._split(raw))]

    def made(self, message: Message) -> RequestPart:
        """See `ModelApi`."""
        if message.role == "system":
            return RequestPart(message, ({"system": [self.text_block(message.content or "")]},))
        if message.call_id is not None:
            blocks = [self.result_block(ToolBlock(message.call_id, message.content or ""))]
            return RequestPart(message, ({"role": "user", "content": blocks},))
        blocks = [self.text_block(message.content)] if message.content else []
        blocks += [self.call_block(call) for call in message.tool_calls or []]
        return RequestPart(message, ({"role": message.role, "content": blocks},))

    def with_parts(self, request: Json, parts: Sequence[RequestPart]) -> Json:
        """See `ModelApi`."""
        raw = [one for part in parts for one in part.raw]
        system = [block for one in raw if "system" in one for block in self._blocks(one["system"])]
        messages: list[Json] = []
        for one in raw:
            if "system" in one:
                continue
            # they take turns in these APIs
            if messages and messages[-1]["role"] == one["role"]:
                one = {
                    **one,
                    "content": [
                        *self._blocks(messages.pop()["content"]),
                        *self._blocks(one["content"]),
                    ],
                }
            messages.append(one)
        wanted = {**request, "messages": messages}
        wanted.pop("system", None)
        return {**wanted, "system": system} if system else wanted

    def with_system(self, request: Json, texts: Sequence[str]) -> Json:
        """See `ModelApi`."""
        added = [self.text_block(text) for text in texts]
        return {**request, "system": [*self._blocks(request.get("system")), *added]}

    def with_notes(self, request: Json, texts: Sequence[str]) -> Json:
        """See `ModelApi`."""
        messages: list[Json] = list(request.get("messages") or [])
        before = messages.pop() if messages and messages[-1].get("role") == "user" else {}
        added = [self.text_block(text) for text in texts]
        last = {"role": "user", "content": [*self._blocks(before.get("content")), *added]}
        return {**request, "messages": [*messages, {**before, **last}]}

    def _blocks(self, content: object) -> list[Json]:
        if isinstance(content, str):
            return [self.text_block(content)] if content else []
        return cast("list[Json]", content) if isinstance(content, list) else []

    def _split(self, raw: Json) -> list[RequestPart]:
        role, content = str(raw.get("role") or "user"), raw.get("content")
        blocks = self._blocks(content)
        calls = [call for block in blocks if (call := self.call_of(block)) is not None]
        if isinstance(content, str) or role != "user":
            message = Message(role=role, content=text_of(content) or None, tool_calls=calls or None)
            return [RequestPart(message, (raw,))]
        found: list[RequestPart] = []
        for result, same in groupby(blocks, self.result_of):
            among = list(same)
            message = (
                Message(role=role, content=text_of(among) or None)
                if result is None
                else Message(role="tool", content=result.text or None, call_id=result.call_id)
            )
            found.append(RequestPart(message, ({**raw, "content": among},)))
        return found


def as_blocks(content: object) -> list[Any]:
    """The blocks of an answer."""
    found: Any = content
    return [*found] if isinstance(content, list) else []
