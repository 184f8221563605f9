"""A model server on loopback: real HTTP over a real socket, one scripted answer per request."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Literal

MAX_HOLD_S: Final = 60.0
"""The longest that the server waits for a client to leave: no test hangs."""

Step = bytes | float | Literal["cut", "hold"]
"""Bytes to write, or seconds to pause.

`cut` resets the connection, `hold` waits for the client's end.
"""


@dataclass(frozen=True)
class Answer:
    """What one request gets."""

    steps: Sequence[Step] = ()
    status: int = 200
    content_type: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Request:
    """What one request was."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class LoopbackServer:
    """Serves `answers` in order, then 500; a context manager.

    `client_left` is set when a held client has closed its connection.
    """

    def __init__(self, *answers: Answer) -> None:
        self.requests: list[Request] = []
        self.client_left = threading.Event()
        self._answers = iter(answers)
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                outer.serve(self, self.rfile.read(int(self.headers["Content-Length"])))

            def do_GET(self) -> None:
                outer.serve(self, b"{}")

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> LoopbackServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(120)

    def serve(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.requests.append(Request(handler.path, headers, json.loads(body)))
        answer = next(self._answers, Answer(status=500))
        handler.close_connection = True
        handler.send_response(answer.status)
        handler.send_header("Content-Type", answer.content_type)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.send_header("Connection", "close")
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        try:
            for step in answer.steps:
                if not self._take(step, handler):
                    return
            handler.wfile.write(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            self.client_left.set()

    def _take(self, step: Step, handler: BaseHTTPRequestHandler) -> bool:
        if isinstance(step, bytes):
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(step), step))
        elif isinstance(step, float):
            self.client_left.wait(step)
        elif step == "cut":
            # Zero linger: the socket's close sends a reset.
            handler.connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            return False
        else:
            handler.connection.settimeout(MAX_HOLD_S)
            try:
                if handler.connection.recv(1) == b"":
                    self.client_left.set()
            except ConnectionResetError:
                self.client_left.set()
            except TimeoutError:
                pass
            return False
        return True


def event(payload: object) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(payload, ensure_ascii=False).encode() + b"\n\n"


def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    """One chunk of a chat completion."""
    return event(
        {
            "id": "c",
            "object": "chat.completion.chunk",
            "model": "m-1",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
        }
    )


def text(*words: str) -> bytes:
    """A whole streamed answer that only speaks."""
    return (
        b"".join(chunk({"role": "assistant", "content": word}) for word in words)
        + chunk({}, "stop")
        + DONE
    )


def call_part(
    index: int | None,
    arguments: str | None = None,
    *,
    call_id: str | None = None,
    name: str | None = None,
) -> bytes:
    """One piece of one tool call; what is None is left out."""
    function = {
        key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None
    }
    part = {
        key: value
        for key, value in (("index", index), ("id", call_id), ("function", function))
        if value is not None
    }
    return chunk({"tool_calls": [part]})


def one_call(call_id: str, name: str, arguments: str) -> bytes:
    """A whole streamed answer that calls one tool."""
    return call_part(0, arguments, call_id=call_id, name=name) + chunk({}, "tool_calls") + DONE


DONE: Final = b"data: [DONE]\n\n"


def cut_in(data: bytes, size: int) -> list[Step]:
    """`data` in writes of `size` bytes, wherever that falls."""
    return [data[at : at + size] for at in range(0, len(data), size)]
