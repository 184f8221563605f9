"""An agent whose hooks go to an attached daemon, and programs that it starts for its hooks."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

WAIT_S = 60.0
_ids = count(1)


class AgentTrouble(Exception):
    """The client or the daemon did not do what the measurement takes for granted."""


class AttachedAgent:
    """A home in which plugins are installed and attached to Claude Code. This process is the agent.

    Attributes:
        command: what the agent gives to `sh -c` for a call that is to be guarded.
        environment: the agent's.
    """

    def __init__(self, plugins: Sequence[Path], home: Path) -> None:
        for name in ("home", "run"):
            (home / name).mkdir(mode=0o700)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home / "home"),
            "XDG_RUNTIME_DIR": str(home / "run"),
        }
        self._home = home
        for plugin in plugins:
            self._sliphook("install", str(plugin), "--yes")
        self._sliphook("attach", "claude-code", "--yes")
        settings = json.loads((home / "home/.claude/settings.json").read_text())
        hooks = settings["hooks"]
        self.command: str = hooks["PreToolUse"][0]["hooks"][0]["command"]
        self._end: str = hooks["SessionEnd"][0]["hooks"][0]["command"]

    def _sliphook(self, *words: str) -> None:
        command = [sys.executable, "-m", "sliphook", *words]
        subprocess.run(command, env=self.environment, check=True, capture_output=True)

    @property
    def sockets(self) -> list[Path]:
        """Of the daemons that listen."""
        return list((self._home / "run/sliphook").glob("*.sock"))

    def call(self, session: str = "bench") -> bytes:
        """What the agent says of a call that the guard denies."""
        return json.dumps(
            {
                "session_id": session,
                "transcript_path": "/home/ada/.claude/projects/-home-ada-project/bench.jsonl",
                "cwd": "/home/ada/project",
                "permission_mode": "default",
                "hook_event_name": "PreToolUse",
                "tool_name": "Bash",
                "tool_input": {"command": "rm -rf build", "description": "remove the build"},
                "tool_use_id": f"toolu_{next(_ids):024}",
            }
        ).encode()

    def hook(self, session: str = "bench") -> None:
        """One hook, as the agent runs it."""
        said = Spawned(["/bin/sh", "-c", self.command], self.environment).run(self.call(session))
        if b'"deny"' not in said:
            raise AgentTrouble(repr(said))

    def ask_daemon(self, session: str = "bench") -> None:
        """The same without a client: from this process over the socket."""
        body = self.call(session)
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(self.sockets[0]))
            head = f"sliphook 1 claude-code PreToolUse {os.getpid()} closed {len(body)}\n"
            peer.sendall(head.encode() + body)
            peer.shutdown(socket.SHUT_WR)
            said = b"".join(iter(lambda: peer.recv(65536), b""))
        if b'"deny"' not in said:
            raise AgentTrouble(repr(said))

    def daemons(self) -> list[int]:
        """The processes of the daemons."""
        listing = subprocess.run(
            ["ps", "-A", "-ww", "-o", "pid=,args="], capture_output=True, text=True, check=True
        ).stdout
        lines = [line for line in listing.splitlines() if str(self._home / "run") in line]
        return [int(line.split()[0]) for line in lines if "sliphook.adapters.attached" in line]

    def end(self, session: str = "bench") -> None:
        """End the session, and wait until its daemon is gone."""
        before = len(self.sockets)
        told = json.dumps(
            {"session_id": session, "hook_event_name": "SessionEnd", "reason": "exit"}
        )
        Spawned(["/bin/sh", "-c", self._end], self.environment).run(told.encode())
        until_s = time.monotonic() + WAIT_S
        while before and len(self.daemons()) >= before:
            if time.monotonic() > until_s:
                raise AgentTrouble("the daemon does not end")
            time.sleep(0.01)


class Spawned:
    """A program that reads its stdin to the end, and writes a little.

    Without `subprocess`, whose own work would be a good part of what is measured.
    """

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        child_in, self._into = os.pipe()
        self._out, child_out = os.pipe()
        doing: Any = [(os.POSIX_SPAWN_DUP2, child_in, 0), (os.POSIX_SPAWN_DUP2, child_out, 1)]
        self._pid = os.posix_spawn(words[0], list(words), environment, file_actions=doing)
        os.close(child_in)
        os.close(child_out)

    def run(self, stdin: bytes) -> bytes:
        """Write its stdin and wait for its end; returns its stdout."""
        self.write(stdin)
        return self.end()

    def write(self, stdin: bytes) -> None:
        """Write its stdin, which fits into a pipe, and close it."""
        with suppress(BrokenPipeError):  # it does not read
            os.write(self._into, stdin)
        os.close(self._into)

    def end(self) -> bytes:
        """Wait for its end; returns its stdout."""
        said = b"".join(iter(lambda: os.read(self._out, 65536), b""))
        os.close(self._out)
        os.waitpid(self._pid, 0)
        return said


@contextmanager
def attached(plugins: Sequence[Path], home: Path) -> Generator[AttachedAgent]:
    """An agent of which no daemon is left at the end."""
    home.mkdir()
    agent = AttachedAgent(plugins, home)
    try:
        yield agent
    finally:
        for pid in agent.daemons():
            os.kill(pid, 15)
