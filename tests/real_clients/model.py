"""A model for real agents, which follows the script in the last message of the user that has one.

    SCRIPT: TOOL name {json} TOOL name {json}

Each TOOL is one answer. The last answer is the text `done`. It speaks the languages of Anthropic's
messages, OpenAI's responses and chat completions, and Gemini, streamed or whole.
"""

# the shapes are those of others
# pyright: basic
# mypy: ignore-errors

from __future__ import annotations

import gzip
import itertools
import json
import re
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

_WORD = "SCRIPT:"
_TOOL = re.compile(r"\s*TOOL ([\w-]+) ")
_ids = (f"{number:024}" for number in itertools.count(1))


class Item(NamedTuple):
    """One message of a conversation, whatever the language."""

    role: str
    text: str = ""
    calls: int = 0
    results: int = 0


class Call(NamedTuple):
    """One tool call that the model makes."""

    id: str
    name: str
    arguments: dict[str, Any]


def text_of(content: Any) -> str:
    """The texts in a message's content."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(text_of(one.get("text") or one.get("content")) for one in parts)


def steps_of(script: str) -> list[tuple[str, dict[str, Any]]]:
    """The tool calls of a script."""
    steps: list[tuple[str, dict[str, Any]]] = []
    at = script.index(_WORD) + len(_WORD)
    while (found := _TOOL.match(script, at)) is not None:
        arguments, at = json.JSONDecoder().raw_decode(script, found.end())
        steps.append((found[1], arguments))
    return steps


def decided(items: list[Item], tools: set[str]) -> Call | None:
    """The next call; None: the text."""
    scripts = [at for at, one in enumerate(items) if one.role == "user" and _WORD in one.text]
    if not scripts:
        return None
    steps = steps_of(items[scripts[-1]].text)
    done = sum(one.calls for one in items[scripts[-1] :])
    if done >= len(steps) or steps[done][0] not in tools:
        return None  # a request for a title has no tools
    return Call(next(_ids), *steps[done])


def anthropic(body: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    def item(message):
        content = message["content"] if isinstance(message["content"], list) else []
        kinds = [part["type"] for part in content]
        text = text_of([part for part in content if part["type"] == "text"] or message["content"])
        return Item(message["role"], text, kinds.count("tool_use"), kinds.count("tool_result"))

    call = decided(
        [item(one) for one in body["messages"]], {one["name"] for one in body.get("tools", ())}
    )
    usage = {"input_tokens": 10, "output_tokens": 1}
    block: dict[str, Any] = {"type": "text", "text": "done"}
    empty: dict[str, Any] = {"type": "text", "text": ""}
    delta: dict[str, Any] = {"type": "text_delta", "text": "done"}
    if call is not None:
        block = {
            "type": "tool_use",
            "id": f"toolu_{call.id}",
            "name": call.name,
            "input": call.arguments,
        }
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
    stop = "tool_use" if call is not None else "end_turn"
    whole = {"id": f"msg_{next(_ids)}", "type": "message", "role": "assistant"}
    whole |= {"model": body["model"], "content": [block], "stop_reason": stop, "usage": usage}
    whole["stop_sequence"] = None
    events = [
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": usage,
        },
        {"type": "message_stop"},
    ]
    return whole, events


def responses(body: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    def item(one):
        kind = one.get("type", "message")
        is_result = kind.endswith("_output")
        is_call = kind.endswith("_call")
        return Item(one.get("role", ""), text_of(one.get("content")), int(is_call), int(is_result))

    tools = {
        inner["name"]: (one, inner)
        for one in body.get("tools", ())
        for inner in one.get("tools", [one])
        if "name" in inner
    }
    call = decided([item(one) for one in body["input"]], set(tools))
    said: dict[str, Any] = {"type": "message", "id": f"msg_{next(_ids)}", "role": "assistant"}
    said |= {
        "status": "completed",
        "content": [{"type": "output_text", "text": "done", "annotations": []}],
    }
    if call is not None:
        said = {"type": "function_call", "id": f"fc_{call.id}", "call_id": f"call_{call.id}"}
        said |= {"name": call.name, "arguments": json.dumps(call.arguments), "status": "completed"}
        if tools[call.name][0] is not tools[call.name][1]:
            said["namespace"] = tools[call.name][0]["name"]
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1}
    usage |= {"output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 11}
    whole = {"id": f"resp_{next(_ids)}", "object": "response", "status": "completed"}
    whole |= {"model": body["model"], "output": [said], "usage": usage}
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": said},
        {"type": "response.output_item.done", "output_index": 0, "item": said},
        {"type": "response.completed", "response": whole},
    ]
    return whole, events


def chat(body: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    def item(one):
        calls = len(one.get("tool_calls") or ())
        return Item(one["role"], text_of(one.get("content")), calls, int(one["role"] == "tool"))

    tools = {one["function"]["name"] for one in body.get("tools") or () if "function" in one}
    call = decided([item(one) for one in body["messages"]], tools)
    said: dict[str, Any] = {"role": "assistant", "content": "done" if call is None else None}
    if call is not None:
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        one = {"index": 0, "id": f"call_{call.id}", "type": "function", "function": function}
        said["tool_calls"] = [one]
    finish = "stop" if call is None else "tool_calls"
    base = {"id": f"chatcmpl-{next(_ids)}", "created": 1, "model": body["model"]}
    usage = {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11}
    choice = {"index": 0, "message": said, "finish_reason": finish}
    whole = {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
    piece = {**base, "object": "chat.completion.chunk"}
    events: list[Any] = [
        {**piece, "choices": [{"index": 0, "delta": said, "finish_reason": None}]},
        {**piece, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        {**piece, "choices": [], "usage": usage},
        "[DONE]",
    ]
    return whole, events


def gemini(body: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    def item(one):
        parts = one.get("parts", ())
        results = sum("functionResponse" in part for part in parts)
        calls = sum("functionCall" in part for part in parts)
        return Item(one.get("role", ""), text_of(list(parts)), calls, results)

    declared = (
        one for group in body.get("tools", ()) for one in group.get("functionDeclarations", ())
    )
    call = decided([item(one) for one in body["contents"]], {one["name"] for one in declared})
    part: dict[str, Any] = {"text": "done"}
    if call is not None:
        part = {
            "functionCall": {"name": call.name, "args": call.arguments},
            "thoughtSignature": "c2k=",
        }
    elif body.get("generationConfig", {}).get("responseMimeType") == "application/json":
        part = {"text": json.dumps({"reasoning": "", "next_speaker": "user"})}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 1, "totalTokenCount": 11}
    whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake"}
    return whole, [whole]


_LANGUAGES = (("/messages", anthropic), ("/responses", responses), ("/chat/completions", chat))


class Model:
    """Serves in threads while the block is open.

    Attributes:
        requests: the bodies that came, as texts.
    """

    def __init__(self) -> None:
        self.requests: list[str] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                self.send({"object": "list", "data": [{"id": "fake-model", "object": "model"}]})

            def do_POST(self) -> None:
                body = json.loads(self.body() or b"{}")
                path = self.path.partition("?")[0]
                if "count" in path:
                    self.send({"input_tokens": 10, "totalTokens": 10})
                    return
                speak = next((one for end, one in _LANGUAGES if path.endswith(end)), None)
                streams = body.get("stream")
                if "enerateContent" in path:
                    speak, streams = gemini, "stream" in path
                if speak is None:
                    self.send({"error": {"message": "there is nothing here"}}, 404)
                    return
                model.requests.append(json.dumps(body))
                whole, events = speak(body)
                with suppress(OSError):
                    self.stream(events) if streams else self.send(whole)

            def body(self) -> bytes:
                raw = b""
                if "chunked" in self.headers.get("Transfer-Encoding", ""):
                    while size := int(self.rfile.readline(), 16):
                        raw += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                return (
                    gzip.decompress(raw) if self.headers.get("Content-Encoding") == "gzip" else raw
                )

            def send(self, body: dict[str, Any], status: int = 200) -> None:
                raw = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def stream(self, events: list[Any]) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                for event in events:
                    name = f"event: {event['type']}\n" if "type" in event else ""
                    data = event if isinstance(event, str) else json.dumps(event)
                    self.wfile.write(f"{name}data: {data}\n\n".encode())

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Model:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
