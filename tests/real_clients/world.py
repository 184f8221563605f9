"""One home for one scenario: a guard, installed and attached, and runs of the agent in it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.adapters.attached.fake_agent import daemons, daemons_end, wait_for
from tests.programs import EVERYTHING, WAIT_S, Program, Workshop, case_of

from .clients import Client
from .model import Model
from .screen import Screen

_GUARD = """
import os, re, signal
if method == "hook/session_start":
    return {"context": ["the session's note"]}
if method == "hook/user_prompt_submit":
    if "forbidden" in params["text"]:
        return {"decision": "deny", "reason": "not this"}
    return {"context": ["the prompt's note"]}
if method == "hook/pre_tool_call":
    command = json.dumps(params["arguments"])
    if "rm -rf" in command:
        return {"decision": "deny", "reason": "no whole trees"}
    if "end-the-plugin" in command:
        os.kill(os.getpid(), signal.SIGKILL)
    if "a-secret" in command:
        return {"replace": {"arguments": json.loads(command.replace("a-secret", "a-public"))}}
if method == "hook/post_tool_call" and params["result"]:
    if re.search("a-public|from-mcp", params["result"]["content"]):
        hidden = {"result": {"content": "it-was-hidden"}}
        return {"replace": hidden, "context": ["the result's note"]}
if method == "hook/stop" and params["stop_count"] == 0:
    return {"continue_with": "Run the tests."}
"""


class World:
    """Where one agent runs.

    Attributes:
        client: the agent.
        model: what it asks.
        home: its home folder; the project is in it.
        guard: the plugin, with its journal.
    """

    def __init__(self, client: Client, model: Model, home: Path) -> None:
        self.client = client
        self.model = model
        self.home = home
        self.project = home / "project"
        self.runtime = home / "run"
        for folder in (self.project, self.runtime):
            folder.mkdir(mode=0o700)
        client.set_up(home, model.url)
        config = home / ".config" / "sliphook" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(f"[agents.{client.name}]\ntrace = true\n")
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "XDG_RUNTIME_DIR": str(self.runtime),
            **client.environment(model.url),
        }
        subscriptions = [
            {"event": name, "replaces": True} if name.endswith("tool_call") else {"event": name}
            for name in EVERYTHING
        ]
        for one in subscriptions:
            if one["event"] == "pre_tool_call":
                one["on_failure"] = "closed"
        self.guard: Program = Workshop(home).program(
            "guard", subscriptions=subscriptions, on=_GUARD
        )
        self.sliphook("install", str(self.guard.path), "--yes")
        self.sliphook("attach", client.name, "--yes")

    def plugin(self, name: str, on: str, **subscription: Any) -> None:
        """Install another plugin: what it does when it is asked about a tool call."""
        subscriptions = [{"event": "pre_tool_call", **subscription}]
        body = case_of("hook/pre_tool_call", on)
        program = Workshop(self.home).program(name, subscriptions=subscriptions, on=body)
        self.sliphook("install", str(program.path), "--yes")
        self.sliphook("attach", self.client.name, "--yes")

    @property
    def path(self) -> str:
        """A PATH whose `python3` has what the examples need."""
        return f"{Path(sys.executable).parent}{os.pathsep}{self.environment['PATH']}"

    def sliphook(self, *words: str, stdin: str = "", path: str | None = None) -> str:
        """Run the command line; returns what it prints. `path`: another PATH."""
        done = subprocess.run(
            [sys.executable, "-m", "sliphook", *words],
            env=self.environment | ({} if path is None else {"PATH": path}),
            cwd=self.project,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    @contextmanager
    def on_screen(self) -> Generator[Screen]:
        """The agent with a screen, ready for a prompt."""
        words = [*self.client.words, *self.client.screen]
        screen = Screen(words, self.environment, self.project, self.home / "tmux")
        try:
            screen.shows(self.client.ready)
            yield screen
        finally:
            (self.home / "screen").write_text(screen.text)
            screen.close()

    def prompt(self, screen: Screen, *steps: str) -> None:
        """Type a script and send it; returns when the agent has told of it."""
        before = self.guard.names().count("user_prompt_submit")
        screen.write(f"SCRIPT: {' '.join(steps)}")
        screen.insists(
            "Enter", until=lambda: self.guard.names().count("user_prompt_submit") > before
        )

    def start(
        self, *steps: str, more: tuple[str, ...] = (), text: str = ""
    ) -> subprocess.Popen[str]:
        """Start the agent with a script, without a screen."""
        prompt = text or f"SCRIPT: {' '.join(steps)}"
        return subprocess.Popen(
            [*self.client.words, *more, *self.client.prompt, prompt],
            env=self.environment,
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            stdout=(self.home / "out").open("a"),
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *steps: str, more: tuple[str, ...] = (), text: str = "") -> int:
        """Run the agent with a script to its end; returns its exit code."""
        process = self.start(*steps, more=more, text=text)
        try:
            return process.wait(WAIT_S)
        finally:
            self.kill(process)

    def kill(self, process: subprocess.Popen[str]) -> None:
        """As `kill -9` does, with its children."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(WAIT_S)

    @property
    def out(self) -> str:
        """What the agent printed."""
        return (self.home / "out").read_text(errors="replace")

    @property
    def asked(self) -> str:
        """All that the model was sent, as JSON."""
        return "\n".join(self.model.requests)

    def posts(self) -> list[tuple[str, str]]:
        """The calls that ended: tool and status."""
        return [(one["tool_name"], one["status"]) for one in self.told("post_tool_call")]

    def told(self, name: str) -> list[dict[str, Any]]:
        """What the guard was asked or, where no answer was waited for, told."""
        named = [one for one in self.guard.fired() if one["method"].endswith(f"/{name}")]
        return [one["params"] for one in named]

    def is_over(self) -> bool:
        """Whether no daemon is left."""
        return not daemons(self.runtime)

    def awaits_end(self) -> None:
        """Wait for the end of the session, and of its daemon."""
        wait_for(lambda: "session_end" in self.guard.names() and self.is_over())

    def check_pairs(self) -> None:
        """Each call that began has ended, once; so have each turn and each child."""
        names = self.guard.names()
        pre = [one["call_id"] for one in self.told("pre_tool_call")]
        post = [one["call_id"] for one in self.told("post_tool_call")]
        assert sorted(pre) == sorted(post), (pre, post)
        for begin, end in (
            ("turn_start", "turn_end"),
            ("subagent_start", "subagent_stop"),
            ("session_start", "session_end"),
        ):
            assert names.count(begin) == names.count(end), (begin, names)


def children(pid: int) -> list[int]:
    """The processes that this one has started, and those that they have."""
    by_task = [one.read_text().split() for one in Path(f"/proc/{pid}/task").glob("*/children")]
    own = [int(child) for listed in by_task for child in listed]
    return [found for child in own for found in (child, *children(child))]


@contextmanager
def opened(client: Client, folder: Path) -> Generator[World]:
    """A world, of which no process is left at the end."""
    folder.mkdir()
    with Model() as model:
        try:
            with daemons_end(folder / "run"):
                yield World(client, model, folder)
        finally:
            (folder / "requests.jsonl").write_text("\n".join(model.requests))
