"""What the daemon answers to our MCP servers, of whatever sense."""

from __future__ import annotations

import json
import os
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
import trio.testing

from sliphook import PluginHost, ToolOffer
from sliphook.adapters.attached import service
from sliphook.adapters.attached.agent_session import AgentSession
from sliphook.adapters.relayed.messages import Offers
from sliphook.adapters.relayed.served import SharedOffers
from sliphook.testing import FakePlugin
from tests.programs import WAIT_S

from .in_process import daemon

CALL: dict[str, Any] = {"type": "call", "session_id": "s-1", "name": "shout", "arguments": {}}
UNREAD = "the request could not be read"


async def said_to(socket: Path, asked: Any, agent: str = "claude-code") -> list[dict[str, Any]]:
    """All that the daemon says to one request, until it closes the connection."""
    body = asked if isinstance(asked, bytes) else json.dumps(asked).encode()
    stream = await trio.open_unix_socket(str(socket))
    async with stream:
        head = f"sliphook 1 {agent} mcp {os.getpid()} open {len(body)}\n"
        await stream.send_all(head.encode() + body)
        data = b"".join([piece async for piece in stream])
    return [json.loads(line) for line in data.splitlines()]


@pytest.mark.parametrize(
    ("asked", "agent", "why"),
    [
        (b"no json", "claude-code", UNREAD),
        ({"type": "other"}, "claude-code", UNREAD),
        ({**CALL, "arguments": []}, "claude-code", UNREAD),
        (CALL, "codex", UNREAD),
        ({**CALL, "session_id": ""}, "claude-code", "the agent's session is not known"),
        (
            {**CALL, "arguments": {"a": [0] * 20_001}},
            "claude-code",
            "no plugin can be asked: it has more than 20,000 values",
        ),
        (
            {**CALL, "type": "command"},
            "claude-code",
            "there is no command /shout; /help lists them",
        ),
    ],
)
async def test_what_cannot_be_done_is_refused(asked: Any, agent: str, why: str) -> None:
    plugin = FakePlugin("one", tools={"shout": "loud"})
    with trio.fail_after(WAIT_S):
        async with daemon("claude-code", plugin) as socket:
            assert await said_to(socket, asked, agent) == [{"type": "refused", "why": why}]
            (answer,) = await said_to(socket, CALL)
            assert (answer["type"], answer["content"]) == ("called", "loud")


async def test_offers_of_a_session_that_is_not_there() -> None:
    plugin = FakePlugin("one", tools={"shout": "loud"})
    with trio.fail_after(WAIT_S):
        async with daemon("claude-code", plugin) as socket:
            assert await said_to(socket, {"type": "watch", "session_id": "s-1"}) == []
            assert plugin.names() == []


async def test_a_plugin_has_stopped_the_turn() -> None:
    plugin = FakePlugin("one", tools={"shout": "loud"}, uses=["interrupt"])
    with trio.fail_after(WAIT_S):
        async with daemon("claude-code", plugin) as socket:
            assert (await said_to(socket, CALL))[0]["type"] == "called"
            session_id = plugin.received[-1].params["session_id"]
            await plugin.ask("host/interrupt", session_id=session_id, reason="enough")
            why = "a plugin has stopped the turn"
            assert await said_to(socket, CALL) == [{"type": "refused", "why": why}]


