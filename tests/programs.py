"""Small plugins without an SDK, written for one test; they record each message that they get."""

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

WAIT_S = 120.0
"""The bound of every wait; only a test that hangs reaches it."""

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
    "submission_end",
    "turn_end",
    "notification",
    "user_input_required",
    "user_input_received",
    "subagent_start",
    "subagent_stop",
]

_PROBE = Path(__file__).with_name("probe.py")


def filled(program: Path, **values: str) -> str:
    """The text of a file, with a Python literal of the value in place of each `"@NAME@"`."""
    text = program.read_text(encoding="utf-8")
    for name, value in values.items():
        assert f'"@{name}@"' in text, f"{program} has no place for {name}"
        text = text.replace(f'"@{name}@"', repr(value))
    return text


def whole_lines(file: Path) -> list[str]:
    """The lines of a file that another process appends to; half a line is not there yet."""
    data = file.read_bytes() if file.exists() else b""
    return [line.decode() for line in data.split(b"\n")[:-1]]


def case_of(method: str, body: str) -> str:
    """The body of `on` for one method; another method gets the usual answer."""
    return f"if method == {method!r}:\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ")


class Program:
    """One plugin's executable and what its processes have been sent, in order."""

    def __init__(self, path: Path, log: Path) -> None:
        self.path = path
        self._log = log

    def messages(self) -> list[dict[str, Any]]:
        """All that it has received, replies to its own requests too."""
        return [json.loads(line) for line in whole_lines(self._log)]

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


def output_of(program: str) -> str:
    """What a Python program prints in a process of its own, which has to end well."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=True,
    )
    return done.stdout


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
        """Write one: `tests/probe.py`, and then the code that is given here.

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
        handler = textwrap.indent(textwrap.dedent(on), "    ") + "\n    return by_default(method)"
        parts = [
            f"#!{sys.executable} -SE",
            filled(_PROBE, MANIFEST=json.dumps(declared), FOLDER=str(self.folder), LOG=str(log)),
            textwrap.dedent(before),
            f"def on(method, params, id):\n{handler}",
            textwrap.dedent(main),
        ]
        path.write_text("\n".join(parts) + "\n", encoding="utf-8")
        path.chmod(0o755)
        return Program(path, log)

    def flag(self, name: str) -> Path:
        """A file that a plugin can wait for; in the plugin it is `flag(name)`."""
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
def patient_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """No plugin is ended before it has done what it does at `shutdown`, however busy the machine."""
    for name in ("SHUTDOWN_TIMEOUT_S", "EXIT_GRACE_S", "TERM_GRACE_S"):
        monkeypatch.setattr(f"sliphook.process.shutdown.{name}", WAIT_S)


@pytest.fixture
def patient_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The logs are written to their end before they are closed, however busy the machine."""
    monkeypatch.setattr("sliphook.process.log_files.CLOSE_S", WAIT_S)


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    """Writes plugins into the test's own folder."""
    return Workshop(tmp_path)
