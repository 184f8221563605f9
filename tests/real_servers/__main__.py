"""`make real-servers`: public MCP servers as plugins in `sliphook chat`, with a guard in front.

    python -m tests.real_servers [SERVER | conformance | inspector] ...

npm and pip install the servers. Each has a home of its own, is installed as a user does it, and is
called by the scripted model.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from tests.adapters.attached.fake_agent import wait_for
from tests.programs import WAIT_S, Program, Workshop

from .conformance import conforms
from .inspector import inspects
from .servers import FORBIDDEN, GUARD, SERVERS, Server, ServersMissing, Step, install

_SECRET: Final = "a-secret-of-the-user"
_CLIENTS: Final[dict[str, Callable[[Path], None]]] = {
    "conformance": conforms,
    "inspector": inspects,
}
"""Programs that try `sliphook mcp`."""
_LONG: Final = Step("trigger-long-running-operation", {"duration": 600, "steps": 600}, "")


class Chat:
    """`sliphook chat` with a pipe for its terminal."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self._chat = subprocess.Popen(
            [sys.executable, "-m", "sliphook", "chat"],
            env=environment,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._said: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._chat.stdout is not None
        self._said.extend(self._chat.stdout)

    @property
    def text(self) -> str:
        """All that it has shown."""
        return "".join(self._said)

    def shows(self, text: str, since: int) -> bool:
        """Whether it has shown this behind so many characters."""
        return text in self.text[since:]

    def write(self, line: str) -> None:
        """Say a line to it."""
        assert self._chat.stdin is not None
        self._chat.stdin.write(f"{line}\n")
        self._chat.stdin.flush()

    def leave(self) -> str:
        """Close its input; all that it has shown."""
        assert self._chat.stdin is not None
        self._chat.stdin.close()
        try:
            assert self._chat.wait(WAIT_S) == 0, self.text
        finally:
            self._chat.kill()
            self._reader.join(WAIT_S)
        return self.text


class World:
    """A home with one server and a guard.

    Attributes:
        guard: with its journal: every call, and how it ended.
    """

    def __init__(self, name: str, server: Server, home: Path) -> None:
        self.project = home / "project"
        self.project.mkdir(parents=True)
        (self.project / "seed.txt").write_text("seed\n")
        self._environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
        self._environment["A_SECRET"] = _SECRET
        git = ["git", "-c", "init.defaultBranch=main", "init", "-q"]
        subprocess.run(git, cwd=self.project, env=self._environment, check=True)
        for key in ("name", "email"):
            config = ["git", "config", "--global", f"user.{key}", "a@example"]
            subprocess.run(config, env=self._environment, check=True)
        events = ("pre_tool_call", "post_tool_call", "turn_end")
        match = {"match": {"origin": f"mcp:{name}"}}
        self.guard: Program = Workshop(home).program(
            "guard",
            subscriptions=[{"event": one, **(match if "tool" in one else {})} for one in events],
            on=GUARD,
        )
        self.sliphook("install", str(self.guard.path), "--yes")
        words = server.words(self.project)
        self.sliphook("install", "--mcp", name, "--yes", "--", *words)

    def sliphook(self, *words: str) -> str:
        """Run the command line; what it prints."""
        done = subprocess.run(
            [sys.executable, "-m", "sliphook", *words],
            env=self._environment,
            cwd=self.project,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def chat(self) -> Generator[Chat]:
        chat = Chat(self._environment, self.project)
        try:
            yield chat
        finally:
            chat.leave()

    def has_ended(self, turns: int) -> bool:
        """Whether so many turns have ended."""
        return len(self.turns()) >= turns

    def turns(self) -> list[str]:
        """How each turn ended."""
        return [one["outcome"] for one in self.guard.params("event/turn_end")]

    def statuses(self) -> list[str]:
        """How each call ended that the guard was asked about; first those that were stopped."""
        ends = [
            *self.guard.params("event/post_tool_call"),
            *self.guard.params("hook/post_tool_call"),
        ]
        return [one["status"] for one in ends]


def check(name: str, server: Server, home: Path) -> None:
    """Every step in one chat, one after the other."""
    world = World(name, server, home)
    listed = world.sliphook("list", "--json")
    for tool in server.tools:
        assert f'"{tool}"' in listed, f"{tool} is not offered: {listed}"
    steps = server.steps(world.project)
    with world.chat() as chat:
        for done, step in enumerate(steps, 1):
            before = len(chat.text)
            chat.write(step.prompt)
            wait_for(partial(world.has_ended, done))
            wait_for(partial(chat.shows, step.shows, before))
    assert _SECRET not in chat.text
    denied = [step for step in steps if step.shows == "not this"]
    assert world.statuses().count("denied") == len(denied) > 0, world.statuses()
    assert not (world.project / FORBIDDEN).exists()


def interrupted(home: Path) -> None:
    """A call that is stopped in its midst; the same server answers the next."""
    world = World("everything", SERVERS["everything"], home)
    with world.chat() as chat:
        chat.write(_LONG.prompt)
        wait_for(lambda: len(world.guard.params("hook/pre_tool_call")) == 1)
        wait_for(lambda: "trigger-long-running-operation" in chat.text)
        chat.write("/stop")
        wait_for(lambda: world.turns() == ["interrupted"])
        chat.write(Step("get-sum", {"a": 20, "b": 3}, "").prompt)
        wait_for(lambda: "is 23" in chat.text)
    assert world.turns() == ["interrupted", "completed"]
    assert world.statuses() == ["cancelled", "ok"], world.statuses()


def main(wanted: list[str]) -> int:
    """The exit code: 0 if every server went well."""
    there_is = [*SERVERS, *_CLIENTS]
    if unknown := set(wanted) - set(there_is):
        print(f"there is no {', '.join(sorted(unknown))}; there is {', '.join(there_is)}")
        return 2
    try:
        install()
    except ServersMissing as error:
        print(f"nothing was tried: {error}")
        return 1
    base = Path(tempfile.mkdtemp(prefix="sliphook-servers-"))
    tried: dict[str, Callable[[Path], None]] = {
        name: partial(check, name, server)
        for name, server in SERVERS.items()
        if not wanted or name in wanted
    }
    if "everything" in tried:
        tried["an interrupt"] = interrupted
    tried |= {name: run for name, run in _CLIENTS.items() if not wanted or name in wanted}
    failed = 0
    for name, run in tried.items():
        begun_s = time.monotonic()
        said = "ok"
        try:
            run(base / name.replace(" ", "-"))
        except Exception:
            failed += 1
            said = f"FAILED, see {base}\n{traceback.format_exc()}"
        print(f"{name:14}  {time.monotonic() - begun_s:5.1f} s  {said}", flush=True)
    if not failed:
        shutil.rmtree(base, ignore_errors=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
