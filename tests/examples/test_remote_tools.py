"""examples/remote-tools under a host, with clients by hand and with its own client."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import Any

import httpx
import pytest
import trio
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from sliphook import PluginHost, PluginSpec, Progress, Session
from sliphook.session.results import ToolOutcome
from tests.docs.test_more_examples import passes
from tests.programs import WAIT_S, until

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "remote-tools"
PLUGIN = FOLDER / "remote_tools.py"
TOKEN = "0123456789abcdef"
URL = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
TITLE = {"name": "title", "description": "A page's title.", "input_schema": URL}
HANG = {"name": "hang"}
NOTHING: dict[str, Any] = {}


class Client:
    """A connection, by hand."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def say(self, type: str, **fields: Any) -> None:
        await self.write(json.dumps({"type": type, **fields}))

    async def write(self, text: str) -> None:
        await trio.to_thread.run_sync(self.socket.send, text)

    async def hear(self) -> dict[str, Any]:
        text = await trio.to_thread.run_sync(partial(self.socket.recv, timeout=WAIT_S))
        message: dict[str, Any] = json.loads(text)
        return message

    async def offer(self, *tools: dict[str, Any]) -> dict[str, Any]:
        await self.say("client:tools", tools=tools)
        return await self.hear()

    async def refused(self, text: str) -> str:
        """What it is told of a message that cannot be taken."""
        await self.write(text)
        said = await self.hear()
        assert said["type"] == "agent:error"
        return str(said["message"])

    async def closed(self) -> tuple[int, str]:
        """The code and the reason of the close that comes next."""
        with pytest.raises(ConnectionClosed) as closed:
            await self.hear()
        assert closed.value.rcvd is not None
        return closed.value.rcvd.code, closed.value.rcvd.reason


class Agent:
    """A host with the plugin and a session."""

    def __init__(self, host: PluginHost, session: Session, port: int, logs: list[str]) -> None:
        self.host = host
        self.session = session
        self.port = port
        self.logs = logs
        self.progress: list[Progress] = []

    async def has_tools(self, *names: str) -> None:
        await until(lambda: [tool.name for tool in self.host.tools()] == list(names))

    async def call(self, name: str, arguments: dict[str, Any] | None = None) -> ToolOutcome:
        """Call a tool in a turn of its own."""
        async with self.session.turn("hello") as turn:
            return await turn.call_tool(name, arguments or {})
        raise AssertionError("the turn was interrupted")

    @asynccontextmanager
    async def stranger(self, max_queue: int = 16) -> AsyncGenerator[Client]:
        """A connection that has said nothing."""
        url = f"ws://127.0.0.1:{self.port}"
        connection = connect(url, close_timeout=1, max_queue=max_queue)
        client = Client(await trio.to_thread.run_sync(connection.__enter__))
        try:
            yield client
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(connection.__exit__, None, None, None)

    @asynccontextmanager
    async def client(self, name: str = "page", max_queue: int = 16) -> AsyncGenerator[Client]:
        async with self.stranger(max_queue) as client:
            await client.say("client:hello", token=TOKEN, name=name)
            assert await client.hear() == {"type": "agent:welcome", "name": name}
            yield client


def port_of(home: Path) -> int:
    return int((home / "remote-tools" / "port").read_text())


def example(home: Path, login_s: int) -> Path:
    """A copy of the plugin, with another time to log in."""
    folder = home / "example"
    shutil.copytree(
        FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
    )
    code = (folder / "clients.py").read_text(encoding="utf-8")
    assert code.count("\nLOGIN_S = 3 ") == 1
    code = code.replace("\nLOGIN_S = 3 ", f"\nLOGIN_S = {login_s} ")
    (folder / "clients.py").write_text(code, encoding="utf-8")
    return folder / PLUGIN.name


@asynccontextmanager
async def agent(home: Path, *, port: int = 0, login_s: int = 120) -> AsyncGenerator[Agent]:
    logs: list[str] = []
    progress: list[Progress] = []
    spec = PluginSpec(
        example(home, login_s),
        name="remote-tools",
        config={"port": port},
        env={"REMOTE_TOOLS_TOKEN": TOKEN},
    )
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost(
                [spec],
                data_home=home,
                on_log=lambda _, __, text: logs.append(text),
                on_progress=progress.append,
            ) as host,
            host.session() as session,
        ):
            assert [plugin.state for plugin in host.plugins] == ["ready"]
            here = Agent(host, session, port or port_of(home), logs)
            here.progress = progress
            yield here


async def test_it_keeps_to_the_protocol() -> None:
    await passes(PLUGIN)


