"""A host, a session and a turn are opened once, in every face; a second time is one plain line."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import trio

from sliphook import PluginHost, aio, blocking
from sliphook.errors import HostError

LINES = {
    "host": "this host was opened before, and a host is opened once; make another by PluginHost()",
    "session": (
        "this session was opened before, and a session is opened once;"
        " make another by host.session()"
    ),
    "turn": "this turn was opened before, and a turn is opened once; make another by session.turn()",
    "child": (
        "this turn was opened before, and a turn is opened once; make another by turn.subagent()"
    ),
}


async def opened_twice(host: Any) -> dict[str, list[str]]:
    """What each says inside of its own block, and after it."""
    said: dict[str, list[str]] = {name: [] for name in LINES}

    async def again(name: str, block: Any) -> None:
        try:
            async with block:
                said[name].append("opened")
        except Exception as error:
            said[name].append(f"{type(error).__name__}: {error}")

    async with host:
        await again("host", host)
        session = host.session()
        async with session:
            await again("session", session)
            turn = session.turn("hi")
            async with turn:
                await again("turn", turn)
                child = turn.subagent("look")
                async with child:
                    await again("child", child)
                await again("child", child)
            await again("turn", turn)
            # what was open still is
            async with session.turn("another") as other:
                await other.submit()
        await again("session", session)
    await again("host", host)
    return said


EXPECTED = {name: [f"HostError: {line}"] * 2 for name, line in LINES.items()}


async def test_in_trio() -> None:
    with trio.fail_after(120):
        assert await opened_twice(PluginHost([])) == EXPECTED


def test_in_asyncio() -> None:
    async def test() -> dict[str, list[str]]:
        return await opened_twice(aio.PluginHost([]))

    assert asyncio.run(asyncio.wait_for(test(), 120)) == EXPECTED


def test_in_threads() -> None:
    with blocking.PluginHost([]) as host, host.session() as session:
        for block, name in ((host, "host"), (session, "session")):
            with pytest.raises(HostError) as caught:
                block.enter()
            assert str(caught.value) == LINES[name]
        with session.turn("hi") as turn:
            with pytest.raises(HostError) as caught:
                turn.enter()
            assert str(caught.value) == LINES["turn"]
            assert turn.submit().text == "hi"
        with pytest.raises(HostError):
            turn.enter()