async def test_so_many_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that stay take no place of a hook."""
    monkeypatch.setattr(service, "MOST_SERVED", 2)
    monkeypatch.setattr(service, "MOST_AT_ONCE", 1)
    plugin = FakePlugin("one", tools={"shout": "loud"})
    watch = json.dumps({"type": "watch", "session_id": "s-1"}).encode()
    head = f"sliphook 1 claude-code mcp {os.getpid()} open {len(watch)}\n".encode()
    with trio.fail_after(WAIT_S):
        async with daemon("claude-code", plugin) as socket:
            await said_to(socket, CALL)
            first = await trio.open_unix_socket(str(socket))
            second = await trio.open_unix_socket(str(socket))
            async with first, second:
                for one in (first, second):
                    await one.send_all(head + watch)
                    said, *_ = (await one.receive_some()).splitlines()
                    assert json.loads(said)["type"] == "offers"
                assert await said_to(socket, CALL) == []


class Passes(trio.abc.Instrument):
    """How often something is done, in the busiest pass of the loop and in all."""

    def __init__(self) -> None:
        self.most = self.all = self._now = 0

    def count(self) -> None:
        self._now += 1
        self.all += 1
        self.most = max(self.most, self._now)

    def before_io_wait(self, timeout: float) -> None:
        self._now = 0


async def offers_from(stream: trio.SocketStream) -> list[str]:
    """The names of the tools that the daemon says next."""
    said, names = b"", list[str]()
    while True:
        said += await stream.receive_some()
        *lines, said = said.split(b"\n")
        for line in lines:
            page = json.loads(line)
            names += [tool["name"] for tool in page["tools"]]
            if not page["more"]:
                return names


async def test_those_who_watch_share_the_offers_and_have_a_pass_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plugin = FakePlugin("one", tools={"shout": "loud"}, uses=["tools"])
    watch = json.dumps({"type": "watch", "session_id": "s-1"}).encode()
    head = f"sliphook 1 claude-code mcp {os.getpid()} open {len(watch)}\n".encode()
    names = [f"t{at}" for at in range(450)]
    passes = Passes()
    now, encode = PluginHost.tools, msgspec.json.encode
    encoded: list[object] = []

    def counted(self: PluginHost, session_id: str | None = None) -> Any:
        passes.count()
        return now(self, session_id)

    def kept(value: Any, **named: Any) -> bytes:
        if isinstance(value, (ToolOffer, Offers)):
            encoded.append(value)
        return encode(value, **named)

    with trio.fail_after(WAIT_S):
        async with daemon("claude-code", plugin) as socket, AsyncExitStack() as streams:
            await said_to(socket, CALL)
            those = [await trio.open_unix_socket(str(socket)) for _ in range(10)]
            for one in those:
                await streams.enter_async_context(one)
                await one.send_all(head + watch)
                assert await offers_from(one) == ["shout"]
            monkeypatch.setattr(PluginHost, "tools", counted)
            monkeypatch.setattr(msgspec.json, "encode", kept)
            trio.lowlevel.add_instrument(passes)
            await plugin.ask("host/tools", tools=[{"name": name} for name in names])
            for one in those:
                assert await offers_from(one) == names
            trio.lowlevel.remove_instrument(passes)
    assert (passes.all, passes.most) == (10, 1)
    assert len(encoded) == 450 + 1  # each tool once, and the end


async def test_a_request_while_its_session_begins_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, may_begin = trio.Event(), trio.Event()
    run = AgentSession.run

    async def begins_late(
        self: AgentSession, offered: SharedOffers, task_status: trio.TaskStatus[None]
    ) -> None:
        begun.set()
        await may_begin.wait()
        await run(self, offered, task_status)

    monkeypatch.setattr(AgentSession, "run", begins_late)
    said: list[Any] = []

    async def call(socket: Path) -> None:
        said.extend(await said_to(socket, CALL))

    plugin = FakePlugin("one", tools={"shout": "loud"})
    with trio.fail_after(WAIT_S):
        async with daemon("claude-code", plugin) as socket, trio.open_nursery() as nursery:
            nursery.start_soon(call, socket)
            await begun.wait()
            nursery.start_soon(call, socket)
            await trio.testing.wait_all_tasks_blocked(0.05)
            may_begin.set()
    assert [one["content"] for one in said] == ["loud", "loud"]


async def test_a_fault_of_ours_costs_one_request(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    plugin = FakePlugin("one", tools={"shout": "loud"})
    with trio.fail_after(WAIT_S):
        async with daemon("claude-code", plugin) as socket:
            with monkeypatch.context() as patch:
                patch.setattr(AgentSession, "serve", None)
                assert await said_to(socket, CALL) == [
                    {"type": "refused", "why": "the plugins could not be asked"}
                ]
            assert "a request of the MCP server failed" in caplog.text
            (answer,) = await said_to(socket, CALL)
            assert answer["content"] == "loud"
