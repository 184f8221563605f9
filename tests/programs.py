"""Small plugins without an SDK: executables written for one test, that record every message they are sent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio

WAIT_S = 10.0
"""Nothing here takes so long unless it hangs."""

EVERYTHING = [
    "session_start",
    "session_reset",
    "session_end",
    "turn_start",
    "user_prompt_submit",
    "pre_llm_call",
    "post_llm_call",
    "llm_call_failed",
    "pre_tool_call",
    "post_tool_call",
    "stop",
    "agent_loop_stopped",
    "turn_end",
    "notification",
    "user_input_required",
    "user_input_received",
    "subagent_start",
    "subagent_stop",
]

_RUNTIME = """#!{python} -SE
import json, os, signal, sys, time

NOTHING = object()
LOG = os.open({log!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
MANIFEST = json.loads({manifest!r})

def record(message):
    os.write(LOG, json.dumps(message).encode() + b"\\n")

def raw(data):
    while data:
        data = data[os.write(1, data):]

def send(**message):
    raw(json.dumps({{"jsonrpc": "2.0", **message}}).encode() + b"\\n")

def reply(id, result):
    send(id=id, result=result)

def request(id, method, **params):
    send(id=id, method=method, params=params)

def receive():
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            record({{"method": "EOF"}})
            sys.exit(0)
        if line.startswith(b"{{"):
            message = json.loads(line)
            record(message)
            return message

def wait_for_file(path):
    while not os.path.exists(path):
        time.sleep(0.005)

DEFAULTS = {{"tool/call": {{"content": "fine"}}}}

def on(method, params, id):
    return DEFAULTS.get(method, {{}})

def heard(message):
    pass

{before}

def serve():
    while True:
        message = receive()
        method = message.get("method")
        if method == "initialize":
            reply(message["id"], MANIFEST)
        elif method == "exit":
            sys.exit(0)
        elif method is not None and "id" in message:
            answer = on(method, message["params"], message["id"])
            if answer is not NOTHING:
                reply(message["id"], answer)
        else:
            heard(message)

{main}
"""


class Program:
    """One plugin's executable and what its processes have been sent, in order."""

    def __init__(self, path: Path, log: Path) -> None:
        self.path = path
        self._log = log

    def messages(self) -> list[dict[str, Any]]:
        """All that it has received, replies to its own requests too."""
        if not self._log.exists():
            return []
        return [
            json.loads(line)
            for line in self._log.read_text().splitlines(keepends=True)
            if line.endswith("\n")
        ]

    def methods(self) -> list[str]:
        """The methods of what it received, in order."""
        return [message["method"] for message in self.messages() if "method" in message]

    def names(self, session_id: str | None = None) -> list[str]:
        """The hooks and events it received, without saying which; of one session."""
        return [_name(message) for message in self.fired(session_id)]

    def fired(self, session_id: str | None = None) -> list[dict[str, Any]]:
        """The hooks and events it received; of one session."""
        fired = [
            message
            for message in self.messages()
            if message.get("method", "").startswith(("hook/", "event/"))
        ]
        return [
            message for message in fired if session_id in (None, message["params"]["session_id"])
        ]

    def params(self, method: str) -> list[dict[str, Any]]:
        """The params of every message of that method."""
        return [message["params"] for message in self.messages() if message.get("method") == method]

    def replies(self) -> dict[int | str, dict[str, Any]]:
        """What came back on its own requests, by id."""
        return {message["id"]: message for message in self.messages() if "method" not in message}

    async def hears(self, method: str, *, times: int = 1) -> None:
        """Wait until it has received that method so often."""
        await until(lambda: self.methods().count(method) >= times)

    async def has_reply(self, id: int | str) -> dict[str, Any]:
        """Wait for the reply to its own request."""
        await until(lambda: id in self.replies())
        return self.replies()[id]


def _name(message: dict[str, Any]) -> str:
    name: str = message["method"].partition("/")[2]
    return name


async def until(done: Callable[[], bool]) -> None:
    """Wait for something that happens outside of this process or in another task."""
    with trio.fail_after(WAIT_S):
        while not done():  # noqa: ASYNC110 - there is no event for what another process does
            await trio.sleep(0.002)


class Workshop:
    """Writes plugins into one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def program(
        self,
        name: str = "probe",
        *,
        hears: Sequence[str] = (),
        subscriptions: Sequence[dict[str, Any]] = (),
        tools: Sequence[str | dict[str, Any]] = (),
        on: str = "",
        before: str = "",
        main: str = "serve()",
        **manifest: Any,
    ) -> Program:
        """Write one.

        Args:
            name: of the plugin and the file.
            hears: what it subscribes to with all defaults.
            subscriptions: what it subscribes to otherwise.
            tools: what it offers, by name or whole.
            on: body of `on(method, params, id)`: how a request is answered; without a return it
                abstains, and a tool is fine.
            before: code that runs first; may define `heard(message)` for notifications and replies.
            main: what it does; the default is to serve.
            manifest: more fields of the manifest.
        """
        path, log = self.folder / name, self.folder / f"{name}.log"
        declared = {
            "protocol_version": 1,
            "name": name,
            "subscriptions": [*({"event": event} for event in hears), *subscriptions],
            "tools": [{"name": tool} if isinstance(tool, str) else tool for tool in tools],
            **manifest,
        }
        body = textwrap.indent(textwrap.dedent(on), "    ")
        handler = (
            f"def on(method, params, id):\n{body}\n    return DEFAULTS.get(method, {{}})\n"
            if on
            else ""
        )
        text = _RUNTIME.format(
            python=sys.executable,
            log=str(log),
            manifest=json.dumps(declared),
            before=textwrap.dedent(before) + "\n" + handler,
            main=textwrap.dedent(main),
        )
        path.write_text(text)
        path.chmod(0o755)
        return Program(path, log)

    def flag(self, name: str) -> Path:
        """A file that a plugin can wait for."""
        return self.folder / f"{name}.flag"


def group_lives(group: int) -> bool:
    """Whether any process of the group runs.

    A dead grandchild does not count: reaping it is the system's.
    """
    listing = subprocess.run(
        ["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True, check=True
    ).stdout
    rows = (line.split() for line in listing.splitlines())
    return any(int(pgid) == group and not state.startswith("Z") for pgid, state in rows)


def stop(pid: int) -> None:
    """SIGSTOP, and wait until it has come to rest."""
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    """Writes plugins into the test's own folder."""
    return Workshop(tmp_path)
