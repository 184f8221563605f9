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
from collections.abc import Iterable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.model_wires import BY_PATH, CHAT, GEMINI, Call, Said

_WORD = "SCRIPT:"
_TOOL = re.compile(r"\s*TOOL ([\w-]+) ")
_ids = (f"{number:024}" for number in itertools.count(1))


def steps_of(script: str) -> list[tuple[str, dict[str, Any]]]:
    """The tool calls of a script."""
    steps: list[tuple[str, dict[str, Any]]] = []
    at = script.index(_WORD) + len(_WORD)
    while (found := _TOOL.match(script, at)) is not None:
        arguments, at = json.JSONDecoder().raw_decode(script, found.end())
        steps.append((found[1], arguments))
    return steps


def decided(items: list[Said], tools: dict[str, dict[str, Any]]) -> list[Call]:
    """The next call, alone; nothing: the text."""
    scripts = [at for at, one in enumerate(items) if one.text is not None and _WORD in one.text]
    if not scripts:
        return []
    steps = steps_of(items[scripts[-1]].text or "")
    done = sum(one.calls for one in items[scripts[-1] :])
    if done >= len(steps) or steps[done][0] not in tools:
        return []  # a request for a title has no tools
    name, arguments = steps[done]
    return [Call(f"call_{next(_ids)}", name, json.dumps(arguments), tools[name])]


def text_for(body: dict[str, Any]) -> str:
    """What the model says; Gemini CLI also asks who speaks next, as JSON."""
    is_json = body.get("generationConfig", {}).get("responseMimeType") == "application/json"
    return json.dumps({"reasoning": "", "next_speaker": "user"}) if is_json else "done"


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
                wires = {**BY_PATH, "/chat/completions": CHAT}
                wire = next((one for end, one in wires.items() if path.endswith(end)), None)
                streams = body.get("stream")
                if "enerateContent" in path:
                    wire, streams = GEMINI, "stream" in path
                if wire is None:
                    self.send({"error": {"message": "there is nothing here"}}, 404)
                    return
                model.requests.append(json.dumps(body))
                calls = decided(wire.read(body), wire.offered(body))
                text = text_for(body)
                with suppress(OSError):
                    if streams:
                        self.stream(wire.stream(calls, [text]))
                    else:
                        self.send(wire.whole(calls, text))

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

            def stream(self, pieces: Iterable[bytes]) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                for piece in pieces:
                    self.wfile.write(piece)

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