async def test_tools_come_and_go_with_clients(tmp_path: Path) -> None:
    async with agent(tmp_path) as here:
        async with here.client("page") as page, here.client("arm") as arm:
            assert await page.offer(TITLE) == {"type": "agent:tools", "tools": ["title"]}
            await here.has_tools("title")
            await arm.offer(HANG)
            await here.has_tools("title", "hang")

            async with trio.open_nursery() as nursery:
                outcomes: list[ToolOutcome] = []

                async def call() -> None:
                    outcomes.append(await here.call("title", {"url": "a.example"}))

                nursery.start_soon(call)
                heard = await page.hear()
                call_id = heard.pop("call_id")
                assert heard == {
                    "type": "agent:tool-call",
                    "tool": "title",
                    "arguments": {"url": "a.example"},
                }
                result = {
                    "content": "A",
                    "data": {"n": 1},
                    "parts": [{"type": "text", "text": "A"}],
                }
                await page.say("client:tool-result", call_id=call_id, result=result)
                # once is enough
                await page.say("client:tool-result", call_id=call_id, result={"content": "B"})
            assert [(one.status, one.text()) for one in outcomes] == [("ok", "A")]

            await arm.offer({**HANG, "name": "hold"})
            await here.has_tools("title", "hold")
            await arm.offer()
            await here.has_tools("title")
        await here.has_tools()


async def test_what_cannot_be_is_said_and_the_old_tools_stay(tmp_path: Path) -> None:
    async with agent(tmp_path) as here, here.client("page") as page, here.client("arm") as arm:
        await page.offer(TITLE)
        await arm.offer(HANG)
        said = partial(json.dumps, separators=(",", ":"))
        for text, why in (
            ("{", "Input data was truncated"),
            (
                '{"type":"client:tool-result","result":{"content":"","data":' + "[" * 100_000,
                "maximum recursion depth exceeded",
            ),
            ('"\\ud800 and more"', "utf-16 surrogate"),
            ("[]", "Expected `object`, got `array`"),
            ('{"type":"client:nothing"}', "Invalid value 'client:nothing' - at `$.type`"),
            ('{"type":"client:tools","tools":[{"name":"a b"}]}', "at `$.tools[0].name`"),
            (
                '{"type":"client:tools","tools":[{"name":"t","timeout_s":0}]}',
                "Expected `float` >= 0.05 - at `$.tools[0].timeout_s`",
            ),
            (said({"type": "client:tools", "tools": [HANG] * 33}), "length <= 32"),
            (said({"type": "client:tools", "tools": [HANG, HANG]}), "two of the tools"),
            (said({"type": "client:tools", "tools": [HANG, TITLE]}), "page already offers title"),
            (
                '{"type":"client:tools","tools":[{"name":"t","input_schema":{"type":"strin"}}]}',
                "the input_schema of the tool t",
            ),
            (
                said({"type": "client:hello", "token": TOKEN, "name": "arm"}),
                "client:hello was said before",
            ),
            ('{"type":"client:tool-progress","call_id":"c","fraction":2}', "Expected `float` <= 1"),
        ):
            assert why in await arm.refused(text), text[:100]
        await here.has_tools("title", "hang")
        # of a call that is not there
        await arm.say("client:tool-result", call_id="c-9", result={"content": ""})
        await arm.say("client:tool-progress", call_id="c-9", message="half")
        assert (await arm.offer())["type"] == "agent:tools"


@pytest.mark.parametrize("how", ["cancel", "interrupt", "time limit"])
async def test_a_client_is_told_at_once_that_nothing_is_owed(tmp_path: Path, how: str) -> None:
    outcomes: list[ToolOutcome] = []
    async with agent(tmp_path) as here, here.client() as client:
        await client.offer({**HANG, "timeout_s": 5 if how == "time limit" else 600}, TITLE)
        async with here.session.turn("hello") as turn, trio.open_nursery() as nursery:

            async def call() -> None:
                outcomes.append(await turn.call_tool("hang", {}))

            nursery.start_soon(call)
            called = await client.hear()
            if how == "cancel":
                nursery.cancel_scope.cancel()
            elif how == "interrupt":
                assert here.session.interrupt("user_stop", "stop_command")
        over: dict[str, Any] = {"type": "agent:tool-call-cancelled", "call_id": called["call_id"]}
        assert await client.hear() == over
        assert [outcome.status for outcome in outcomes] == (
            ["timed_out"] if how == "time limit" else []
        )

        result = {"content": "too late"}
        await client.say("client:tool-result", call_id=called["call_id"], result=result)
        async with trio.open_nursery() as nursery:

            async def again() -> None:
                outcomes.append(await here.call("title", {"url": "b"}))

            nursery.start_soon(again)
            called = await client.hear()
            assert called["tool"] == "title"
            result = {"content": "in time"}
            await client.say("client:tool-result", call_id=called["call_id"], result=result)
        assert outcomes[-1].text() == "in time"


