"""A model server with the command line of llama.cpp's, for tests: python llama_server.py -m FILE ...

The file of the "model" is JSON that says how the server behaves, see `Model`. What happens is
written, a line each, to `served.log` beside the file.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Model:
    """What the file says.

    Attributes:
        load_s: how long it loads.
        dies: what it says before it exits with status 1, instead of listening.
        answer: what it says to every message.
        word_s: the time between two words.
        holds: it ignores SIGTERM.
    """

    def __init__(self, path: Path) -> None:
        said: dict[str, Any] = json.loads(path.read_text())
        self.name = path.stem
        self.ready_at = time.monotonic() + said.get("load_s", 0)
        self.dies: str | None = said.get("dies")
        self.answer: str = said.get("answer", f"I am {path.stem}.")
        self.word_s: float = said.get("word_s", 0)
        self.holds: bool = said.get("holds", False)
        self._log = path.with_name("served.log")

    def note(self, what: str) -> None:
        with self._log.open("a") as file:
            file.write(f"{os.getpid()} {self.name} {what}\n")


def handler_of(model: Model) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/health":
                self._json(404, {"error": {"code": 404, "message": "File Not Found"}})
            elif time.monotonic() < model.ready_at:
                self._json(503, {"error": {"code": 503, "message": "Loading model"}})
            else:
                self._json(200, {"status": "ok"})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path != "/v1/chat/completions" or not body.get("stream"):
                self._json(404, {"error": {"code": 404, "message": "File Not Found"}})
                return
            if time.monotonic() < model.ready_at:
                self._json(503, {"error": {"code": 503, "message": "Loading model"}})
                return
            model.note(f"asked {body['model']}")
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for delta in self._deltas(body):
                finish = None if delta else ("tool_calls" if self._calls else "stop")
                choice = {"index": 0, "delta": delta, "finish_reason": finish}
                piece = {"object": "chat.completion.chunk", "choices": [choice]}
                self.wfile.write(b"data: " + json.dumps(piece).encode() + b"\n\n")
            self.wfile.write(b"data: [DONE]\n\n")

        def _deltas(self, body: dict[str, Any]) -> Any:
            """The answer word by word; after `TOOL name {json}` the model calls that tool."""
            last = body["messages"][-1]
            text = last.get("content") or ""
            self._calls = last["role"] == "user" and "TOOL " in text
            yield {"role": "assistant", "content": ""}
            if self._calls:
                name, _, arguments = text.partition("TOOL ")[2].partition(" ")
                function = {"name": name, "arguments": arguments}
                yield {"tool_calls": [{"index": 0, "id": "call_1", "function": function}]}
            else:
                for word in model.answer.split(" "):
                    time.sleep(model.word_s)
                    yield {"content": f"{word} "}
            yield {}

        def _json(self, status: int, value: object) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            if self.path != "/health":
                print(f"srv  log_server_r: request: {format % args}", file=sys.stderr)

    return Handler


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("-m", "--model", type=Path, required=True)
    options.add_argument("--host", default="127.0.0.1")
    options.add_argument("--port", type=int, default=8080)
    options.add_argument("-c", "--ctx-size", type=int, default=4096)
    options.add_argument("-ngl", "--gpu-layers", type=int, default=0)
    options.add_argument("--temp", type=float, default=0.8)
    options.add_argument("--top-k", type=int, default=40)
    options.add_argument("--top-p", type=float, default=0.95)
    given = options.parse_args()
    model = Model(given.model)
    model.note(f"started {' '.join(sys.argv[3:])}")
    alone = given.model.with_name("gpu").open("a")
    try:
        fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        model.note("TWO AT ONCE")
    print(f"llama_model_loader: loading {given.model}", file=sys.stderr)
    if model.dies is not None:
        sys.exit(model.dies)
    if model.holds:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    server = ThreadingHTTPServer((given.host, given.port), handler_of(model))
    print(f"main: server is listening on http://{given.host}:{given.port}", file=sys.stderr)
    server.serve_forever()


if __name__ == "__main__":
    main()
