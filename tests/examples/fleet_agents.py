"""Agents with the plugin of examples/fleet: real hosts, real plugin processes, and what they told."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import trio

from sliphook import Interruption, PluginHost, PluginSpec, Session
from sliphook.session.results import ToolOutcome
from sliphook_sdk.protocol import Message, Usage
from tests.examples.redis_server import Broker
from tests.programs import WAIT_S, until

PLUGIN = Path(__file__).resolve().parents[2] / "examples" / "fleet" / "fleet.py"
EVENTS_OF_A_TURN = 8


class Agent:
    """One host with one session.

    Attributes:
        spec: the fleet's plugin with its settings.
        data_home: where its data folder is.
        host: the host, which has no other plugin.
        session: its session.
        logs: the lines of the plugin's log.
    """

    def __init__(
        self,
        spec: PluginSpec,
        data_home: Path,
        host: PluginHost,
        session: Session,
        logs: list[str],
    ) -> None:
        self.spec = spec
        self.data_home = data_home
        self.host = host
        self.session = session
        self.logs = logs

    @property
    def name(self) -> str:
        """As the operator sees it."""
        return f"{os.uname().nodename}-{self.host.plugins[0].pid}"

    def waiting(self) -> int:
        """How many of the machine's events the broker does not have yet."""
        with closing(sqlite3.connect(self.data_home / "fleet" / "spool.db")) as spool:
            (count,) = spool.execute("SELECT count(*) FROM events").fetchone()
        return int(count)

    async def all_sent(self) -> None:
        """Wait until the broker has all events so far."""
        await until(lambda: self.waiting() == 0)

    async def follows(self, policy: bytes) -> None:
        """Wait until it has a policy with this text in it."""
        file = self.data_home / "fleet" / "policy.json"
        await until(lambda: file.exists() and policy in file.read_bytes())

    async def turn(
        self, tool: Callable[[], Any] | None = None, *, command: str = "ls"
    ) -> ToolOutcome | None:
        """A turn with one model call and one call of `shell`; None if it was interrupted."""

        async def run(arguments: dict[str, Any]) -> str:
            if tool is not None:
                await tool()
            return "done"

        outcome = None
        async with self.session.turn("tidy up") as turn:
            await turn.submit()
            await turn.pre_llm_call(provider="script", model="m", messages=[], tools=[])
            turn.post_llm_call(
                provider="script",
                model="m",
                response=Message(role="assistant", content="I look."),
                finish_reason="stop",
                usage=Usage(input_tokens=3, output_tokens=2),
                duration_ms=1.0,
            )
            called = await turn.call_tool(
                "shell", {"command": command}, run=run, tool_kind="shell", input_schema={}
            )
            await turn.stop()
            outcome = called
        return outcome


@asynccontextmanager
async def agent(
    url: str,
    data: Path,
    *,
    user_id: str = "ada",
    on_interrupt: Callable[[Interruption], None] | None = None,
    env: dict[str, str] | None = None,
    **config: object,
) -> AsyncGenerator[Agent]:
    """An agent of a user, as on a machine of its own: `data` is its folder."""
    logs = list[str]()
    spec = PluginSpec(PLUGIN, config={"url": url, **config}, env=env or {})
    async with (
        PluginHost(
            [spec],
            data_home=data / "data",
            log_dir=data / "logs",
            on_log=lambda plugin, level, text: logs.append(text),
        ) as host,
        host.session(session_key="main", user_id=user_id, on_interrupt=on_interrupt) as session,
    ):
        yield Agent(spec, data / "data", host, session, logs)


def told(client: Any) -> list[dict[str, Any]]:
    """All events in the stream, each once, in the order in which a reader gets them."""
    seen = dict[bytes, int]()
    events = list[dict[str, Any]]()
    for _, fields in client.xrange("fleet:events"):
        if int(fields[b"n"]) > seen.get(fields[b"spool"], 0):
            seen[fields[b"spool"]] = int(fields[b"n"])
            events.append(json.loads(fields[b"event"]))
    return events


def by_session(events: list[dict[str, Any]]) -> dict[str, list[tuple[int, str]]]:
    """The number and the name of each event of each session."""
    found = dict[str, list[tuple[int, str]]]()
    for event in events:
        if "session_id" in event:
            found.setdefault(event["session_id"], []).append((event["seq"], event["event"]))
    return found


def gaps(events: list[dict[str, Any]]) -> dict[str, list[int]]:
    """The sessions whose events are not 1, 2, 3 to `session_end`, each once, in this order."""
    return {
        session: [seq for seq, _ in fired]
        for session, fired in by_session(events).items()
        if [seq for seq, _ in fired] != list(range(1, len(fired) + 1))
        or fired[-1][1] != "session_end"
    }


def set_policy(broker: Broker, **policy: object) -> None:
    """As `fleet policy` does it."""
    broker.client.set("fleet:policy", json.dumps(policy))
    broker.client.xadd("fleet:control", {"policy": "new"})


async def denied(one: Agent) -> str | None:
    """Why a call of the shell is denied now, or None."""
    outcome = await one.turn(command="ls " + "x" * 3_000)
    assert outcome is not None
    return outcome.text().partition("fleet: ")[2] if outcome.status == "denied" else None


async def denies(one: Agent, why: str | None) -> None:
    with trio.fail_after(WAIT_S):
        while await denied(one) != why:  # each turn takes the time of a call
            pass


async def fleet(broker: Broker, *words: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """The operator's command: its status and what it printed."""
    with trio.fail_after(WAIT_S):
        done = await trio.run_process(
            [sys.executable, str(PLUGIN), *words],
            env={**os.environ, "FLEET_URL": broker.url, **(env or {})},
            stdin=b"",
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )
    return done.returncode, (done.stdout + done.stderr).decode()
