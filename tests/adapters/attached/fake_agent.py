"""A fake agent: it runs hooks as a real one does, with `sh -c`, in a process of its own."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from sliphook.adapters.attached.build import Client
from tests.adapters.dialects.recorded import event_of, payload
from tests.programs import WAIT_S

_LOOP = """
import json, subprocess, sys, threading
def run(asked, said, at):
    words = ["sh", "-c", asked["command"]]
    done = subprocess.run(words, input=asked["stdin"].encode("utf-8", "surrogateescape"), capture_output=True)
    said[at] = [done.returncode, done.stdout.decode(), done.stderr.decode()]
for line in sys.stdin:
    asked = json.loads(line)
    said = [None] * len(asked)
    threads = [threading.Thread(target=run, args=(one, said, at)) for at, one in enumerate(asked)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(json.dumps(said), flush=True)
"""

_ID_NAMES = {"copilot": "sessionId", "cursor": "conversation_id"}


class Said(msgspec.Struct, frozen=True):
    """What a hook's process said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The answer; empty if nothing was said."""
        assert self.code == 0, self
        assert self.err == ""
        answer: dict[str, Any] = json.loads(self.out or "{}")
        return answer

    @property
    def specific(self) -> dict[str, Any]:
        """`hookSpecificOutput` without the name of the event."""
        answer: dict[str, Any] = self.json.get("hookSpecificOutput", {})
        return {name: value for name, value in answer.items() if name != "hookEventName"}


class Agent:
    """One running agent with our hooks in it."""

    def __init__(
        self, client: Client, folder: Path, name: str = "claude-code", session: str = "s-1"
    ) -> None:
        self.name = name
        self.session = session
        self.folder = folder
        self.transcript = folder / "transcript.jsonl"
        self._client = client
        self._process = subprocess.Popen(
            [sys.executable, "-SEc", _LOOP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
        )

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def asked(self, sample: str, *, closed: bool = False, **changed: Any) -> dict[str, str]:
        """One hook: its command and its stdin, the sample with `changed` fields."""
        recorded = payload(self.name, sample)
        mine = {
            **dict.fromkeys(("session_id", "sessionId"), self.session),
            **dict.fromkeys(("transcript_path", "transcriptPath"), str(self.transcript)),
            "cwd": str(self.folder),
        }
        fields = {name: mine.get(name, value) for name, value in recorded.items()} | changed
        return self.raw(event_of(sample), json.dumps(fields), closed=closed)

    def tells(self, event: str, *, closed: bool = False, **fields: Any) -> Said:
        """Run one hook of which there is no sample."""
        named = _ID_NAMES.get(self.name, "session_id")
        said = {named: self.session, "cwd": str(self.folder), **fields}
        return self.run([self.raw(event, json.dumps(said), closed=closed)])[0]

    def raw(self, event: str, stdin: str, *, closed: bool = False) -> dict[str, str]:
        """One hook with any stdin."""
        name = self.name.removesuffix("-cli")
        return {"command": self._client.command(name, event, closed=closed), "stdin": stdin}

    def hook(self, sample: str, *, closed: bool = False, **changed: Any) -> Said:
        """Run one hook."""
        return self.run([self.asked(sample, closed=closed, **changed)])[0]

    def run(self, asked: Sequence[dict[str, str]]) -> list[Said]:
        """Run hooks, all at once."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        assert select.select([self._process.stdout], [], [], WAIT_S)[0], "the hook does not end"
        return [Said(*one) for one in json.loads(self._process.stdout.readline())]

    def kill(self) -> None:
        """As `kill -9` does."""
        self._process.kill()
        self._process.wait(WAIT_S)

    def close(self) -> None:
        """Let it exit."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        self._process.wait(WAIT_S)
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextmanager
def daemons_end(folder: Path) -> Generator[None]:
    """At the end, no daemon is left; one that is still there is killed, and that is a failure."""
    try:
        yield
    finally:
        left = daemons(folder)
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        wait_for(lambda: not daemons(folder))


def daemons(folder: Path) -> list[int]:
    """The daemons whose sockets are in this folder."""
    listing = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,stat=,args="], capture_output=True, text=True, check=True
    ).stdout
    found: list[int] = []
    for line in listing.splitlines():
        pid, state, args = line.split(None, 2)
        if "sliphook.adapters.attached" in args and str(folder) in args and state[0] != "Z":
            found.append(int(pid))
    return found


def wait_for(done: Callable[[], bool]) -> None:
    """Wait for what happens in other processes."""
    until_s = time.monotonic() + WAIT_S
    while not done():
        assert time.monotonic() < until_s, "it did not happen"
        time.sleep(0.01)
