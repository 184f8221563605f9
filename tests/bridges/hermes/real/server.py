"""A server for `chat_completions` that follows the script in the user's last message.

    TOOL name {json}   a tool call; each is one round, in order
    PAR name {json}    tool calls of one message, in a round of their own behind the others
    THINK seconds      waits before each answer
    DRIP seconds       sends the last text word by word, for so long
    HTTP status        an error

The last text is `ok: N`, with the number of tool results.
"""

# the shapes are those of another project
# pyright: basic

from __future__ import annotations

import json
import re
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_TOOL = re.compile(r"\b(TOOL|PAR) (\w+) (\{.*?\})(?=\s|$)")
_ids = iter(range(1, 1_000_000))


def text_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return " ".join(part.get("text", "") for part in content)
    return content or ""


def number(word: str, script: str) -> float:
    found = re.search(rf"\b{word} ([\d.]+)", script)
    return float(found[1]) if found else 0.0


class ScriptedServer:
    """Serves in threads from `start` to `stop`; `requests` are the bodies that came."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                model = {"id": "fake-model", "object": "model", "context_length": 200_000}
                self.send(200, {"object": "list", "data": [model]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
                outer.requests.append({"t": time.time(), **body})
                with suppress(BrokenPipeError, ConnectionResetError):
                    self.answer(body)

            def answer(self, body: dict[str, Any]) -> None:
                messages = body.get("messages", [])
                # a text of a plugin for this call alone is labelled with its name
                last = max(
                    i
                    for i, one in enumerate(messages)
                    if one["role"] == "user" and not text_of(one).startswith("[")
                )
                script, behind = text_of(messages[last]), messages[last + 1 :]
                status = int(number("HTTP", script))
                if status:
                    self.send(status, {"error": {"message": "as scripted", "code": status}})
                    return
                time.sleep(number("THINK", script))
                found = _TOOL.findall(script)
                rounds = [[one] for one in found if one[0] == "TOOL"]
                side_by_side = [one for one in found if one[0] == "PAR"]
                rounds += [side_by_side] if side_by_side else []
                done = sum(1 for one in behind if one.get("tool_calls"))
                results = sum(1 for one in behind if one["role"] == "tool")
                calls = rounds[done] if body.get("tools") and done < len(rounds) else []
                self.say(body, [(name, raw) for _, name, raw in calls], f"ok: {results}", script)

            def say(
                self, body: dict[str, Any], calls: list[tuple[str, str]], text: str, script: str
            ) -> None:
                tool_calls = [
                    {
                        "index": i,
                        "id": f"call_{next(_ids)}",
                        "type": "function",
                        "function": {"name": name, "arguments": raw},
                    }
                    for i, (name, raw) in enumerate(calls)
                ]
                finish = "tool_calls" if calls else "stop"
                base = {"id": "fake", "created": 1, "model": body.get("model", "fake-model")}
                usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
                said: dict[str, Any] = {"role": "assistant", "content": None if calls else text}
                if calls:
                    said["tool_calls"] = tool_calls
                if not body.get("stream"):
                    choice = {"index": 0, "finish_reason": finish, "message": said}
                    self.send(200, {**base, "choices": [choice], "usage": usage})
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                drip = number("DRIP", script)
                if drip and not calls:
                    for i in range(40):
                        self.event({**base, "choices": [_delta({"content": f"w{i} "})]})
                        time.sleep(drip / 40)
                else:
                    self.event({**base, "choices": [_delta(said)]})
                self.event({**base, "choices": [_delta({}, finish)]})
                self.event({**base, "choices": [], "usage": usage})
                self.wfile.write(b"data: [DONE]\n\n")

            def event(self, chunk: dict[str, Any]) -> None:
                chunk["object"] = "chat.completion.chunk"
                self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
                self.wfile.flush()

            def send(self, status: int, body: dict[str, Any]) -> None:
                raw = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _delta(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish}
