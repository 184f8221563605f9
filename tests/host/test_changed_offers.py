"""`on_offers`: told whenever tools or commands may be others."""

from __future__ import annotations

import trio

from sliphook import PluginHost
from sliphook.testing import FakePlugin
from tests.programs import WAIT_S


async def test_a_start_other_tools_an_update_and_an_end_are_told() -> None:
    told: list[list[str]] = []
    plugin = FakePlugin("one", tools={"a": "ok"}, commands={"c": "ok"}, uses=["tools"])
    other = FakePlugin("two", tools={"b": "ok"})
    host = PluginHost([plugin], on_offers=lambda: told.append([tool.name for tool in host.tools()]))
    with trio.fail_after(WAIT_S):
        async with host:
            assert told[-1] == ["a"]
            await plugin.ask("host/tools", session_id=None, tools=[{"name": "d"}])
            assert told[-1] == ["d"]
            await host.update([plugin, other])
            assert told[-1] == ["d", "b"]
            await host.disable("one")
            assert told[-1] == ["b"]
            await host.update([other])
            assert told[-1] == ["b"]


async def test_one_that_raises_harms_nobody(caplog: object) -> None:
    plugin = FakePlugin("one", tools={"a": "ok"})

    def broken() -> None:
        raise ValueError("a fault of the agent")

    with trio.fail_after(WAIT_S):
        async with PluginHost([plugin], on_offers=broken) as host:
            assert [tool.name for tool in host.tools()] == ["a"]
