"""The example that sends calls to a server on this machine: it starts the server when it is asked."""

from __future__ import annotations

import shlex
import socket
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import trio

from sliphook import PluginHost, PluginSpec
from sliphook.agent.loop import Agent
from sliphook.agent.models.choice import Models
from tests.agent.fakes import RecordingDisplay
from tests.agent.loopback import Answer, LoopbackServer, text

EXAMPLE = Path(__file__).parents[2] / "examples" / "llm_switch.py"
WAIT_S = 120.0

SERVER = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        open(sys.argv[2], "ab").write(body + b"\\n" + repr(self.headers.items()).encode() + b"\\n")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, *_):
        pass

HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


async def test_the_server_is_started_for_the_second_attempt_and_ends_with_the_plugin(
    tmp_path: Path,
) -> None:
    port, asked = free_port(), tmp_path / "asked"
    (tmp_path / "server.py").write_text(SERVER.replace("ANSWER", repr(text("from here"))))
    command = [sys.executable, str(tmp_path / "server.py"), str(port), str(asked)]
    config: dict[str, Any] = {"port": port, "command": shlex.join(command)}
    display = RecordingDisplay()
    with LoopbackServer(Answer([text("from afar")])) as afar, trio.fail_after(WAIT_S):
        async with aclosing(
            Models({}, {"SLIPHOOK_API_KEY": "sk-12345678"}, afar.base_url)
        ) as models:
            local, other = models.first("local"), models.first("other")
            async with (
                PluginHost([PluginSpec(EXAMPLE, config=config)]) as host,
                host.session() as session,
            ):
                assert not listens(port)
                agent = Agent(host, session, local, display=display, models=models)
                assert await agent.run("one") == "completed"
                assert await agent.run("two") == "completed"
                agent.model = other
                assert await agent.run("three") == "completed"
        while listens(port):  # noqa: ASYNC110  # nobody tells of it
            await trio.sleep(0.05)
    assert [shown[1] for shown in display.shown if shown[0] == "text"] == [
        "from here",
        "from here",
        "from afar",
    ]
    assert [shown[2] for shown in display.shown if shown[0] == "notice"] == [
        f"llm-switch sends model calls to http://127.0.0.1:{port}/v1",
        f"cannot reach the model server at http://127.0.0.1:{port}/v1 (all attempts to connect to"
        f" 127.0.0.1:{port} failed); is it running, and is the address that llm-switch names right?"
        " asking again in 0.5 s",
        f"model calls go to {afar.base_url} again",
    ]
    assert asked.read_text().count('"model":"local"') == 2
    assert "sk-12345678" not in asked.read_text()
    assert len(afar.requests) == 1
