"""examples/remote_tools.py under a host, with programs that connect, answer, hang and end."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
import trio

from sliphook import PluginHost, PluginSpec, Session
from sliphook.session.results import ToolOutcome
from tests.programs import WAIT_S, until

PLUGIN = Path(__file__).resolve().parents[2] / "examples" / "remote_tools.py"
TOKEN = "a-secret"

PROGRAM = """
import json, sys, threading
from websockets.sync.client import connect

def speak():
    for line in sys.stdin:
        socket.send(line)

with connect(sys.argv[1]) as socket:
    threading.Thread(target=speak, daemon=True).start()
    for text in socket:
        print(text, flush=True)
        said = json.loads(text)
        if said.get("tool") == "title":
            result = {"content": "Title of " + said["arguments"]["url"]}
            socket.send(json.dumps({"call": said["call"], "result": result}))
"""
URL = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
TITLE = {"add": {"name": "title", "description": "A page's title.", "schema": URL}}
HANG = {"add": {"name": "hang", "description": "No answer.", "schema": {"type": "object"}}}


class Client:
    """A program with a connection, and what it has been sent."""

    def __init__(self, process: trio.Process) -> None:
        self.process = process
        self.heard: list[dict[str, Any]] = []

    async def listen(self) -> None:
        text = b""
        assert self.process.stdout is not None
        async for data in self.process.stdout:
            *lines, text = (text + data).split(b"\n")
            self.heard += map(json.loads, lines)

    async def say(self, *messages: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        for message in messages:
            await self.process.stdin.send_all(json.dumps(message).encode() + b"\n")

    async def hears(self, *messages: dict[str, Any]) -> None:
        """Wait until these are all that it has been sent."""
        await until(lambda: len(self.heard) >= len(messages))
        assert self.heard == list(messages)


def command_of(data: Path) -> list[str]:
    port = (data / "port").read_text()
    return [sys.executable, "-c", PROGRAM, f"ws://tools:{TOKEN}@127.0.0.1:{port}"]


@asynccontextmanager
async def connected(data: Path) -> AsyncGenerator[Client]:
    async with trio.open_nursery() as nursery:
        process: trio.Process = await nursery.start(
            partial(trio.run_process, command_of(data), stdin=PIPE, stdout=PIPE, check=False)
        )
        client = Client(process)
        nursery.start_soon(client.listen)
        yield client
        process.kill()


class Agent:
    """A host with the plugin and a session."""

    def __init__(self, host: PluginHost, session: Session, data: Path) -> None:
        self.host = host
        self.session = session
        self.data = data

    async def has_tools(self, *names: str) -> None:
        await until(lambda: [tool.name for tool in self.host.tools()] == list(names))


@asynccontextmanager
async def agent(
    home: Path, logs: list[str] | None = None, *, port: int = 0, token: str = TOKEN
) -> AsyncGenerator[Agent]:
    spec = PluginSpec(
        PLUGIN, name="remote-tools", config={"port": port}, env={"REMOTE_TOOLS_TOKEN": token}
    )
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost(
                [spec],
                data_home=home,
                on_log=lambda _, level, text: logs.append(text) if logs is not None else None,
            ) as host,
            host.session() as session,
        ):
            assert [plugin.state for plugin in host.plugins] == ["ready"]
            yield Agent(host, session, home / "remote-tools")


async def test_tools_come_and_go_with_programs(tmp_path: Path) -> None:
    async with agent(tmp_path) as here:
        async with connected(here.data) as first, connected(here.data) as second:
            await first.say(TITLE)
            await here.has_tools("title")
            await second.say(HANG)
            await here.has_tools("title", "hang")
            async with here.session.turn("hello") as turn:
                outcome = await turn.call_tool("title", {"url": "a.example"})
                assert (outcome.status, outcome.text()) == ("ok", "Title of a.example")
            await first.hears({"call": 1, "tool": "title", "arguments": {"url": "a.example"}})

            await second.say(TITLE, {"remove": "title"}, {"add": {"name": "no name"}}, {})
            await until(lambda: len(second.heard) == 4)
            taken, not_its_own, no_name, nothing = (one["error"] for one in second.heard)
            assert "cannot be added as the tool 'title'" in taken
            assert not_its_own == "KeyError: 'title'"
            assert "cannot be the tool 'no name': names are " in no_name
            assert nothing == "KeyError: 'call'"
            await second.say({"remove": "hang"})
            await here.has_tools("title")
        await here.has_tools()


@pytest.mark.parametrize("how", ["cancel", "interrupt", "time limit"])
async def test_a_program_is_told_that_no_result_is_wanted(tmp_path: Path, how: str) -> None:
    hang = {"add": {**HANG["add"], "timeout_s": 0.2 if how == "time limit" else 600}}
    called: dict[str, Any] = {"call": 1, "tool": "hang", "arguments": {}}
    outcomes: list[ToolOutcome] = []
    async with agent(tmp_path) as here, connected(here.data) as program:
        await program.say(hang, TITLE)
        await here.has_tools("hang", "title")
        async with here.session.turn("hello") as turn, trio.open_nursery() as nursery:

            async def call() -> None:
                outcomes.append(await turn.call_tool("hang", {}))

            nursery.start_soon(call)
            await until(lambda: called in program.heard)
            if how == "cancel":
                nursery.cancel_scope.cancel()
            elif how == "interrupt":
                assert here.session.interrupt("user_stop", "stop_command")
        await program.hears(called, {"cancelled": 1})
        if how == "time limit":
            assert [outcome.status for outcome in outcomes] == ["timed_out"]

        await program.say({"call": 1, "result": {"content": "too late"}})
        async with here.session.turn("again") as turn:
            assert (await turn.call_tool("title", {"url": "b"})).text() == "Title of b"
        await program.hears(
            called, {"cancelled": 1}, {"call": 2, "tool": "title", "arguments": {"url": "b"}}
        )


async def test_the_model_reads_that_a_program_has_gone(tmp_path: Path) -> None:
    async with agent(tmp_path) as here, connected(here.data) as program:
        await program.say(HANG)
        await here.has_tools("hang")
        outcomes: list[ToolOutcome] = []
        async with here.session.turn("hello") as turn, trio.open_nursery() as nursery:

            async def call() -> None:
                outcomes.append(await turn.call_tool("hang", {}))

            nursery.start_soon(call)
            await until(lambda: program.heard != [])
            program.process.kill()
        assert [(outcome.status, outcome.text()) for outcome in outcomes] == [
            ("error", "the program that offers hang has gone")
        ]
        await here.has_tools()


async def test_a_wrong_token_is_turned_away(tmp_path: Path) -> None:
    async with agent(tmp_path, token="another") as here:
        done = await trio.run_process(command_of(here.data), check=False, capture_stderr=True)
        assert done.returncode == 1
        assert b"server rejected WebSocket connection: HTTP 401" in done.stderr


async def test_a_second_instance_says_that_the_port_is_taken(tmp_path: Path) -> None:
    logs: list[str] = []
    async with agent(tmp_path) as first:
        port = int((first.data / "port").read_text())
        async with agent(tmp_path, logs, port=port):
            [line] = [line for line in logs if line.startswith("cannot serve programs: ")]
            assert "address already in use" in line
        async with connected(first.data) as program:
            await program.say(TITLE)
            await first.has_tools("title")
    # it has ended, and closed the port
    async with agent(tmp_path, logs, port=port):
        assert sum(line.startswith("cannot serve programs: ") for line in logs) == 1


async def test_at_the_end_programs_are_let_go(tmp_path: Path) -> None:
    async with agent(tmp_path) as here:
        stay = await trio.lowlevel.open_process(command_of(here.data), stdin=PIPE, stdout=PIPE)
        program = Client(stay)
        await program.say(TITLE)
        await here.has_tools("title")
    with trio.fail_after(WAIT_S):
        assert await stay.wait() == 0


async def test_without_a_token_it_is_left_out(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S):
        async with PluginHost([PLUGIN], data_home=tmp_path) as host:
            [plugin] = host.plugins
            assert plugin.state == "self_disabled"
            assert "REMOTE_TOOLS_TOKEN, which is not set" in (plugin.why or "")
