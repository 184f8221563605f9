"""A server for Hermes's model APIs that follows the script in the user's last message.

    TOOL name {json}   a tool call; each is one round, in order
    PAR name {json}    tool calls of one message, in a round of their own behind the others
    THINK seconds      waits before each answer
    DRIP seconds       sends the last text word by word, for so long
    HTTP status        an error
    TOOLONG            once, an error: the conversation is too long

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

from tests.bridges.hermes.real.bedrock import BEDROCK
from tests.model_wires import BY_PATH, CHAT, Call, Wire

_TOOL = re.compile(r"\b(TOOL|PAR) (\w+) (\{.*?\})(?=\s|$)")
_ids = iter(range(1, 1_000_000))
WIRES = {**BY_PATH, "/converse-stream": BEDROCK}


def number(word: str, script: str) -> float:
    found = re.search(rf"\b{word} ([\d.]+)", script)
    return float(found[1]) if found else 0.0


class ScriptedServer:
    """Serves in threads from `start` to `stop`; `requests` are the bodies that came."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.too_long: set[str] = set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                model = {"id": "fake-model", "object": "model", "context_length": 200_000}
                self.send(200, {"object": "list", "data": [model]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
                outer.requests.append({"t": time.time(), **body})
                path = self.path.partition("?")[0]
                ends = (wire for end, wire in WIRES.items() if path.endswith(end))
                with suppress(BrokenPipeError, ConnectionResetError):
                    self.answer(body, next(ends, CHAT))

            def answer(self, body: dict[str, Any], wire: Wire) -> None:
                messages = wire.read(body)
                # a text of a plugin for this call alone is labelled with its name
                own = (
                    k
                    for k, one in enumerate(messages)
                    if one.text is not None and not one.text.startswith("[")
                )
                last = max(own, default=-1)
                script = messages[last].text or "" if last >= 0 else ""
                behind = messages[last + 1 :]
                status = int(number("HTTP", script))
                if status:
                    self.send(status, {"error": {"message": "as scripted", "code": status}})
                    return
                if "TOOLONG" in script and behind and script not in outer.too_long:
                    outer.too_long.add(script)
                    why = "This model's maximum context length is 70000 tokens: prompt is too long"
                    self.send(400, {"error": {"message": why, "code": "context_length_exceeded"}})
                    return
                time.sleep(number("THINK", script))
                found = _TOOL.findall(script)
                rounds = [[one] for one in found if one[0] == "TOOL"]
                side_by_side = [one for one in found if one[0] == "PAR"]
                rounds += [side_by_side] if side_by_side else []
                done = sum(one.calls for one in behind)
                tools = body.get("tools") or body.get("toolConfig")
                wanted = rounds[done] if tools and done < len(rounds) else []
                calls = [Call(f"call_{next(_ids)}", name, raw) for _, name, raw in wanted]
                self.say(body, wire, calls, f"ok: {sum(one.results for one in behind)}", script)

            def say(
                self, body: dict[str, Any], wire: Wire, calls: list[Call], text: str, script: str
            ) -> None:
                if wire is CHAT and not body.get("stream"):
                    self.send(200, wire.whole(calls, text))
                    return
                self.send_response(200)
                self.send_header("Content-Type", wire.content_type)
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                drip = 0.0 if calls else number("DRIP", script)
                texts = [f"w{k} " for k in range(40)] if drip else [text]
                for piece in wire.stream(calls, texts):
                    self.wfile.write(piece)
                    self.wfile.flush()
                    time.sleep(drip / 40)

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
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.address}/v1"

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
