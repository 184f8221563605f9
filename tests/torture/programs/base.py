"""The first part of every misbehaving program in Python; `tests.torture.case` adds its code.

The case replaces `"@MANIFEST@"` by its own.
"""

from __future__ import annotations

import json
import os
import select as select
import signal as signal
import subprocess as subprocess
import sys
import threading as threading
import time as time

TYPE_CHECKING = False  # `typing` is not imported, as it costs time at each start
if TYPE_CHECKING:
    from typing import Any

MANIFEST: dict[str, Any] = json.loads("@MANIFEST@")
_unread = b""


def raw(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def dump(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


def send(**message: Any) -> None:
    raw(dump(**message) + b"\n")


def reply(id: object, result: object = None) -> None:
    send(id=id, result=result)


def receive() -> dict[str, Any]:
    global _unread
    while True:
        line, lf, rest = _unread.partition(b"\n")
        if lf:
            _unread = rest
            if line.startswith(b"{"):
                message: dict[str, Any] = json.loads(line)
                return message
            continue
        data = os.read(0, 65536)
        if not data:
            sys.exit(0)
        _unread += data


def receive_reply() -> dict[str, Any]:
    while True:
        message = receive()
        if "method" not in message:
            return message


def initialize() -> object:
    """Wait for the handshake; the id of its request."""
    while True:
        message = receive()
        if message.get("method") == "initialize":
            return message["id"]


def greet(**more: Any) -> None:
    reply(initialize(), {**MANIFEST, **more})


def polite(message: dict[str, Any]) -> None:
    method = message.get("method")
    if method == "exit":
        sys.exit(0)
    if method == "shutdown" or method == "ping":
        reply(message["id"])


def hook() -> object:
    """Wait for a hook; the id of its request."""
    while True:
        message = receive()
        if str(message.get("method")).startswith("hook/") and "id" in message:
            return message["id"]
        polite(message)


def serve() -> None:
    while True:
        reply(hook(), {})


def once(name: str = "once") -> bool:
    """True the first time, over all processes."""
    try:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True
