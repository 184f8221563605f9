"""A server elsewhere: over HTTP, in this process; it answers a call as the call's `way` says."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SCHEMA = {"type": "object", "properties": {"way": {"type": "string"}}}
ODD: list[Any] = [{"name": "empty", "inputSchema": {}}, {"name": "true", "inputSchema": True}]
RESULT = {"content": [{"type": "text", "text": "done"}]}
_EVENTS = "text/event-stream"


class FarServer:
    """The server.

    Attributes:
        address: where it is.
        elsewhere: the address that a redirect names; None for none.
        tokens: the `Authorization` of each request.
        opened: when a stream was asked for, on `time.monotonic()`.
        dripped: answers that come in drops, without an end.
        left: those that nobody reads any more.
        over: is set at the end.
    """

    def __init__(self, http: ThreadingHTTPServer) -> None:
        self.address = f"http://127.0.0.1:{http.server_port}/mcp"
        self.elsewhere = ""
        self.tokens: list[str | None] = []
        self.opened: list[float] = []
        self.dripped = 0
        self.left = 0
        self.over = threading.Event()


@contextmanager
def far_server() -> Generator[FarServer]:
    class Handler(_Handler):
        pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        far = Handler.far = FarServer(http)
        thread = threading.Thread(target=http.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield far
        finally:
            far.over.set()
            http.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    far: FarServer

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.far.opened.append(time.monotonic())
        self._begin(_EVENTS)
        self._write(b"retry: 0\n\n")

    def do_DELETE(self) -> None:
        self.far.over.wait()

    def do_POST(self) -> None:
        self.far.tokens.append(self.headers["Authorization"])
        if self.path == "/gone":
            self.send_error(404)
            return
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "far", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "work", "inputSchema": SCHEMA}]},
        }
        if self.path == "/odd-tool":
            results["tools/list"]["tools"] += ODD
        method = call["method"]
        if method == "tools/call":
            way: Callable[[Any], None] = getattr(self, call["params"]["arguments"]["way"])
            way(call["id"])
        elif method in results:
            self._answer({"id": call["id"], "result": results[method]})
        elif "id" in call:
            self._answer({"id": call["id"], "error": {"code": -32601, "message": "no"}})
        else:
            self._answer({}, status=202)

    # -- the ways

    def plain(self, id_: Any) -> None:
        self._answer({"id": id_, "result": RESULT})

    def event(self, id_: Any) -> None:
        self._begin(_EVENTS)
        self._write(
            b"event: message\r\ndata: " + _json({"id": id_, "result": RESULT}) + b"\r\n\r\n"
        )

    def half_event(self, id_: Any) -> None:
        """Halves of characters, a whole one that comes in two pieces, and no end of the last line."""
        text = b"\\ud83d|\\ud83d\\ude00|\\ude00"
        body = _json({"id": id_, "result": RESULT}).replace(b"done", text)
        self._begin(_EVENTS)
        for piece in (b"data: ", body[:-20], body[-20:], b"\r", b"\n\r", b"\n: bye"):
            self._write(piece)
            time.sleep(0.01)

    def large_event(self, id_: Any) -> None:
        result = {"content": [{"type": "text", "text": "x" * 2_000_000}]}
        self._begin(_EVENTS)
        self._write(b"data: " + _json({"id": id_, "result": result}) + b"\n\n")

    def long(self, id_: Any) -> None:
        self._begin("application/json")
        for _ in range(17):
            self._write(b" " * 2**20)

    def heavy(self, id_: Any) -> None:
        self._answer({"id": id_, "result": {"content": [], "structuredContent": _heavy()}})

    def long_event(self, id_: Any) -> None:
        self._begin(_EVENTS)
        for _ in range(17):
            self._write(b"data: " + b" " * 2**20 + b"\n")

    def heavy_event(self, id_: Any) -> None:
        result: dict[str, Any] = {"content": [], "structuredContent": _heavy()}
        self._begin(_EVENTS)
        self._write(b'id: "\rdata:' + _json({"id": id_, "result": result}) + b"\n\n")

    def drips(self, id_: Any) -> None:
        self._drip("application/json", b" ")

    def drips_events(self, id_: Any) -> None:
        self._drip(_EVENTS, b":\n")

    def floods(self, id_: Any) -> None:
        self._begin(_EVENTS)
        for _ in range(6):
            self._write(b":\n" * 1_000)
        self._write(b"data: " + _json({"id": id_, "result": RESULT}) + b"\n\n")

    def packed(self, id_: Any) -> None:
        self._answer({"id": id_, "result": RESULT}, packed=True)

    def refuses(self, id_: Any) -> None:
        self.send_error(401)  # a page for people

    def redirects(self, id_: Any) -> None:
        self.send_response(307)
        self.send_header("Location", self.far.elsewhere)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def breaks(self, id_: Any) -> None:
        self._begin("application/json", length=1_000)
        self._write(b"{")
        self.close_connection = True

    # -- how they are written

    def _answer(self, message: dict[str, Any], *, status: int = 200, packed: bool = False) -> None:
        body = _json(message)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if packed:
            body = gzip.compress(body)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Mcp-Session-Id", "1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self._write(body)

    def _begin(self, kind: str, length: int | None = None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        if length is None:
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def _drip(self, kind: str, drop: bytes) -> None:
        self.far.dripped += 1
        self._begin(kind)
        while not self.far.over.wait(0.05):
            if not self._write(drop):
                self.far.left += 1
                return

    def _write(self, body: bytes) -> bool:
        try:
            self.wfile.write(body)
        except OSError:  # the other end has had enough
            return False
        return True


def _json(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


def _heavy() -> Any:
    return {"all": [0] * 110_000}
