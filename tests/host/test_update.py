"""Other plugins are taken up while the host runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sliphook import HostError, PluginHost, Session
from sliphook.testing import CRASHES, HANGS, FakePlugin
from tests.programs import WAIT_S, Workshop


def guard(name: str = "guard", **fields: Any) -> FakePlugin:
    return FakePlugin(
        name,
        hooks={"pre_tool_call": {"decision": "deny", "reason": name}},
        hears=["session_start"],
        **fields,
    )


def states(host: PluginHost) -> dict[str, str]:
    return {plugin.name: plugin.state for plugin in host.plugins}


async def denied_by(session: Session) -> str:
    async with session.turn("go on") as turn:
        await turn.submit()
        return (await turn.call_tool("shell", {}, run=_ran)).text()
    raise AssertionError("there is no interrupt here")


async def _ran(_: dict[str, Any]) -> str:
    return "ran"


async def test_new_ones_start_others_end_and_the_rest_is_left_alone(
    autojump_clock: MockClock,
) -> None:
    first, second, third = guard("first"), guard("second"), guard("third")
    async with PluginHost([first, second]) as host, host.session() as session:
        await session.ready()
        assert [status.name for status in await host.update([third, second])] == ["third", "second"]
        assert states(host) == {"third": "ready", "second": "ready"}
        assert first.starts == 1
        assert second.starts == 1
        assert third.starts == 1
        assert first.received[-1].method == "exit"
        assert (
            await denied_by(session) == "the call of shell was denied: third: third; second: second"
        )
        assert [
            (one.method, one.params["source"])
            for one in third.received
            if one.name == "session_start"
        ] == [("event/session_start", "reload")]
        assert [one.params["source"] for one in second.received if one.name == "session_start"] == [
            "startup"
        ]
        await host.update([])
        assert await denied_by(session) == "ran"
        assert host.plugins == []


async def test_one_that_is_another_now_is_started_anew(autojump_clock: MockClock) -> None:
    old = guard(config={"level": 1})
    new = guard(config={"level": 2})
    async with PluginHost([old]) as host, host.session() as session:
        await host.update([new])
        assert (old.starts, new.starts) == (1, 1)
        assert new.received[0].params["plugin"]["config"] == {"level": 2}
        assert await denied_by(session) == "the call of shell was denied: guard: guard"
        await host.update([new])
        assert new.starts == 1


async def test_a_guard_that_is_added_and_does_not_start_guards_all_the_same(
    autojump_clock: MockClock,
) -> None:
    broken = guard(initialize=CRASHES, recorded=True)
    async with PluginHost([]) as host, host.session() as session:
        assert await denied_by(session) == "ran"
        assert [status.state for status in await host.update([broken])] == ["failed"]
        assert (await denied_by(session)).startswith(
            "the call of shell was denied: guard: guard is failed"
        )
        assert broken.starts == 1
        await host.update([broken])
        assert broken.starts == 2  # it is tried again
        await host.update([])
        assert await denied_by(session) == "ran"


async def test_what_is_recorded_guards_before_anything_is_waited_for(
    autojump_clock: MockClock,
) -> None:
    new, newest = (
        guard("new", initialize=HANGS, recorded=True),
        guard("newest", initialize=HANGS, recorded=True),
    )
    async with PluginHost([]) as host, host.session() as session:
        with trio.CancelScope() as scope:
            scope.cancel()
            await host.update([new])
        with trio.CancelScope() as scope:
            scope.cancel()
            await host.update([newest])  # the change before is not over
        assert states(host) == {"newest": "stopped"}
        assert await denied_by(session) == "the call of shell was denied: newest: newest is stopped"
        assert [status.state for status in await host.update([newest])] == ["failed"]
    assert (new.starts, newest.starts) == (0, 1)


async def test_one_that_comes_back_at_once_waits_for_its_end(autojump_clock: MockClock) -> None:
    old, again = guard(), guard()
    async with PluginHost([old]) as host:
        old.freeze()
        await host.update([])
        with trio.move_on_after(0.1):
            await host.update([again])
        assert (again.starts, states(host)) == (0, {"guard": "stopped"})
        await host.update([again])
        assert (again.starts, states(host)) == (1, {"guard": "ready"})


async def test_its_tools_come_and_go(autojump_clock: MockClock) -> None:
    one, other = (
        FakePlugin("one", tools={"deploy": "by one"}),
        FakePlugin("other", tools={"deploy": "by other"}),
    )
    async with PluginHost([one]) as host, host.session() as session:
        await host.update([other])
        assert [offer.name for offer in host.tools()] == ["deploy"]
        async with session.turn("go on") as turn:
            await turn.submit()
            assert (await turn.call_tool("deploy", {})).text() == "by other"
        await host.update([other, one])
        assert states(host) == {"other": "ready", "one": "refused"}
        await host.update([one])
        assert states(host) == {"one": "ready"}


async def test_a_caller_that_gives_up_leaves_the_change_to_the_host(
    autojump_clock: MockClock,
) -> None:
    old, new = guard("old"), guard("new", initialize=HANGS)
    async with PluginHost([old]) as host:
        with trio.move_on_after(1.0):
            await host.update([new])
        assert states(host) == {"new": "starting"}
        assert (await host.update([new]))[0].state == "failed"
    assert old.received[-1].method == "exit"


async def test_leaving_in_the_middle_of_it(autojump_clock: MockClock) -> None:
    old, new = guard("old"), guard("new", initialize=HANGS)
    with trio.fail_after(120):
        async with PluginHost([old]) as host:
            with trio.move_on_after(1.0):
                await host.update([new])
    assert old.received[-1].method == "exit"
    with pytest.raises(HostError, match="the host is not open"):
        await host.update([old])


async def test_real_ones(shop: Workshop) -> None:
    guarding = shop.program("guard", hears=["pre_tool_call", "session_start"])
    with trio.fail_after(WAIT_S):
        async with PluginHost([]) as host, host.session() as session:
            await session.ready()
            (status,) = await host.update([guarding.path])
            assert status.state == "ready"
            (spec,) = [plugin.spec for plugin in host._crew.plugins]  # pyright: ignore[reportPrivateUsage]
            assert (await host.update([replace(spec, config={"a": 1})]))[0].pid != status.pid
    assert guarding.names().count("session_start") == 2


async def test_a_host_that_is_opened_by_one_who_is_cancelled_already(shop: Workshop) -> None:
    idle = shop.program("idle", hears=["turn_start"])
    with trio.fail_after(WAIT_S), trio.CancelScope() as scope:
        scope.cancel()
        async with PluginHost([idle.path]):
            raise AssertionError("it was cancelled")
    assert scope.cancelled_caught
