"""What each model API looks like on the wire: what a request holds, and how an answer is sent.

The servers that stand in for models read and write it: of the Hermes tests, and of the real agents.
"""

# the shapes are those of other projects
# pyright: basic

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

Json = dict[str, Any]
_ids = (f"{number:024}" for number in itertools.count(1))


class Call(NamedTuple):
    """A tool call.

    Attributes:
        call_id: unique.
        name: of the tool.
        arguments: as JSON.
        more: what the API wants said beside, of `offered`.
    """

    call_id: str
    name: str
    arguments: str
    more: Mapping[str, Any] = MappingProxyType({})


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
        whole: the same in one object.
        offered: the tools of a request, each with `more` of a call.
        content_type: of the stream.
    """

    read: Callable[[Json], list[Said]]
    stream: Callable[[list[Call], list[str]], Iterator[bytes]]
    whole: Callable[[list[Call], str], Json] = lambda calls, text: {}
    offered: Callable[[Json], dict[str, Json]] = lambda body: {}
    content_type: str = "text/event-stream"


def text_of(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(part.get("text") or "" for part in content)
    return content or ""


def _named(tools: Any) -> dict[str, Json]:
    return {one["name"]: {} for one in tools or () if "name" in one}


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
            "id": call.call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for k, call in enumerate(calls)
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


def _chat_whole(calls: list[Call], text: str) -> Json:
    said: Json = {"role": "assistant", "content": None if calls else text}
    if calls:
        said["tool_calls"] = chat_calls(calls)
    finish = "tool_calls" if calls else "stop"
    choice = {"index": 0, "finish_reason": finish, "message": said}
    base = {"id": "f", "created": 1, "model": "fake-model", "object": "chat.completion"}
    return {**base, "choices": [choice], "usage": CHAT_USAGE}


def _chat_offered(body: Json) -> dict[str, Json]:
    return _named(one["function"] for one in body.get("tools") or () if "function" in one)


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


def _anthropic_message() -> Json:
    return {
        "id": f"msg_{next(_ids)}",
        "type": "message",
        "role": "assistant",
        "model": "fake-model",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }


def _anthropic_whole(calls: list[Call], text: str) -> Json:
    blocks: list[Json] = [
        {
            "type": "tool_use",
            "id": one.call_id,
            "name": one.name,
            "input": json.loads(one.arguments),
        }
        for one in calls
    ]
    stop = "tool_use" if calls else "end_turn"
    content = blocks or [{"type": "text", "text": text}]
    return {**_anthropic_message(), "content": content, "stop_reason": stop}


def _anthropic_stream(calls: list[Call], texts: list[str]) -> Iterator[bytes]:
    def say(kind: str, **more: Any) -> bytes:
        return event({"type": kind, **more}, kind)

    yield say("message_start", message=_anthropic_message())
    if not calls:
        yield say("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for text in texts:
            yield say("content_block_delta", index=0, delta={"type": "text_delta", "text": text})
        yield say("content_block_stop", index=0)
    for k, call in enumerate(calls):
        block = {"type": "tool_use", "id": call.call_id, "name": call.name, "input": {}}
        yield say("content_block_start", index=k, content_block=block)
        delta = {"type": "input_json_delta", "partial_json": call.arguments}
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
            "id": f"fc_{call.call_id}",
            "call_id": call.call_id,
            "name": call.name,
            "arguments": call.arguments,
            "status": "completed",
            **call.more,
        }
        for call in calls
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


def _codex_offered(body: Json) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for one in body.get("tools") or ():
        inside = one.get("tools")
        space = {} if inside is None else {"namespace": one["name"]}
        found |= dict.fromkeys(_named(inside if inside is not None else [one]), space)
    return found


# -- gemini


def _gemini_read(body: Json) -> list[Said]:
    found = []
    for one in body.get("contents", []):
        parts = one.get("parts", [])
        said = one.get("role") == "user" and any("text" in part for part in parts)
        found.append(
            Said(
                text_of(parts) if said else None,
                any("functionCall" in part for part in parts),
                sum("functionResponse" in part for part in parts),
            )
        )
    return found


def _gemini_whole(calls: list[Call], text: str) -> Json:
    parts: list[Json] = [
        {
            "functionCall": {"name": one.name, "args": json.loads(one.arguments)},
            "thoughtSignature": "c2k=",
        }
        for one in calls
    ]
    content = {"role": "model", "parts": parts or [{"text": text}]}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 1, "totalTokenCount": 11}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake-model"}


def _gemini_stream(calls: list[Call], texts: list[str]) -> Iterator[bytes]:
    yield event(_gemini_whole(calls, "".join(texts)))


def _gemini_offered(body: Json) -> dict[str, Json]:
    groups = body.get("tools") or ()
    return _named(one for group in groups for one in group.get("functionDeclarations", ()))


CHAT = Wire(_chat_read, _chat_stream, _chat_whole, _chat_offered)
GEMINI = Wire(_gemini_read, _gemini_stream, _gemini_whole, _gemini_offered)
BY_PATH = {
    "/messages": Wire(
        _anthropic_read,
        _anthropic_stream,
        _anthropic_whole,
        lambda body: _named(body.get("tools")),
    ),
    "/responses": Wire(_codex_read, _codex_stream, offered=_codex_offered),
}
"""The others, by how the address ends; that of Gemini ends with what is wanted."""
