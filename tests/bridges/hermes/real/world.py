"""A home for the real Hermes, the scripted server, and what the probe plugin has heard."""

# pyright: basic

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

from tests.bridges.hermes.real.server import ScriptedServer
from tests.programs import whole_lines

WAIT_S = 120
HERE = Path(__file__).parent
TABLE = HERE / "heard.json"
"""What a plugin heard of what a person did, of one whole run of these tests: docs/hermes.md."""
DETAILS = {
    "agent_loop_stopped": "reason",
    "post_tool_call": "status",
    "turn_end": "outcome",
    "session_end": "reason",
    "session_reset": "cause",
    "session_start": "source",
    "turn_start": None,
}


def table() -> list[dict[str, Any]]:
    """What was written before."""
    return json.loads(TABLE.read_text()) if TABLE.exists() else []


class World:
    """Attributes: home, server, `heard` is the probe's log."""

    def __init__(self, home: Path, server: ScriptedServer) -> None:
        self.home = home
        self.server = server
        self.heard = home / "plugins" / "heard.jsonl"
        self.table: list[dict[str, Any]] = []

    def set_up(self, enabled: Iterable[str] = ("sliphook", "filechat")) -> None:
        config = {
            "model": {
                "default": "fake-model",
                "provider": "custom",
                "base_url": self.server.url,
                "api_key": "fake-key",
                "context_length": 200_000,
            },
            "approvals": {"mode": "manual"},
            "plugins": {"enabled": list(enabled)},
        }
        (self.home / ".hermes").mkdir(parents=True)
        (self.home / ".hermes" / "config.yaml").write_text(json.dumps(config))  # YAML too
        self._drop_in("filechat", (HERE / "plugins" / "filechat.py").read_text())
        # beside the entry point: Hermes must take one of them
        self._drop_in("sliphook", "from sliphook.bridges.hermes import register")
        (self.home / "plugins").mkdir()
        probe = shutil.copy(HERE / "plugins" / "probe.py", self.home / "plugins")
        grants = ["inject", "interrupt", "approve"]
        grants = [word for grant in grants for word in ("--grant", grant)]
        subprocess.run(
            [sys.executable, "-m", "sliphook", "install", probe, "--yes", *grants],
            check=True,
            capture_output=True,
            timeout=WAIT_S,
        )

    def _drop_in(self, name: str, code: str) -> None:
        folder = self.home / ".hermes" / "plugins" / name
        folder.mkdir(parents=True)
        (folder / "plugin.yaml").write_text(f"name: {name}")
        (folder / "__init__.py").write_text(code)

    def lines(self, since: int = 0) -> list[dict[str, Any]]:
        return [json.loads(line) for line in whole_lines(self.heard)][since:]

    def own(self, since: int) -> list[dict[str, Any]]:
        """Those of the user's sessions: Hermes looks back at one every ten turns, beside it."""
        return [
            one
            for one in self.lines(since)
            if not str(one.get("session_id", "")).endswith("/review")
        ]

    def wait(self, name: str, since: int) -> dict[str, Any]:
        give_up = time.monotonic() + WAIT_S
        while time.monotonic() < give_up:
            for line in self.own(since):
                if line["name"] == name:
                    return line
            time.sleep(0.01)
        raise AssertionError(f"no {name} in {[one['name'] for one in self.own(since)]}")

    def story(self, since: int, session: str | None = None) -> list[str]:
        """The names in the order of `seq`, without what tells of tools and plugins.

        The order of the lines is another: the probe's hooks run beside its events.

        Args:
            since: The number of lines before.
            session: Its id; without one, all of the user's.
        """
        heard = self.own(since) if session is None else self.lines(since)
        told = [
            one
            for one in heard
            if "seq" in one
            and one["name"] != "notification"
            and session in (None, one.get("session_id"))
        ]
        return [one["name"] for one in sorted(told, key=lambda one: one["seq"])]

    def record(self, where: str, did: str, when: str, since: int, now: float) -> None:
        """Keep what was heard from `now` on, up to the beginning of the next turn."""
        heard: list[tuple[str, int]] = []
        for one in self.own(since):
            if one["t"] < now or one["name"] not in DETAILS:
                continue
            detail = one.get(DETAILS[one["name"]] or "")
            said = f"{one['name']} {detail}" if detail else one["name"]
            heard.append((said, round((one["t"] - now) * 1000)))
            if one["name"] == "turn_start":
                break
        self.table.append({"where": where, "did": did, "when": when, "heard": heard})
        told = ", ".join(f"{said} {ms} ms" for said, ms in heard)
        print(f"{where}, {did}, {when}: {told}")

    def hermes(self, *arguments: str, output: IO[str] | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(Path(sys.executable).parent / "hermes"), *arguments],
            cwd=self.home,
            env=dict(os.environ),
            stdout=output or subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )


class Ran:
    """A run of an agent in a thread."""

    def __init__(self, function: Callable[[], dict[str, Any]]) -> None:
        self.result: dict[str, Any] = {}
        self.raised: BaseException | None = None
        self._function = function
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.result = self._function()
        except BaseException as error:
            self.raised = error

    def end(self) -> dict[str, Any]:
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()
        assert self.raised is None
        return self.result
