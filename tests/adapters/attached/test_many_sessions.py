"""Hundreds of sessions that begin or end at once: each has a pass of the loop for itself.

Function calls of the host are counted in each pass, as time differs by machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import trio

import sliphook
import sliphook.testing
from sliphook import PluginHost
from sliphook.adapters.attached.agent_session import AgentSession
from sliphook.adapters.attached.rooms import Room
from sliphook.adapters.dialects.known import DIALECTS
from sliphook.adapters.dialects.told import Prompted, SessionStarted, ToolAsked
from sliphook.adapters.relayed.served import SharedOffers
from sliphook.settings import AgentSettings
from sliphook.testing import FakePlugin
from tests.programs import EVERYTHING, WAIT_S, until

from .in_process import ask_all, daemon

MANY = 100
A_FEW = 2_000
"""Calls in a pass. They were 200 to 600; with all the ends in one pass, 5,000 to 22,000."""
HOST = str(Path(sliphook.__file__).parent)
FAKES = str(Path(sliphook.testing.__file__).parent)


class CallsInAPass(trio.abc.Instrument):
    """How many functions of the host are called, in the busiest pass of the loop."""

    def __init__(self) -> None:
        self.most = self._now = 0

    def count(self, frame: FrameType, event: str, _: object) -> None:
        path = frame.f_code.co_filename
        self._now += event == "call" and path.startswith(HOST) and not path.startswith(FAKES)

    def before_io_wait(self, timeout: float) -> None:
        self.most = max(self.most, self._now)
        self._now = 0


@contextmanager
def counted() -> Generator[CallsInAPass]:
    calls = CallsInAPass()
    trio.lowlevel.add_instrument(calls)
    sys.setprofile(calls.count)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        trio.lowlevel.remove_instrument(calls)


def ends(plugin: FakePlugin) -> list[str]:
    return [end.reason for end in plugin.payloads("session_end")]


def tool(session_id: str, call_id: str) -> ToolAsked:
    return ToolAsked(
        event="PreToolUse",
        session_id=session_id,
        tool_name="Bash",
        tool_kind="shell",
        origin="agent",
        arguments={},
        model_call_id=call_id,
    )


# -- sessions without a daemon
# ------------------------------------------------------------------------------------------------


@asynccontextmanager
async def sessions(plugin: FakePlugin, idle_s: float) -> AsyncGenerator[list[AgentSession]]:
    """So many that have begun in the same moment; leaving waits for their ends."""
    dialect, settings = DIALECTS["claude-code"], AgentSettings(idle_s=idle_s)
    lock, begun = trio.Lock(), list[AgentSession]()
    async with PluginHost([plugin]) as host, trio.open_nursery() as nursery:
        offered = SharedOffers(host)
        for number in range(MANY):
            session = AgentSession(
                dialect, settings, None, Path("/nowhere"), lock, lambda session: None
            )
            await nursery.start(session.run, offered)
            start = SessionStarted(event="SessionStart", session_id=f"s-{number}", source="startup")
            await session.take(start)
            begun.append(session)
        yield begun


async def test_sessions_that_are_idle_at_the_same_tick(autojump_clock: object) -> None:
    plugin = FakePlugin("ear", hears=EVERYTHING)
    with trio.fail_after(WAIT_S), counted() as calls:
        async with sessions(plugin, idle_s=30):
            pass
    assert ends(plugin) == ["shutdown"] * MANY
    assert 0 < calls.most < A_FEW


async def test_sessions_at_work_that_end_at_once() -> None:
    plugin = FakePlugin("ear", hears=EVERYTHING)
    with trio.fail_after(WAIT_S):
        async with sessions(plugin, idle_s=3600) as begun:
            for number, session in enumerate(begun):
                id = f"s-{number}"
                await session.take(Prompted(event="UserPromptSubmit", session_id=id, text="hello"))
                await session.take(tool(id, "t"))
            with counted() as calls:
                for session in begun:
                    session.end("signal")
                while len(ends(plugin)) < MANY:  # noqa: ASYNC110 - the plugin reads them later
                    await trio.sleep(0.01)
    assert ends(plugin) == ["signal"] * MANY
    assert 0 < calls.most < A_FEW


async def test_of_many_calls_whose_ends_are_not_told_the_oldest_are_given_up() -> None:
    plugin = FakePlugin("ear", hears=EVERYTHING)
    dialect = DIALECTS["claude-code"]
    with trio.fail_after(WAIT_S):
        async with PluginHost([plugin]) as host, trio.open_nursery() as holding:
            room = Room(dialect, SharedOffers(host), holding)
            for number in range(300):
                await room.take(tool("s", str(number)))
            await room.end("exit")
            holding.cancel_scope.cancel()
    over = [call.model_call_id for call in plugin.payloads("post_tool_call")]
    assert over == [str(number) for number in range(300)]
    told = plugin.names()
    assert told[: told.index("agent_loop_stopped")].count("post_tool_call") == 300 - 256


# -- a daemon
# ------------------------------------------------------------------------------------------------


@pytest.fixture
def agent() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def fields(number: int, **more: Any) -> dict[str, Any]:
    return {"session_id": f"s-{number}", "cwd": "/tmp", **more}


@pytest.mark.parametrize("how", ["the agent dies", "the daemon ends"])
async def test_all_sessions_of_a_daemon(how: str, agent: subprocess.Popen[bytes]) -> None:
    plugin = FakePlugin("ear", hears=EVERYTHING)
    starts = [("SessionStart", fields(number, source="startup")) for number in range(MANY)]
    prompts = [("UserPromptSubmit", fields(number, prompt="hello")) for number in range(MANY)]
    with trio.fail_after(WAIT_S), counted() as calls:
        async with daemon("claude-code", plugin, to_its_end=True) as path:
            await ask_all(path, "claude-code", agent.pid, starts)
            await ask_all(path, "claude-code", agent.pid, prompts)
            if how == "the agent dies":
                agent.kill()
            else:
                async with await trio.open_unix_socket(str(path)) as newer:
                    await newer.send_all(b"sliphook 2\n")
    assert len(ends(plugin)) == MANY
    assert {turn.outcome for turn in plugin.payloads("turn_end")} == {"interrupted"}
    assert 0 < calls.most < A_FEW


async def test_the_links_to_a_daemon_are_removed_beside_its_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    readlink, threads = os.readlink, set[int]()

    def noted(path: Path) -> str:
        threads.add(threading.get_ident())
        return readlink(path)

    with trio.fail_after(WAIT_S):
        async with daemon("claude-code", FakePlugin("ear")) as path:
            links = [path.with_name(f"s-{number}.sock") for number in range(MANY)]
            for link in links:
                link.symlink_to(path)
            monkeypatch.setattr(os, "readlink", noted)
            async with await trio.open_unix_socket(str(path)) as newer:
                await newer.send_all(b"sliphook 2\n")
                await until(lambda: not any(link.is_symlink() for link in links))
    assert len(threads) == 1
    assert threading.get_ident() not in threads