async def test_an_interrupt_is_of_one_session(tmp_path: Path) -> None:
    async with agent(tmp_path) as here, here.host.session() as another, here.client() as client:
        await client.offer(HANG)
        async with another.turn("wait") as turn, trio.open_nursery() as nursery:
            outcomes: list[ToolOutcome] = []

            async def call() -> None:
                outcomes.append(await turn.call_tool("hang", {}))

            nursery.start_soon(call)
            its = (await client.hear())["call_id"]
            async with here.session.turn("hello") as own, trio.open_nursery() as calls:
                calls.start_soon(own.call_tool, "hang", NOTHING)
                called = await client.hear()
                here.session.interrupt("user_stop", "stop_command")
            over: dict[str, Any] = {
                "type": "agent:tool-call-cancelled",
                "call_id": called["call_id"],
            }
            assert await client.hear() == over
            await client.say("client:tool-result", call_id=its, result={"content": "still here"})
        assert [outcome.text() for outcome in outcomes] == ["still here"]


@pytest.mark.parametrize("how", ["closes", "vanishes", "is replaced", "says too much"])
async def test_the_model_reads_that_a_client_has_gone(tmp_path: Path, how: str) -> None:
    outcomes: list[ToolOutcome] = []
    async with agent(tmp_path) as here, here.client("arm") as client:
        await client.offer(HANG)
        async with trio.open_nursery() as nursery:

            async def call() -> None:
                outcomes.append(await here.call("hang"))

            nursery.start_soon(call)
            assert (await client.hear())["type"] == "agent:tool-call"
            if how == "closes":
                await trio.to_thread.run_sync(client.socket.close)
            elif how == "vanishes":
                client.socket.socket.shutdown(2)
            elif how == "says too much":
                await client.write(json.dumps("x" * (1 << 20)))
                assert (await client.closed())[0] == 1009
            else:
                async with here.client("arm"):
                    assert await client.closed() == (
                        1008,
                        "another client has logged in as arm",
                    )
        assert [(outcome.status, outcome.text()) for outcome in outcomes] == [
            ("error", "arm, the program that offers this tool, has gone")
        ]
        await here.has_tools()


async def test_a_client_that_comes_again_has_its_name_and_its_tools(tmp_path: Path) -> None:
    async with agent(tmp_path) as here, here.client("arm") as lost:
        await lost.offer(HANG)
        async with here.client("arm") as client:
            assert (await client.offer(HANG, TITLE))["tools"] == ["hang", "title"]
            await here.has_tools("hang", "title")
        await here.has_tools()


async def test_progress_is_passed_on_if_it_is_not_too_much(tmp_path: Path) -> None:
    async with agent(tmp_path) as here, here.client() as client:
        await client.offer(HANG)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(here.call, "hang")
            call_id = (await client.hear())["call_id"]
            for number in range(1000):
                await client.say("client:tool-progress", call_id=call_id, message=str(number))
            await client.say("client:tool-result", call_id=call_id, result={"content": "done"})
        assert here.progress[0].message == "0"
        assert len(here.progress) < 500


async def test_who_may_not_log_in(tmp_path: Path) -> None:
    async with agent(tmp_path) as here:
        hello = {"type": "client:hello", "token": TOKEN, "name": "page"}
        for text, why in (
            (json.dumps({**hello, "token": "another"}), (1008, "wrong token")),
            (json.dumps({**hello, "token": "\u00e9"}), (1008, "wrong token")),
            (json.dumps({**hello, "name": "a page"}), (1008, "say client:hello first")),
            ('{"type":"client:tools","tools":[]}', (1008, "say client:hello first")),
            ("nonsense", (1008, "say client:hello first")),
            ("", (1008, "say client:hello first")),
        ):
            async with here.stranger() as stranger:
                await stranger.write(text)
                assert await stranger.closed() == why, text
    async with agent(tmp_path / "b", login_s=3) as here, here.stranger() as silent:
        assert await silent.closed() == (1008, "say client:hello first")


async def test_there_are_not_too_many(tmp_path: Path) -> None:
    async with agent(tmp_path) as here, trio.open_nursery() as nursery:

        async def stays(number: int, task_status: trio.TaskStatus[None]) -> None:
            async with here.client(f"client-{number}"):
                task_status.started()
                await trio.sleep_forever()

        for number in range(16):
            await nursery.start(stays, number)
        async with here.stranger() as one_more:
            await one_more.say("client:hello", token=TOKEN, name="one-more")
            assert await one_more.closed() == (1013, "too many clients")
        async with here.client("client-3"):  # it comes again
            pass
        nursery.cancel_scope.cancel()


