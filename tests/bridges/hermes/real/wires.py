"""What each model API looks like on the wire: what a request holds, and how an answer is sent."""

# the shapes are those of other projects
# pyright: basic

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Json = dict[str, Any]
Call = tuple[str, str, str]
"""Id, name and arguments of a tool call."""


class Said(NamedTuple):
    """One message of a request.

    Attributes:
        text: what the user wrote in it; None if it is not of the user.
        calls: whether the model calls tools in it.
        results: how many results of tools it has.
    """

    text: str | None = None
    calls: bool = False
    results: int = 0


class Wire(NamedTuple):
    """One API.

    Attributes:
        read: the messages of a request.
        stream: an answer in pieces: calls, or a text in parts.
        content_type: of the stream.
    """

    read: Callable[[Json], list[Said]]
    stream: Callable[[list[Call], list[str]], Iterator[bytes]]
    content_type: str = "text/event-stream"


def text_of(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(part.get("text", "") for part in content)
    return content or ""


def event(body: Json, name: str | None = None) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(body)}\n\n".encode()


# -- chat_completions


def _chat_read(body: Json) -> list[Said]:
    return [
        Said(
            text=text_of(one.get("content")) if one["role"] == "user" else None,
            calls=bool(one.get("tool_calls")),
            results=int(one["role"] == "tool"),
        )
        for one in body.get("messages", [])
    ]


def chat_calls(calls: list[Call]) -> list[Json]:
    return [
        {
            "index": k,
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": raw},
        }
        for k, (call_id, name, raw) in enumerate(calls)
    ]


CHAT_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def _chat_stream(calls: list[Call], texts: list[str]) -> Iterator[bytes]:
    def chunk(delta: Json, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return event({**base, "choices": [choice]})

    base = {"id": "f", "created": 1, "model": "fake-model", "object": "chat.completion.chunk"}
    if calls:
        yield chunk({"role": "assistant", "content": None, "tool_calls": chat_calls(calls)})
    for text in () if calls else texts:
        yield chunk({"role": "assistant", "content": text})
    yield chunk({}, "tool_calls" if calls else "stop")
    yield event({**base, "choices": [], "usage": CHAT_USAGE})
    yield b"data: [DONE]\n\n"


# -- anthropic_messages


def _anthropic_read(body: Json) -> list[Said]:
    found = []
    for one in body.get("messages", []):
        content = one["content"]
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        kinds = [block["type"] for block in blocks]
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        said = one["role"] == "user" and bool(texts)
        found.append(
            Said(" ".join(texts) if said else None, "tool_use" in kinds, kinds.count("tool_result"))
        )
    return found


def _anthropic_stream(calls: list[Call], texts: list[str]) -> Iterator[bytes]:
    def say(kind: str, **more: Any) -> bytes:
        return event({"type": kind, **more}, kind)

    message: Json = {
        "id": "f",
        "type": "message",
        "role": "assistant",
        "model": "fake-model",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    yield say("message_start", message=message)
    if not calls:
        yield say("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for text in texts:
            yield say("content_block_delta", index=0, delta={"type": "text_delta", "text": text})
        yield say("content_block_stop", index=0)
    for k, (call_id, name, raw) in enumerate(calls):
        block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
        yield say("content_block_start", index=k, content_block=block)
        delta = {"type": "input_json_delta", "partial_json": raw}
        yield say("content_block_delta", index=k, delta=delta)
        yield say("content_block_stop", index=k)
    stopped = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    yield say("message_delta", delta=stopped, usage={"output_tokens": 5})
    yield say("message_stop")


# -- codex_responses


def _codex_read(body: Json) -> list[Said]:
    return [
        Said(
            text=text_of(one.get("content")) if one.get("role") == "user" else None,
            calls=one.get("type") == "function_call",
            results=int(one.get("type") == "function_call_output"),
        )
        for one in body.get("input", [])
    ]


def _codex_stream(calls: list[Call], texts: list[str]) -> Iterator[bytes]:
    def say(kind: str, **more: Any) -> bytes:
        return event({"type": kind, "sequence_number": 0, **more}, kind)

    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "total_tokens": 15,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    response = {
        "id": "f",
        "object": "response",
        "created_at": 1,
        "model": "fake-model",
        "status": "in_progress",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    yield say("response.created", response=response)
    items = [
        {
            "type": "function_call",
            "id": f"fc_{call_id}",
            "call_id": call_id,
            "name": name,
            "arguments": raw,
            "status": "completed",
        }
        for call_id, name, raw in calls
    ]
    if not calls:
        where = {"item_id": "m", "output_index": 0, "content_index": 0, "logprobs": []}
        for text in texts:
            yield say("response.output_text.delta", delta=text, **where)
        content = [{"type": "output_text", "text": "".join(texts), "annotations": []}]
        said: Json = {"role": "assistant", "status": "completed", "content": content}
        items = [{"type": "message", "id": "m", **said}]
    for k, item in enumerate(items):
        yield say("response.output_item.done", output_index=k, item=item)
    yield say("response.completed", response={**response, "status": "completed", "usage": usage})


# -- bedrock_converse


def _bedrock_read(body: Json) -> list[Said]:
    found = []
    for one in body.get("messages", []):
        texts = [block["text"] for block in one["content"] if "text" in block]
        said = one["role"] == "user" and bool(texts)
        found.append(
            Said(
                " ".join(texts) if said else None,
                any("toolUse" in block for block in one["content"]),
                sum("toolResult" in block for block in one["content"]),
            )
        )
    return found


def _bedrock_stream(calls: list[Call], texts: list[str]) -> Iterator[bytes]:
    yield frame("messageStart", {"role": "assistant"})
    for text in () if calls else texts:
        yield frame("contentBlockDelta", {"delta": {"text": text}, "contentBlockIndex": 0})
    if not calls:
        yield frame("contentBlockStop", {"contentBlockIndex": 0})
    for k, (call_id, name, raw) in enumerate(calls):
        start = {"toolUse": {"toolUseId": call_id, "name": name}}
        yield frame("contentBlockStart", {"start": start, "contentBlockIndex": k})
        delta = {"toolUse": {"input": raw}}
        yield frame("contentBlockDelta", {"delta": delta, "contentBlockIndex": k})
        yield frame("contentBlockStop", {"contentBlockIndex": k})
    yield frame("messageStop", {"stopReason": "tool_use" if calls else "end_turn"})
    usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
    yield frame("metadata", {"usage": usage, "metrics": {"latencyMs": 1}})


def frame(name: str, body: Json) -> bytes:
    """A message of the event streams of AWS."""
    headers = b""
    told = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    for key, value in told.items():
        headers += struct.pack(">B", len(key)) + key.encode()
        headers += struct.pack(">BH", 7, len(value)) + value.encode()
    payload = json.dumps(body).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return whole + struct.pack(">I", zlib.crc32(whole))


CHAT = Wire(_chat_read, _chat_stream)
BY_PATH = {
    "/messages": Wire(_anthropic_read, _anthropic_stream),
    "/responses": Wire(_codex_read, _codex_stream),
    "/converse-stream": Wire(_bedrock_read, _bedrock_stream, "application/vnd.amazon.eventstream"),
}
"""The others, by how the address ends."""
