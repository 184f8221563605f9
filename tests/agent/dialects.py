"""The same answers of a model server, in the events of each of the two providers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from sliphook.agent.models.anthropic import AnthropicModel
from sliphook.agent.models.base import Model
from sliphook.agent.models.openai import OpenAIModel
from tests.agent.loopback import event


@dataclass(frozen=True)
class Call:
    """A tool call, with its arguments as the model wrote them."""

    call_id: str
    name: str
    arguments: str


class Dialect(Protocol):
    """How one provider's servers speak."""

    name: ClassVar[str]
    path: ClassVar[str]
    key_header: ClassVar[tuple[str, str]]
    key_names: ClassVar[str]
    reasons: ClassVar[dict[str, str]]

    def model(self, base_url: str, key: str | None = None) -> Model: ...

    def start(self) -> bytes:
        """What comes before the first word."""
        ...

    def words(self, *words: str) -> bytes: ...

    def calls(self, *calls: Call, cut: int = 3) -> bytes:
        """Tool calls after text, their arguments in pieces of `cut` characters."""
        ...

    def finish(self, reason: str) -> bytes:
        """Why it ended (`stop`, `calls` or `length`), and its usage; without a closing message.

        The usage is 10 tokens read, 4 of them from a cache, and 2 written.
        """
        ...

    def last(self) -> bytes:
        """The last word."""
        ...

    def whole(self, text: str, call: Call) -> bytes:
        """An answer that is not streamed."""
        ...

    def error(self, message: str, kind: str) -> bytes:
        """The body of a failed request."""
        ...

    def error_event(self, message: str, kind: str) -> bytes: ...


class OpenAI:
    name: ClassVar[str] = "openai"
    path: ClassVar[str] = "/v1/chat/completions"
    key_header: ClassVar[tuple[str, str]] = ("authorization", "Bearer sk-12345678-secret")
    key_names: ClassVar[str] = "SLIPHOOK_API_KEY or OPENAI_API_KEY"
    reasons: ClassVar[dict[str, str]] = {"stop": "stop", "calls": "tool_calls", "length": "length"}

    def model(self, base_url: str, key: str | None = None) -> Model:
        return OpenAIModel("m-1", base_url=base_url, api_key=key)

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
        return event(
            {
                "model": "m-1",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
            }
        )

    def start(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def words(self, *words: str) -> bytes:
        return b"".join(self._chunk({"content": word}) for word in words)

    def calls(self, *calls: Call, cut: int = 3) -> bytes:
        sent = b""
        for index, call in enumerate(calls):
            head = {
                "index": index,
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": ""},
            }
            sent += self._chunk({"tool_calls": [head]})
            for at in range(0, len(call.arguments), cut):
                sent += self._chunk(
                    {
                        "tool_calls": [
                            {
                                "index": index,
                                "function": {"arguments": call.arguments[at : at + cut]},
                            }
                        ]
                    }
                )
        return sent

    def finish(self, reason: str) -> bytes:
        usage = {
            "prompt_tokens": 10,
            "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": 4},
        }
        return self._chunk({}, self.reasons[reason]) + event(
            {"model": "m-1", "choices": [], "usage": usage}
        )

    def last(self) -> bytes:
        return b"data: [DONE]\n\n"

    def whole(self, text: str, call: Call) -> bytes:
        tool_call = {
            "id": call.call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        message = {"role": "assistant", "content": text, "tool_calls": [tool_call]}
        usage = {
            "prompt_tokens": 10,
            "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": 4},
        }
        return json.dumps(
            {
                "model": "m-1",
                "choices": [{"message": message, "finish_reason": "tool_calls"}],
                "usage": usage,
            }
        ).encode()

    def error(self, message: str, kind: str) -> bytes:
        return json.dumps({"error": {"message": message, "type": kind, "code": None}}).encode()

    def error_event(self, message: str, kind: str) -> bytes:
        return event({"error": {"message": message, "type": kind}})


class Anthropic:
    name: ClassVar[str] = "anthropic"
    path: ClassVar[str] = "/v1/messages"
    key_header: ClassVar[tuple[str, str]] = ("x-api-key", "sk-12345678-secret")
    key_names: ClassVar[str] = "SLIPHOOK_API_KEY or ANTHROPIC_API_KEY"
    reasons: ClassVar[dict[str, str]] = {
        "stop": "end_turn",
        "calls": "tool_use",
        "length": "max_tokens",
    }

    def model(self, base_url: str, key: str | None = None) -> Model:
        return AnthropicModel("m-1", base_url=base_url, api_key=key)

    def _event(self, kind: str, **fields: Any) -> bytes:
        return f"event: {kind}\n".encode() + event({"type": kind, **fields})

    def _block(self, index: int, block: dict[str, Any], *deltas: dict[str, Any]) -> bytes:
        sent = [self._event("content_block_delta", index=index, delta=delta) for delta in deltas]
        begin = self._event("content_block_start", index=index, content_block=block)
        return b"".join([begin, *sent, self._event("content_block_stop", index=index)])

    def start(self) -> bytes:
        usage = {
            "input_tokens": 5,
            "cache_creation_input_tokens": 1,
            "cache_read_input_tokens": 4,
            "output_tokens": 1,
        }
        message: dict[str, Any] = {
            "type": "message",
            "role": "assistant",
            "content": [],
            "model": "m-1",
            "stop_reason": None,
            "usage": usage,
        }
        return self._event("message_start", message=message) + self._event("ping")

    def words(self, *words: str) -> bytes:
        return self._block(
            0,
            {"type": "text", "text": ""},
            *({"type": "text_delta", "text": word} for word in words),
        )

    def calls(self, *calls: Call, cut: int = 3) -> bytes:
        sent = b""
        for index, call in enumerate(calls, 1):
            parts = [call.arguments[at : at + cut] for at in range(0, len(call.arguments), cut)]
            block: dict[str, Any] = {
                "type": "tool_use",
                "id": call.call_id,
                "name": call.name,
                "input": {},
            }
            sent += self._block(
                index,
                block,
                *({"type": "input_json_delta", "partial_json": part} for part in ["", *parts]),
            )
        return sent

    def finish(self, reason: str) -> bytes:
        return self._event(
            "message_delta",
            delta={"stop_reason": self.reasons[reason], "stop_sequence": None},
            usage={"output_tokens": 2},
        )

    def last(self) -> bytes:
        return self._event("message_stop")

    def whole(self, text: str, call: Call) -> bytes:
        content = [
            {"type": "text", "text": text},
            {
                "type": "tool_use",
                "id": call.call_id,
                "name": call.name,
                "input": json.loads(call.arguments),
            },
        ]
        usage = {"input_tokens": 6, "cache_read_input_tokens": 4, "output_tokens": 2}
        message = {
            "type": "message",
            "model": "m-1",
            "content": content,
            "stop_reason": "tool_use",
            "usage": usage,
        }
        return json.dumps(message).encode()

    def error(self, message: str, kind: str) -> bytes:
        return json.dumps(
            {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
        ).encode()

    def error_event(self, message: str, kind: str) -> bytes:
        return self._event("error", error={"type": kind, "message": message})


DIALECTS: list[Dialect] = [OpenAI(), Anthropic()]