async def test_one_that_does_not_read_is_cut_off(tmp_path: Path) -> None:
    async with agent(tmp_path) as here, here.client(max_queue=1) as client:
        await client.offer({**HANG, "timeout_s": 0.1}, {**HANG, "name": "hold"})
        too_much = await here.call("hold", {"text": "x" * (1 << 20)})
        assert too_much.status == "error"
        assert "bytes are too many for a remote tool" in too_much.text()
        calls = 0
        while here.host.tools():
            await here.call("hang", {"text": "x" * 1_000_000})
            calls += 1
            assert calls < 200


async def test_the_page_is_served_and_nothing_else(tmp_path: Path) -> None:
    async with agent(tmp_path) as here, httpx.AsyncClient(trust_env=False) as browser:
        at = f"http://127.0.0.1:{here.port}"
        page = await browser.get(f"{at}/")
        assert page.status_code == 200
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"
        assert page.text == (FOLDER / "page.html").read_text(encoding="utf-8")
        for path in ("/remote_tools.py", "/..%2fclient.py", "/page.html"):
            assert (await browser.get(at + path)).status_code == 404


async def test_a_second_agent_serves_when_the_first_has_ended(tmp_path: Path) -> None:
    async with agent(tmp_path) as first, agent(tmp_path, port=first.port) as second:
        await until(lambda: any("waits until the port is free" in line for line in second.logs))
        async with first.client() as client:
            await client.offer(TITLE)
            await first.has_tools("title")
            await second.has_tools()
        await first.host.disable("remote-tools")
        await until(lambda: any("clients find it at" in line for line in second.logs))
        async with second.client() as client:
            await client.offer(TITLE)
            await second.has_tools("title")


async def test_at_the_end_clients_are_let_go(tmp_path: Path) -> None:
    async with agent(tmp_path) as here:
        entered = here.client()
        client = await entered.__aenter__()
        await client.offer(HANG)
    with trio.fail_after(WAIT_S):
        assert (await client.closed())[0] == 1001
        await entered.__aexit__(None, None, None)


@pytest.mark.parametrize("token", ["", "short"])
async def test_without_a_good_token_it_is_left_out(tmp_path: Path, token: str) -> None:
    spec = PluginSpec(PLUGIN, env={"REMOTE_TOOLS_TOKEN": token})
    with trio.fail_after(WAIT_S):
        async with PluginHost([spec], data_home=tmp_path) as host:
            [plugin] = host.plugins
            assert plugin.state == "self_disabled"
            assert "REMOTE_TOOLS_TOKEN, of at least 16 characters" in (plugin.why or "")


@pytest.mark.parametrize("port", [65536, "x"])
async def test_a_port_that_is_none_is_an_error(tmp_path: Path, port: object) -> None:
    spec = PluginSpec(PLUGIN, config={"port": port}, env={"REMOTE_TOOLS_TOKEN": TOKEN})
    with trio.fail_after(WAIT_S):
        async with PluginHost([spec], data_home=tmp_path) as host:
            [plugin] = host.plugins
            assert plugin.state == "self_disabled"
            assert "its settings do not fit: Expected `int" in (plugin.why or "")
            assert "$.port" in (plugin.why or "")


async def test_the_arm_stops_and_serves_the_next_agent(tmp_path: Path) -> None:
    """The example's own client, as a process."""
    async with agent(tmp_path) as first:
        port = first.port
    url = {"REMOTE_TOOLS_URL": f"ws://127.0.0.1:{port}", "REMOTE_TOOLS_TOKEN": TOKEN}
    said = bytearray()
    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            run = partial(trio.run_process, check=False, stdout=PIPE, stderr=STDOUT)
            client: trio.Process = await nursery.start(
                partial(run, [sys.executable, str(FOLDER / "client.py")], env={**os.environ, **url})
            )

            async def listen() -> None:
                assert client.stdout is not None
                async for data in client.stdout:
                    said.extend(data)

            nursery.start_soon(listen)
            for _ in range(2):
                async with agent(tmp_path, port=port) as here:
                    await here.has_tools("move_arm", "where_is_the_arm")
                    here.progress.clear()
                    async with here.session.turn("move") as turn, trio.open_nursery() as calls:
                        calls.start_soon(turn.call_tool, "move_arm", {"to": 100})
                        await until(lambda here=here: here.progress != [])  # type: ignore[misc]
                        here.session.interrupt("user_stop", "stop_command")
                    await until(lambda: b"told to stop: the arm stands at" in said)
                    outcome = await here.call("where_is_the_arm")
                    assert outcome.text().encode()[len("the arm is ") :] in said
                    refused = await here.call("move_arm", {"to": 101})
                    assert refused.status == "error"
                said.clear()
            client.terminate()
