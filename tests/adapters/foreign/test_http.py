"""HTTP hooks: what is sent, what is answered, and whom they may ask."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import trio

from sliphook import PluginHost
from sliphook.adapters.dialects.hosted.handler import Handler
from sliphook.adapters.foreign.http import ask, why_not_allowed
from tests.programs import WAIT_S

from .made import settings_json, spec

DENY = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}


class Server(HTTPServer):
    """Answers what it is told to; keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.asked: list[tuple[str, str | None, Any]] = []
        self.status = 200
        self.body = json.dumps(DENY).encode()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"


class Answering(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Server)
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.asked.append((self.path, self.headers["x-from"], json.loads(body)))
        self.send_response(self.server.status)
        self.send_header("content-length", str(len(self.server.body)))
        self.send_header("location", "/elsewhere")
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture
def server() -> Generator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


async def called(tmp_path: Path, server: Server, hosts: list[str]) -> str:
    hook = {"type": "http", "url": f"http://{server.host}/in", "headers": {"x-from": "here"}}
    path = settings_json(tmp_path, {"PreToolUse": [{"hooks": [hook]}]})

    async def run(arguments: dict[str, Any]) -> str:
        return "done"

    statuses: list[str] = []
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([spec(path, {"http_hosts": hosts})]) as host,
            host.session(cwd=tmp_path) as session,
            session.turn("hello") as turn,
        ):
            statuses.append((await turn.call_tool("sh", {"command": "ls"}, run=run)).status)
    return statuses[0]


async def test_a_server_denies(tmp_path: Path, server: Server) -> None:
    assert await called(tmp_path, server, [server.host]) == "denied"
    ((path, sender, told),) = server.asked
    assert (path, sender, told["hook_event_name"]) == ("/in", "here", "PreToolUse")


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_a_server_that_fails_has_no_opinion(
    tmp_path: Path, server: Server, status: int
) -> None:
    server.status = status
    assert await called(tmp_path, server, ["127.0.0.1"]) == "ok"
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [(json.dumps(DENY | {"x": "x" * 2_000_000}), "denied"), ("x" * 2_000_000, "ok")],
)
async def test_an_answer_that_is_too_long_is_not_taken_for_none(
    tmp_path: Path, server: Server, body: str, status: str
) -> None:
    server.body = body.encode()
    assert await called(tmp_path, server, ["127.0.0.1"]) == status


async def test_other_servers_are_not_asked(tmp_path: Path, server: Server) -> None:
    assert await called(tmp_path, server, ["example.com"]) == "ok"
    assert server.asked == []


@pytest.mark.parametrize(
    ("url", "headers", "why"),
    [
        ("https://a.example/x", {}, None),
        ("https://a.example:8443/x", {}, None),
        ("https://b.example/x", {}, "b.example is not among foreign.http_hosts of config.toml."),
        ("file:///etc/passwd", {}, "its address is none of a server, or holds a login."),
        ("https://me:pw@a.example", {}, "its address is none of a server, or holds a login."),
        ("https://a.example:x/", {}, "its address is none."),
        (
            "https://a.example/",
            {"a": "$KEY"},
            "its headers need variables, which are not filled in here.",
        ),
    ],
)
def test_whom_they_may_ask(url: str, headers: dict[str, str], why: str | None) -> None:
    handler = Handler(event="Stop", url=url, headers=headers)
    assert why_not_allowed(handler, ["a.example"]) == why


def test_a_server_that_drips() -> None:
    """Each piece comes in time, and the answer never ends."""

    def drip(listener: socket.socket) -> None:
        peer, _ = listener.accept()
        with peer:
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            peer.settimeout(0.05)
            while True:
                try:
                    peer.sendall(b" ")
                    if not peer.recv(65536):
                        return
                except TimeoutError:
                    continue
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        handler = Handler(event="Stop", url=f"http://127.0.0.1:{listener.getsockname()[1]}/")
        ended = asyncio.run(asyncio.wait_for(ask(handler, b"{}", 0.5), WAIT_S))
        thread.join(WAIT_S)
    assert (ended.exit_code, ended.failure) == (None, "took longer than 0.5 s")


@pytest.mark.parametrize("headers", [{"x": "\u20ac"}, {"x": "a\nb: c"}, {"": "a"}, {"x": "\udcff"}])
def test_a_header_that_cannot_be_sent(server: Server, headers: dict[str, str]) -> None:
    handler = Handler(event="Stop", url=f"http://{server.host}/", headers=headers)
    ended = asyncio.run(ask(handler, b"{}", WAIT_S))
    assert ended.exit_code is None
    assert (ended.failure or "").startswith("could not be asked: ")
    assert server.asked == []
