"""Model servers that want to hold the agent or to fill its memory: what each sends, as raw bytes.

Each case is an endless or a huge answer. `RawServer` plays one and counts what was taken of it.
"""

from __future__ import annotations

import gzip
import json
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Final

STREAM: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
JSON: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
ERROR: Final = b"HTTP/1.1 400 Bad\r\nContent-Type: application/json\r\nConnection: close\r\n"
DONE: Final = b"data: [DONE]\n\n"


class RawServer:
    """Answers every request with the bytes that `answer` makes; a context manager.

    Attributes:
        base_url: where it listens.
        sent: bytes that a client has taken, or the kernel holds for it.
    """

    def __init__(self, answer: Callable[[], Iterator[bytes]]) -> None:
        self.sent = 0
        self._answer = answer
        self._socket = socket.create_server(("127.0.0.1", 0))
        # a client that has given up must not be sent megabytes into the kernel's buffers
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * 1024)
        self.base_url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> RawServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # wakes the thread that waits for a connection
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(120)

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            with client:
                try:
                    client.settimeout(120)
                    _take_request(client)
                    for data in self._answer():
                        client.sendall(data)
                        self.sent += len(data)
                    client.shutdown(socket.SHUT_WR)
                    client.recv(1)
                except OSError:
                    pass  # the client has left, as it should


def _take_request(client: socket.socket) -> None:
    got = b""
    while b"\r\n\r\n" not in got:
        got += client.recv(65536)
    head, _, body = got.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    missing = int(lengths[0].split(b":")[1]) - len(body) if lengths else 0
    while missing > 0:
        missing -= len(client.recv(65536))


def chunk(delta: dict[str, Any], **more: Any) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": delta, **more}]}).encode() + b"\n\n"


def call(index: int, arguments: str, **more: Any) -> bytes:
    part = {"index": index, "function": {"name": "t", "arguments": arguments}, **more}
    return chunk({"tool_calls": [part]})


END: Final = chunk({}, finish_reason="tool_calls") + DONE


def _chunked(piece: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(piece), piece)


