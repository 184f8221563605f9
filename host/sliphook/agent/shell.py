"""The tool `shell`: commands of the model in a folder of the user, each in a group of its own."""

from __future__ import annotations

import math
import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import trio

from sliphook.plugin.secrets import own_keys
from sliphook.process.own_threads import OwnThreads
from sliphook_sdk.protocol import ToolResult

from .turn import AgentTool

__all__ = ["SHELL", "shell_tool"]

SHELL: Final = "shell"

TIMEOUT_S: Final = 120.0
"""How long a command may take if the model does not say."""
MAX_TIMEOUT_S: Final = 3_600.0
GRACE_S: Final = 0.5
"""How long processes get to end by SIGTERM, before they are killed."""
KEPT_BYTES: Final = 32 * 1024
"""So much of the beginning and so much of the end of an output is kept."""

_SH: Final = "/bin/sh"
_waits = OwnThreads("waits for commands", math.inf)
"""A model may call as many commands at once as an answer may have."""
_READ_BYTES: Final = 65_536
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "minLength": 1, "description": "for /bin/sh"},
        "timeout_s": {
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": MAX_TIMEOUT_S,
            "description": f"seconds that it may take; {TIMEOUT_S:g} if you do not say",
        },
    },
    "required": ["command"],
    "additionalProperties": False,
}


def shell_tool(folder: Path, environ: Mapping[str, str], *, asks: bool) -> AgentTool:
    """The tool.

    A command has no stdin. It is over when the shell is; what it leaves in the background ends with
    it, and an interrupt or the timeout ends all of its processes.

    Args:
        folder: where commands run.
        environ: their variables, without those that hold keys of the agent.
        asks: the user approves each command before it runs.
    """
    keys = frozenset(own_keys(environ))
    variables = {name: value for name, value in environ.items() if value not in keys}
    return AgentTool(
        name=SHELL,
        description="Run a command in the user's project folder. You read its output and its exit"
        " status. It has no input, and nothing that it leaves in the background stays.",
        input_schema=_SCHEMA,
        run=partial(_run, folder, variables),
        kind="shell",
        asks=asks,
    )


class _Output:
    """The beginning and the end of what a command has written."""

    def __init__(self) -> None:
        self._head = b""
        self._tail = b""
        self._left_out = 0

    def add(self, data: bytes | bytearray) -> None:
        room = KEPT_BYTES - len(self._head)
        self._head += data[:room]
        tail = self._tail + data[room:]
        self._tail = tail[-KEPT_BYTES:]
        self._left_out += len(tail) - len(self._tail)

    def text(self) -> str:
        gap = f"\n[{self._left_out:,} bytes left out]\n".encode() if self._left_out else b""
        return (self._head + gap + self._tail).decode("utf-8", "replace")


async def _run(folder: Path, environ: Mapping[str, str], arguments: dict[str, Any]) -> ToolResult:
    try:
        process = await trio.lowlevel.open_process(
            [_SH, "-c", arguments["command"]],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return ToolResult(content=f"the command cannot be started: {error}", is_error=True)
    assert process.stdout is not None
    output, timeout_s = _Output(), arguments.get("timeout_s", TIMEOUT_S)
    try:
        with trio.move_on_after(timeout_s) as limit:
            async with process.stdout, trio.open_nursery() as nursery:
                nursery.start_soon(_read, process.stdout, output)
                await _ended(process.pid)
                # what is left in the background holds the pipe open
                _signal(process.pid, signal.SIGTERM)
                nursery.cancel_scope.deadline = trio.current_time() + GRACE_S
    finally:
        with trio.CancelScope(shield=True):
            await _end(process)
    status = process.returncode
    said = [output.text().rstrip("\n")]
    if limit.cancelled_caught:
        said.append(f"[stopped: it took more than {timeout_s:g} s]")
    elif status:
        said.append(f"[exit status {status}]" if status > 0 else f"[killed by signal {-status}]")
    return ToolResult(
        content="\n".join(filter(None, said)) or "[no output]",
        is_error=bool(limit.cancelled_caught or status),
    )


async def _read(stream: trio.abc.ReceiveStream, output: _Output) -> None:
    while data := await stream.receive_some(_READ_BYTES):
        output.add(data)


async def _ended(pid: int) -> None:
    """Wait for the end of the shell, and leave it unreaped: so its id stays that of the group."""
    with suppress(ChildProcessError):  # others have reaped it
        await _waits.run(
            partial(os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT), abandon_on_cancel=True
        )


async def _end(process: trio.Process) -> None:
    """End what is left of the group."""
    _signal(process.pid, signal.SIGTERM)
    with trio.move_on_after(GRACE_S):
        await _ended(process.pid)
    _signal(process.pid, signal.SIGKILL)
    await process.wait()


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):  # macOS, for a group of zombies
        os.killpg(group, number)
