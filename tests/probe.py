"""The first part of every plugin that `tests.programs.Workshop` writes.

What a test adds comes after it.

The workshop replaces each `"@NAME@"` by that value. There is no SDK and there are no site packages,
so that it starts quickly.
"""

from __future__ import annotations

import json
import os
import signal as signal  # for what a test adds
import sys
import time

TYPE_CHECKING = False  # `typing` is not imported, as it costs time at each start
if TYPE_CHECKING:
    from typing import Any

NOTHING = object()
"""What `on` returns if the request gets no answer, or has it already."""

MANIFEST: dict[str, Any] = json.loads("@MANIFEST@")
FOLDER = "@FOLDER@"
LOG = os.open("@LOG@", os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def record(message: dict[str, Any]) -> None:
    os.write(LOG, json.dumps(message).encode() + b"\n")


def raw(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def send(**message: Any) -> None:
    raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def reply(id: int | str, result: object) -> None:
    send(id=id, result=result)


def request(id: int | str, method: str, **params: Any) -> None:
    send(id=id, method=method, params=params)


def receive() -> dict[str, Any]:
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            record({"method": "EOF"})
            sys.exit(0)
        if line.startswith(b"{"):
            message: dict[str, Any] = json.loads(line)
            record(message)
            return message


def wait_for_file(path: str) -> None:
    while not os.path.exists(path):
        time.sleep(0.005)


def flag(name: str) -> str:
    """The path of the test's `shop.flag(name)`."""
    return os.path.join(FOLDER, f"{name}.flag")


def wait_for_flag(name: str) -> None:
    wait_for_file(flag(name))


def set_flag(name: str) -> bool:
    """False if it was set before, by this process or an earlier one."""
    try:
        os.close(os.open(flag(name), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


# -- what a test may replace


def on(method: str, params: dict[str, Any], id: int | str) -> object:
    return by_default(method)


def heard(message: dict[str, Any]) -> None:
    pass


# -- the loop


def by_default(method: str) -> object:
    return {"content": "fine"} if method == "tool/call" else {}


def serve() -> None:
    while True:
        message = receive()
        method = message.get("method")
        if method == "initialize":
            if 1 in message["params"].get("protocol_versions", [1]):
                reply(message["id"], MANIFEST)
            else:
                send(id=message["id"], error={"code": -32602, "message": "I speak version 1"})
        elif method == "exit":
            sys.exit(0)
        elif method is not None and "id" in message:
            answer = on(method, message["params"], message["id"])
            if answer is not NOTHING:
                reply(message["id"], answer)
        else:
            heard(message)
