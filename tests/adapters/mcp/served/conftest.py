"""A home with installed plugins, and `sliphook mcp` in it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from tests.adapters.attached.conftest import Install, agents, built, home, install
from tests.programs import WAIT_S

__all__ = ["agents", "built", "home", "install"]

GUARD = """
if method == "hook/pre_tool_call":
    text = json.dumps(params["arguments"])
    if "forbidden" in text:
        return {"decision": "deny", "reason": "no"}
    if "ask" in text:
        return {"decision": "ask", "reason": "is that meant?"}
    if "secret" in text:
        return {"replace": {"arguments": {"text": "public"}}, "context": ["it was changed"]}
if method == "tool/call":
    text = params["arguments"]["text"]
    if text == "more":
        request("r1", "host/tools", tools=[*MANIFEST["tools"], {"name": "late"}])
    if text == "steps":
        for step in (1, 2):
            send(method="$/progress", params={"id": id, "message": f"step {step}"})
    if text == "hang":
        return NOTHING
    return {"content": f"echo: {text}", "data": {"said": text}}
if method == "command/run":
    return {"text": "deploys of " + params["arguments"]}
"""
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
PLUGIN: dict[str, Any] = {
    "subscriptions": [
        {"event": "pre_tool_call", "on_failure": "closed", "replaces": True},
        *({"event": name} for name in ("session_start", "turn_start", "turn_end", "session_end")),
        {"event": "post_tool_call"},
    ],
    "tools": [{"name": "echo", "description": "Echo.", "input_schema": SCHEMA}],
    "uses": ["tools"],
    "commands": [{"name": "deploys", "description": "Show deploys."}],
    "on": GUARD,
}


class Server:
    """A running `sliphook mcp`, as a client sees it."""

    def __init__(self, process: trio.Process) -> None:
        self.process = process
        self._bytes = bytearray()
        self.notified: list[dict[str, Any]] = []

    async def say(self, message: Mapping[str, Any]) -> None:
        """Send one message."""
        assert self.process.stdin is not None
        await self.process.stdin.send_all(
            json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        )

    async def hear(self) -> dict[str, Any]:
        """The next message."""
        assert self.process.stdout is not None
        while b"\n" not in self._bytes:
            piece = await self.process.stdout.receive_some()
            assert piece, "the server has ended"
            self._bytes += piece
        line, _, rest = bytes(self._bytes).partition(b"\n")
        self._bytes = bytearray(rest)
        found: dict[str, Any] = json.loads(line)
        return found

    async def _next(self, is_meant: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next of these messages; what comes before is kept in `notified`."""
        while not is_meant(message := await self.hear()):
            self.notified.append(message)
        return message

    async def answer(self, id: int | str) -> dict[str, Any]:
        """The answer to a request."""
        return await self._next(lambda one: one.get("id") == id and "method" not in one)

    async def result(self) -> dict[str, Any]:
        """The answer to any request, also one that came before another."""
        for message in self.notified:
            if "method" not in message:
                self.notified.remove(message)
                return message
        return await self._next(lambda one: "method" not in one)

    async def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Send one request; its answer."""
        await self.say(message)
        return await self.answer(message["id"])

    async def told(self, method: str) -> dict[str, Any]:
        """The next notification of that method."""
        return await self._next(lambda one: one.get("method") == method)


Mcp = Callable[..., Any]


@pytest.fixture
def mcp_server(home: object) -> Mcp:
    """Start `sliphook mcp` with these words and variables; its stdin is closed at the end."""

    @asynccontextmanager
    async def start(*words: str, status: int = 0, **variables: str) -> AsyncGenerator[Server]:
        with trio.fail_after(WAIT_S):
            process = await trio.lowlevel.open_process(
                [sys.executable, "-m", "sliphook", "mcp", *words],
                stdin=-1,
                stdout=-1,
                env={**os.environ, **variables},
            )
            try:
                yield Server(process)
                assert process.stdin is not None
                await process.stdin.aclose()
                assert await process.wait() == status
            finally:
                with trio.CancelScope(shield=True):
                    if process.returncode is None:
                        process.kill()
                    await process.wait()
                    for stream in (process.stdin, process.stdout):
                        assert stream is not None
                        await stream.aclose()

    return start


@pytest.fixture
def guard(install: Install) -> Any:
    """The installed plugin, with its journal."""
    return install(**PLUGIN)
