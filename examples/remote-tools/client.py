#!/usr/bin/env python3
"""A client of remote-tools: `RemoteTools` for your own programs, and a robot's arm to try it.

REMOTE_TOOLS_TOKEN=... python client.py
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

ToolFunction = Callable[..., Awaitable[str]]
GO_AWAY = 1008


class RunningCall:
    """What a tool reports its progress to, and its result goes to."""

    def __init__(self, socket: ClientConnection, call_id: str) -> None:
        self._socket = socket
        self._call_id = call_id

    async def say(self, type: str, **fields: Any) -> None:
        await self._socket.send(json.dumps({"type": type, "call_id": self._call_id, **fields}))

    async def progress(self, message: str, fraction: float) -> None:
        await self.say("client:tool-progress", message=message, fraction=fraction)


class RemoteTools:
    """Offers async functions to the agent; a call is a task, which a cancel cancels."""

    def __init__(self, url: str, token: str, name: str) -> None:
        self._url = url
        self._hello = {"type": "client:hello", "token": token, "name": name}
        self._functions: dict[str, ToolFunction] = {}
        self._offers: list[dict[str, Any]] = []

    def tool(
        self, schema: dict[str, Any], timeout_s: float = 30
    ) -> Callable[[ToolFunction], ToolFunction]:
        """Offer a function: it gets the arguments by name, and `call` to report progress."""

        def register(function: ToolFunction) -> ToolFunction:
            name = function.__name__
            self._functions[name] = function
            self._offers.append(
                {
                    "name": name,
                    "description": function.__doc__ or "",
                    "input_schema": schema,
                    "timeout_s": timeout_s,
                }
            )
            return function

        return register

    async def serve(self) -> None:
        """Serve the agent, and the next one; returns when the plugin says not to come again."""
        while True:
            try:
                async with connect(self._url, compression=None) as socket:
                    await self._serve(socket)
            except OSError as exc:
                print(f"not connected: {exc}", file=sys.stderr)
            else:
                print(f"closed: {socket.close_code} {socket.close_reason}", file=sys.stderr)
                if socket.close_code == GO_AWAY:
                    return
            await asyncio.sleep(1)

    async def _serve(self, socket: ClientConnection) -> None:
        calls: dict[str, asyncio.Task[None]] = {}
        with suppress(ConnectionClosed):
            await socket.send(json.dumps(self._hello))
            await socket.send(json.dumps({"type": "client:tools", "tools": self._offers}))
            async for text in socket:
                self._take(json.loads(text), socket, calls)
        for task in calls.values():  # their results are not wanted any more
            task.cancel()

    def _take(
        self, said: dict[str, Any], socket: ClientConnection, calls: dict[str, asyncio.Task[None]]
    ) -> None:
        if said["type"] == "agent:tool-call":
            call_id = said["call_id"]
            task = asyncio.ensure_future(self._call(said, RunningCall(socket, call_id)))
            calls[call_id] = task
            task.add_done_callback(lambda _: calls.pop(call_id, None))
        elif said["type"] == "agent:tool-call-cancelled" and said["call_id"] in calls:
            calls[said["call_id"]].cancel()
        elif said["type"] == "agent:error":
            print(f"the plugin says: {said['message']}", file=sys.stderr)

    async def _call(self, said: dict[str, Any], call: RunningCall) -> None:
        try:
            content = await self._functions[said["tool"]](**said["arguments"], call=call)
            result = {"content": content}
        except Exception as exc:  # the model reads what went wrong
            result = {"content": f"{type(exc).__name__}: {exc}", "is_error": True}
        with suppress(ConnectionClosed):
            await call.say("client:tool-result", result=result)


arm = RemoteTools(
    os.environ.get("REMOTE_TOOLS_URL", "ws://127.0.0.1:8765"),
    os.environ.get("REMOTE_TOOLS_TOKEN", ""),
    name="arm",
)
CM = {"type": "integer", "minimum": 0, "maximum": 100}


class Rail:
    at = 0  # cm, where the arm is


@arm.tool({"type": "object", "properties": {"to": CM}, "required": ["to"]}, timeout_s=60)
async def move_arm(to: int, *, call: RunningCall) -> str:
    """Move the robot's arm along its rail, to 0 to 100 cm; it moves 10 cm a second."""
    start, step = Rail.at, 1 if to > Rail.at else -1
    try:
        for at in range(start + step, to + step, step):
            await asyncio.sleep(0.1)
            Rail.at = at
            await call.progress(f"at {at} cm", abs(at - start) / abs(to - start))
    except asyncio.CancelledError:
        print(f"told to stop: the arm stands at {Rail.at} cm", flush=True)
        raise
    return f"the arm is at {Rail.at} cm"


@arm.tool({"type": "object", "properties": {}})
async def where_is_the_arm(*, call: RunningCall) -> str:
    """Where the robot's arm is."""
    return f"the arm is at {Rail.at} cm"


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(arm.serve())
