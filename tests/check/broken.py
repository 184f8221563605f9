"""A small plugin that keeps to the protocol, and ways to break it."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

_PLUGIN = '''\
#!{python} -S
import json, os, signal, subprocess, sys, time

MANIFEST = {{
    "protocol_version": 1, "name": "torture", "uses": ["notify"],
    "subscriptions": [
        {{"event": "pre_tool_call", "match": {{"tool_name": ["sh?l*"]}}}},
        {{"event": "turn_end"}},
        {{"event": "session_start", "mode": "event", "match": {{"source": "re*"}}}},
    ],
    "tools": [{{"name": "add", "input_schema": {{"type": "object", "properties": {{"a": {{"type": "integer"}}}}, "required": ["a"]}}}}],
    "commands": [{{"name": "hello"}}],
}}
ENDS_WITH_INPUT = True

def say(**message):
    sys.stdout.write(json.dumps({{"jsonrpc": "2.0", **message}}) + "\\n")
    sys.stdout.flush()

def messages():
    for line in sys.stdin.buffer:
        if line.startswith(b"{{"):
            yield json.loads(line)

def fail(code):
    return {{"error": {{"code": code, "message": "no"}}}}

def call(params):
    if params["name"] != "add":
        return fail(-32602)
    if type(params["arguments"].get("a")) is not int:
        return {{"result": {{"content": "a is an integer", "is_error": True}}}}
    return {{"result": str(params["arguments"]["a"] + 1)}}

def hook(params):
    return {{"result": {{"decision": "allow"}}}}

def take(message):
    """What a request is answered with; None answers nothing."""
    method, params = message["method"], message.get("params")
    if method == "initialize":
        return {{"result": MANIFEST}}
    if method in ("ping", "shutdown"):
        return {{"result": None}}
    if method == "hook/pre_tool_call":
        return hook(params)
    if method == "tool/call":
        return call(params)
    if method == "command/run":
        return {{"result": {{"text": "hello"}}}}
    return fail(-32601)

def told(message):
    if message["method"] == "exit":
        sys.exit(0)

{broken}
if __name__ == "__main__":
    for message in messages():
        if "method" not in message:
            continue  # a reply
        if "id" not in message:
            told(message)
        elif (answer := take(message)) is not None:
            say(id=message["id"], **answer)
    while not ENDS_WITH_INPUT:
        time.sleep(1)
'''


def write(folder: Path, broken: str = "") -> Path:
    """The plugin as an executable.

    `broken` is code that stands behind its functions, and may replace them.
    """
    path = folder / "torture"
    path.write_text(_PLUGIN.format(python=sys.executable, broken=textwrap.dedent(broken)))
    path.chmod(0o700)
    return path