def endless(head: bytes, piece: bytes) -> Callable[[], Iterator[bytes]]:
    def answer() -> Iterator[bytes]:
        yield head
        many = piece * max(1, 65536 // len(piece))
        while True:
            yield many

    return answer


def once(head: bytes, *body: bytes) -> Callable[[], Iterator[bytes]]:
    def answer() -> Iterator[bytes]:
        yield head
        yield from body

    return answer


def _bomb(wbits: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    return b"".join(packer.compress(b"data: " + b"x" * 2**20) for _ in range(64)) + packer.flush()


_MILLION: Final = 1_000_000
_OPEN_CALL: Final = call(0, '{"a":"', id="")
BAR: Final = b"\r\n"

ENDLESS: Final[dict[str, Callable[[], Iterator[bytes]]]] = {
    "a line without an end": endless(STREAM + BAR + b"data: ", b"x" * 65536),
    "an event without an end": endless(STREAM + BAR, b"data: x\n"),
    "fields that mean nothing": endless(STREAM + BAR, b"x: y\n"),
    "an id without an end": endless(STREAM + BAR + b"id: ", b"7"),
    "a number to retry without an end": endless(STREAM + BAR + b"retry: ", b"7"),
    "text without an end": endless(STREAM + BAR, chunk({"content": "x" * 60_000})),
    "text in the smallest events": endless(
        STREAM + BAR, b'data:{"choices":[{"delta":{"content":"xy"}}]}\n\n'
    ),
    "reasoning without an end": endless(STREAM + BAR, chunk({"reasoning_content": "xy" * 50})),
    "details without an end": endless(STREAM + BAR, chunk({"reasoning_details": [[], [], []]})),
    "arguments without an end": endless(STREAM + BAR + _OPEN_CALL, call(0, "y" * 1000)),
    "arguments by bits": endless(STREAM + BAR + _OPEN_CALL, call(0, "y")),
    "arguments that look whole": endless(STREAM + BAR + _OPEN_CALL, call(0, "yyyyyyyyyyyyyyyy}")),
    "comments": endless(STREAM + BAR, b": ping\n\n"),
    "empty lines": endless(STREAM + BAR, b"\n"),
    "empty lines of the other kind": endless(STREAM + BAR, b"\r"),
    "parts of one byte": endless(
        STREAM + b"Transfer-Encoding: chunked\r\n\r\n" + _chunked(b"data: "), _chunked(b"x")
    ),
    "the end of chunks without an end": endless(
        STREAM + b"Transfer-Encoding: chunked\r\n\r\n" + _chunked(DONE[:-1]) + b"0\r\n", b"a:b\r\n"
    ),
    "a body without an end": endless(JSON + BAR, b" "),
    "a body of brackets": endless(JSON + BAR, b"["),
    "an error without an end": endless(ERROR + BAR + b'{"error":{"message":"', b"no "),
    "an error page without an end": endless(ERROR + BAR, b"<p>"),
    "headers without an end": endless(STREAM, b"a:b\r\n"),
    "a header without an end": endless(STREAM + b"a: ", b"b"),
    "cookies without an end": endless(STREAM, b"Set-Cookie: a=b; path=/\r\n"),
    "what is behind the end of gzip": endless(
        JSON + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"{}"), b"x" * 65536
    ),
    "informational responses": endless(b"", b"HTTP/1.1 100 \r\n\r\n"),
    "early hints": endless(b"", b"HTTP/1.1 103 E\r\nLink: <a>\r\n\r\n"),
}
"""Answers that never end; each has to be given up."""

HUGE: Final[dict[str, Callable[[], Iterator[bytes]]]] = {
    "one event of 15 MB": once(
        STREAM + BAR,
        b'data: {"choices":[{"delta":{"reasoning_details":[' + b",".join([b"[]"] * 5 * _MILLION),
        b"]}}]}\n\n" + END,
    ),
    "an event of objects": once(
        STREAM + BAR, b'data: {"choices":[' + b",".join([b"{}"] * 340_000) + b"]}\n\n" + END
    ),
    "many parts of calls": once(
        STREAM + BAR,
        b'data: {"choices":[{"delta":{"tool_calls":[' + b",".join([b"{}"] * 30_000) + b"]}}]}\n\n",
        END,
    ),
    "many parts of text": once(
        STREAM + BAR,
        b'data: {"choices":[{"delta":{"content":[' + b",".join([b"{}"] * 30_000) + b"]}}]}\n\n",
        END,
    ),
    "100,000 calls": once(STREAM + BAR, *(call(i, "{}", id=f"c{i}") for i in range(100_000)), END),
    "calls of one id": once(
        STREAM + BAR, *(call(0, "{}", id="a") + call(0, "{}", id="b") for _ in range(3_000)), END
    ),
    "a bomb of gzip": once(STREAM + b"Content-Encoding: gzip\r\n\r\n", _bomb(31)),
    "a bomb of deflate": once(STREAM + b"Content-Encoding: deflate\r\n\r\n", _bomb(15)),
    "a bomb in a body": once(JSON + b"Content-Encoding: gzip\r\n\r\n", gzip.compress(b" " * 2**26)),
    "a bomb in an error": once(
        ERROR + b"Content-Encoding: gzip\r\n\r\n", gzip.compress(b" " * 2**26)
    ),
    "an encoding that nobody asked for": once(STREAM + b"Content-Encoding: br\r\n\r\n", b"x" * 100),
    "no compression where it says so": once(STREAM + b"Content-Encoding: gzip\r\n\r\n", b"x" * 100),
    "a body of objects": once(
        JSON + BAR, b'{"choices":[' + b",".join([b"{}"] * 5 * _MILLION) + b"]}"
    ),
    "headers of 100 KiB": once(STREAM + b"a:b\r\n" * 20_000 + BAR, END),
    "cookies of 15 KiB": once(
        ERROR + b"".join(b"Set-Cookie: a%d=b; path=/\r\n" % i for i in range(500)) + BAR, b"{}"
    ),
    "headers of 15 KiB": once(ERROR + b"a:b\r\n" * 3_000 + BAR, b"{}"),
    "trailers of 90 KiB": once(
        STREAM + b"Transfer-Encoding: chunked\r\n\r\n" + _chunked(b": x\n\n"),
        b"0\r\n" + b"a:b\r\n" * 18_000 + b"\r\n",
    ),
    "a long address to go to": once(
        b"HTTP/1.1 302 Found\r\nLocation: http://"
        + b"a." * 7_000
        + b"/\r\nContent-Length: 0\r\n\r\n"
    ),
    "a wait of many digits": once(
        b"HTTP/1.1 429 Slow\r\nretry-after-ms: "
        + b"9" * 6_000
        + b"\r\nRetry-After: "
        + b"9" * 6_000
        + b"\r\nContent-Length: 0\r\n\r\n"
    ),
    "an empty head": once(b"\n\n"),
    "a short head": once(b"HTTP\n\n"),
    "deep nesting": once(STREAM + BAR, b'data: {"x":' + b"[" * 500_000 + b"\n\n"),
}
"""Answers that end, and that no agent can use."""

USABLE: Final[dict[str, Callable[[], Iterator[bytes]]]] = {
    "deep arguments": once(
        STREAM + BAR, call(0, '{"a":' + "[" * 100_000 + "]" * 100_000 + "}") + END
    ),
    "wide arguments": once(
        STREAM + BAR, call(0, '{"a":[' + ",".join(["[]"] * 130_000) + "]}") + END
    ),
    "arguments of numbers": once(
        STREAM + BAR, call(0, '{"a":[' + ",".join(["1"] * 250_000) + "]}") + END
    ),
    "arguments of keys": once(
        STREAM + BAR, call(0, "{" + ",".join(f'"{i}":1' for i in range(16_000)) + "}") + END
    ),
    "arguments of huge numbers": once(
        STREAM + BAR, call(0, '{"a":[' + ",".join(["9" * 4_000] * 120) + "]}") + END
    ),
    "a tool's name of 500,000 characters": once(
        STREAM + BAR,
        chunk(
            {"tool_calls": [{"index": 0, "function": {"name": "n" * 500_000, "arguments": "{}"}}]}
        ),
        END,
    ),
    "an id of 500,000 characters": once(STREAM + BAR, call(0, "{}", id="i" * 500_000), END),
    "lone halves in a row": once(
        STREAM + BAR,
        b'data: {"choices":[{"delta":{"content":"' + b"\\ud83d" * 3_900 + b'"}}]}\n\n' + END,
    ),
    "backslashes and one half": once(
        STREAM + BAR,
        b'data: {"choices":[{"delta":{"content":"' + b"\\\\" * 64_000 + b'\\ud83d"}}]}\n\n' + END,
    ),
    "usage of huge numbers": once(
        STREAM + BAR,
        b'data: {"choices":[],"usage":{"prompt_tokens":' + b"9" * 4_000 + b"}}\n\n" + END,
    ),
    "usage of megabytes": once(
        STREAM + BAR,
        b'data: {"choices":[],"usage":{"x":[' + b",".join([b"[]"] * 340_000) + b"]}}\n\n" + END,
    ),
    "many choices": once(
        STREAM + BAR, b'data: {"choices":[' + b",".join([b"{}"] * 8_000) + b"]}\n\n" + END
    ),
    "calls of many values": once(
        STREAM + BAR,
        *(call(i, '{"a":[' + ",".join(["{}"] * 5_000) + "]}", id=f"c{i}") for i in range(6)),
        END,
    ),
}
"""Answers that are taken, perhaps with a call that cannot be run."""
