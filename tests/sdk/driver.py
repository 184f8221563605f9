"""The host's side of one plugin process, by hand: frames over pipes, every wait bounded."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from sliphook_sdk.protocol import CATALOGUE, CommandRunParams, InitializeParams, ToolCallParams
from sliphook_sdk.protocol.describe import example_of

PATIENCE_S = 120.0

Message = dict[str, Any]


class Child:
    """A plugin process.

    Replies and unasked messages are kept until the test asks for them.
    """

    def __init__(self, argv: list[str], cwd: Path) -> None:
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._stdin, self._stdout, self._stderr = (
            self._process.stdin,
            self._process.stdout,
            self._process.stderr,
        )
        self._buffer = b""
        self._next_id = 0
        self.data_dir = cwd
        self.replies: dict[int, Message] = {}
        self.unasked: list[Message] = []

    def frame(self, message: Message) -> bytes:
        body = json.dumps(
            {"jsonrpc": "2.0", **message}, separators=(",", ":"), ensure_ascii=False
        ).encode()
        return b"Content-Length: %d\r\n\r\n%b\n" % (len(body) + 1, body)

    def write(self, *messages: Message) -> None:
        """All of them in one write."""
        self.write_raw(b"".join(self.frame(message) for message in messages))

    def write_raw(self, data: bytes) -> None:
        os.write(self._stdin.fileno(), data)

    def asking(self, method: str, params: Message) -> Message:
        """A request with the next id."""
        self._next_id += 1
        return {"id": self._next_id, "method": method, "params": params}

    def request(self, method: str, params: Message) -> int:
        message = self.asking(method, params)
        self.write(message)
        return int(message["id"])

    def notify(self, method: str, params: Message) -> None:
        self.write({"method": method, "params": params})

    def reply(self, request_id: int) -> Message:
        """The reply to a request."""
        self._pump(lambda: request_id in self.replies)
        return self.replies.pop(request_id)

    def result(self, request_id: int) -> Any:
        reply = self.reply(request_id)
        assert "result" in reply, reply
        return reply["result"]

    def ask(self, method: str, params: Message) -> Any:
        return self.result(self.request(method, params))

    def said(self, method: str) -> Message:
        """The params of the first unasked message with that method; `_id` is a request's id."""

        def find() -> bool:
            return any(message["method"] == method for message in self.unasked)

        self._pump(find)
        message = next(message for message in self.unasked if message["method"] == method)
        self.unasked.remove(message)
        return {**message["params"], "_id": message.get("id")}

    def initialize(self, **changes: Any) -> Any:
        params = example_of(InitializeParams)
        params["plugin"] = {"name": "torture", "data_dir": str(self.data_dir), "config": {}}
        return self.ask("initialize", {**params, **changes})

    def close_input(self) -> None:
        self._stdin.close()

    def terminate(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def ended(self) -> int:
        """The exit status; the last messages are added to `replies` and `unasked`."""
        self._pump(lambda: False, until_eof=True)
        return self._process.wait(PATIENCE_S)

    def stderr(self) -> str:
        """All of standard error, after the end."""
        return self._stderr.read().decode()

    def stray(self) -> bytes:
        """What came on standard output and was no message."""
        return self._buffer

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_S)
        for stream in (self._stdin, self._stdout, self._stderr):
            stream.close()

    def _pump(self, done: Any, *, until_eof: bool = False) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not done():
            left = deadline - time.monotonic()
            assert left > 0, (
                f"nothing came for {PATIENCE_S} s; unasked: {self.unasked}; left over: "
                f"{self._buffer!r}"
            )
            if not select.select([self._stdout], [], [], left)[0]:
                continue
            data = os.read(self._stdout.fileno(), 65536)
            if not data:
                assert until_eof, (
                    f"the plugin has closed its output: {self._stderr.read().decode()}"
                )
                return
            self._buffer += data
            self._split()

    def _split(self) -> None:
        while header := re.match(rb"Content-Length: (\d+)\r\n\r\n", self._buffer):
            end = header.end() + int(header[1])
            if len(self._buffer) < end:
                return
            message = json.loads(self._buffer[header.end() : end])
            self._buffer = self._buffer[end:]
            if "method" in message:
                self.unasked.append(message)
            else:
                assert message["id"] not in self.replies, f"two replies to {message['id']}"
                self.replies[message["id"]] = message


def payload(name: str, **fields: Any) -> Message:
    """Sample params of a hook or event."""
    return {**example_of(CATALOGUE[name].payload), **fields}


def tool_call(tool: str, session_id: str = "s-1", **arguments: Any) -> Message:
    """Sample params of `tool/call`."""
    return {
        **example_of(ToolCallParams),
        "session_id": session_id,
        "name": tool,
        "arguments": arguments,
    }


def command(name: str, arguments: str) -> Message:
    """Sample params of `command/run`."""
    return {**example_of(CommandRunParams), "name": name, "arguments": arguments}


def python(path: Path) -> list[str]:
    return [sys.executable, str(path)]
