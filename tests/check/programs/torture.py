"""A small plugin that keeps to the protocol.

`tests.check.broken` writes it with code before `serve()` that may replace what is defined here.
"""

from __future__ import annotations

import json
import os as os
import signal as signal
import subprocess as subprocess
import sys
import threading
import time

TYPE_CHECKING = False  # `typing` is not imported, as it costs time at each start
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MANIFEST: dict[str, Any] = {
    "protocol_version": 1,
    "name": "torture",
    "uses": ["notify"],
    "subscriptions": [
        {"event": "pre_tool_call", "match": {"tool_name": ["sh?l*"]}},
        {"event": "turn_end"},
        {"event": "session_start", "mode": "event", "match": {"source": "re*"}},
    ],
    "tools": [
        {
            "name": "add",
            "input_schema": {
                "type": "object",
                "properties": {
                    "a": {"type": "integer"},
                    "seconds": {"type": "number", "examples": [0, 30]},
                },
                "required": ["a"],
            },
        }
    ],
    "commands": [{"name": "hello"}],
}
ENDS_WITH_INPUT = True
RUNNING: dict[int, threading.Event] = {}
"""Tool calls that take time, by id; what is set cancels one."""
_writing = threading.Lock()


def say(**message: Any) -> None:
    with _writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def messages() -> Iterator[dict[str, Any]]:
    for line in sys.stdin.buffer:
        if line.startswith(b"{"):
            yield json.loads(line)


def fail(code: int, message: str = "no") -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def call(params: dict[str, Any]) -> dict[str, Any]:
    if params["name"] != "add":
        return fail(-32602)
    if type(params["arguments"].get("a")) is not int:
        return {"result": {"content": "a is an integer", "is_error": True}}
    return {"result": str(params["arguments"]["a"] + 1)}


def hook(params: dict[str, Any]) -> dict[str, Any]:
    return {"result": {"decision": "allow"}}


def take(message: dict[str, Any]) -> dict[str, Any] | None:
    """The members of the reply to a request; None: no reply."""
    method = message["method"]
    params: Any = message.get("params")
    if method == "initialize":
        speaks = 1 in params["protocol_versions"]
        return {"result": MANIFEST} if speaks else fail(-32602, "no common version: I speak 1")
    if method in ("ping", "shutdown"):
        return {"result": None}
    if method == "hook/pre_tool_call":
        return hook(params)
    if method == "tool/call":
        return call(params)
    if method == "command/run" and params["name"] == "hello":
        return {"result": {"text": "hello"}}
    if method == "command/run":
        return fail(-32602, f"there is no command {params['name']}")
    return fail(-32601, f"unknown method {method}")


def seconds_of(message: dict[str, Any]) -> float:
    seconds: Any = 0
    if message["method"] == "tool/call":
        seconds = message["params"]["arguments"].get("seconds", 0)
    return seconds if isinstance(seconds, (int, float)) else 0


def run(message: dict[str, Any]) -> None:
    """A tool call that takes time, in a thread."""
    id = message["id"]
    answer = fail(-32800) if RUNNING[id].wait(seconds_of(message)) else take(message)
    del RUNNING[id]
    say(id=id, **(answer or {}))


def begin(message: dict[str, Any]) -> None:
    RUNNING[message["id"]] = threading.Event()
    threading.Thread(target=run, args=(message,), daemon=True).start()


def cancel(id: int) -> None:
    if id in RUNNING:
        RUNNING[id].set()


def told(message: dict[str, Any]) -> None:
    if message["method"] == "exit":
        sys.exit(0)


def serve() -> None:
    for message in messages():
        if "method" not in message:
            continue  # a reply
        if "id" not in message:
            if message["method"] == "$/cancelRequest":
                cancel(message["params"]["id"])
            told(message)
        elif seconds_of(message):
            begin(message)
        elif (answer := take(message)) is not None:
            say(id=message["id"], **answer)
    while not ENDS_WITH_INPUT:
        time.sleep(1)
