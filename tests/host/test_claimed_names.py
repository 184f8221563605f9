"""What a plugin claims late, or when it starts again, takes no guard and no tool from another."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from sliphook import PluginHost
from sliphook.testing import CRASHES, After, FakePlugin
from sliphook_sdk.protocol import Manifest, Subscription
from tests.programs import WAIT_S, Program, Workshop, until

from .guarding import ask, guarding

DENIES = 'return {"decision": "deny", "reason": "never"}'


def again(shop: Workshop, name: str, change: str, **declared: Any) -> Program:
    """A plugin whose manifest changes when it starts again."""
    return shop.program(name, before=f"if not set_flag({name!r}): {change}", **declared)


async def die(host: PluginHost, index: int = 0) -> None:
    pid = host.plugins[index].pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await until(lambda: host.plugins[index].restarts == 1)
    await until(lambda: host.plugins[index].state in ("ready", "refused"))


@pytest.mark.parametrize(
    ("claim", "taken"),
    [
        ("MANIFEST['tools'] = [{'name': 'look'}]", "the tool look"),
        ("MANIFEST['commands'] = [{'name': 'look'}]", "the command /look"),
        ("MANIFEST['name'] = 'guard'", "the name guard"),
    ],
    ids=["a tool", "a command", "its name"],
)
async def test_none_is_left_out_for_what_another_claims_when_it_starts_again(
    shop: Workshop, claim: str, taken: str
) -> None:
    first = again(shop, "first", claim)
    guard = guarding(shop, DENIES, name="guard", tools=["look"], commands=[{"name": "look"}])
    with trio.fail_after(WAIT_S):
        async with PluginHost([first.path, guard.path]) as host:
            await die(host)
            assert [(one.name, one.state) for one in host.plugins] == [
                ("first", "refused"),
                ("guard", "ready"),
            ]
            assert host.plugins[0].why == f"{taken} is taken by the plugin guard ({guard.path})"
            assert [tool.name for tool in host.tools()] == ["look"]
            assert (await ask(host)).denied


@pytest.mark.parametrize(
    ("late", "taken"),
    [
        (FakePlugin("late", tools={"look": ""}, recorded=True), "the tool look"),
        (FakePlugin("late", tools={"look": ""}), "the tool look"),
        (FakePlugin("guard", tools={"look": ""}), "the name guard"),
    ],
    ids=["what was approved", "what was installed before", "its name"],
)
async def test_a_guard_that_is_left_out_for_one_that_comes_late_denies(
    autojump_clock: MockClock, late: FakePlugin, taken: str
) -> None:
    guard = FakePlugin("guard", hears=["pre_tool_call"], tools={"look": ""})
    async with PluginHost([guard]) as host:
        assert not (await ask(host)).denied
        await host.update([late, guard])
        assert [one.state for one in host.plugins] == ["ready", "refused"]
        assert [(tool.plugin, tool.name) for tool in host.tools()] == [(late.name, "look")]
        outcome = await ask(host)
        assert outcome.denied
        assert f"{taken} is taken by the plugin {late.name}" in outcome.reason
        await host.restart(str(late.name))
        assert host.plugins[0].state == "ready"
        await host.update([late])
        assert not (await ask(host)).denied


async def test_an_approved_guard_has_its_name_at_once_whoever_claims_it(
    autojump_clock: MockClock,
) -> None:
    claims = FakePlugin("guard")
    guard = FakePlugin(
        "guard",
        initialize=CRASHES,
        recorded=Manifest(
            protocol_version=1, name="guard", subscriptions=[Subscription(event="pre_tool_call")]
        ),
    )
    async with PluginHost([claims]) as host:
        assert not (await ask(host)).denied
        await host.update([claims, guard])
        assert [one.state for one in host.plugins] == ["refused", "failed"]
        assert (await ask(host)).denied


async def test_an_approved_guard_that_lost_its_name_while_disabled_guards_when_it_is_enabled(
    autojump_clock: MockClock,
) -> None:
    guard = FakePlugin("guard", hears=["pre_tool_call"], initialize=CRASHES, recorded=True)
    claims = FakePlugin("guard")
    async with PluginHost([guard, claims]) as host:
        await host.disable("guard")
        await host.update([guard, claims])
        assert [one.state for one in host.plugins] == ["disabled", "ready"]
        assert not (await ask(host)).denied
        await host.enable("guard")
        assert [one.state for one in host.plugins] == ["failed", "refused"]
        assert (await ask(host)).denied


async def test_none_is_asked_in_place_of_a_guard_that_has_lost_its_name_meanwhile(
    autojump_clock: MockClock,
) -> None:
    slow, guard, other = (
        FakePlugin(
            "slow",
            hooks={"pre_tool_call": After(2.0)},
            subscriptions=[{"event": "pre_tool_call", "replaces": True}],
        ),
        FakePlugin("guard", hears=["pre_tool_call"]),
        FakePlugin("guard", hears=["pre_tool_call"]),
    )
    async with PluginHost([slow, guard]) as host, trio.open_nursery() as nursery:

        async def change() -> None:
            await slow.hears("pre_tool_call")
            await host.update([slow, other, guard])

        nursery.start_soon(change)
        outcome = await ask(host)
    assert outcome.denied
    assert "guard (left out) is refused" in outcome.reason
    assert other.names() == []


async def test_two_guards_that_are_left_out_for_one_name_both_deny(
    autojump_clock: MockClock,
) -> None:
    early, late, approved = (
        FakePlugin("guard", hears=["pre_tool_call"]),
        FakePlugin(
            "guard", subscriptions=[{"event": "user_prompt_submit", "on_failure": "closed"}]
        ),
        FakePlugin("guard", recorded=True),
    )
    async with PluginHost([early]) as host, trio.open_nursery() as nursery:
        await host.update([early, approved])
        assert [one.state for one in host.plugins] == ["refused", "ready"]
        early.freeze()
        nursery.start_soon(host.update, [early, late])
        await wait_all_tasks_blocked()
        assert [one.state for one in host.plugins] == ["starting", "ready"]
        early.thaw()
        await wait_all_tasks_blocked()
        assert [one.state for one in host.plugins] == ["ready", "refused"]
        async with host.session() as session, session.turn("hello") as turn:
            prompt = await turn.submit()
            assert prompt.denied
            assert "the name guard is taken" in prompt.reason


@pytest.mark.parametrize("by", ["manifest", "file"])
async def test_one_that_is_called_like_another_takes_away_none_of_its_tools(
    shop: Workshop, by: str
) -> None:
    honest = shop.program("honest", tools=["look"])
    (shop.folder / "other").mkdir()
    other = Workshop(shop.folder / "other")
    twin = (
        shop.program("twin", before="MANIFEST['name'] = 'honest'")
        if by == "manifest"
        else other.program("honest", before="sys.exit(1)")
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost([honest.path]) as host:
            await host.update([honest.path, twin.path])
            assert [one.state for one in host.plugins] == [
                "ready",
                "refused" if by == "manifest" else "failed",
            ]
            assert host.plugins[1].name == ("twin" if by == "manifest" else "honest")
            assert [tool.name for tool in host.tools()] == ["look"]
            await host.update([honest.path])
            assert [tool.name for tool in host.tools()] == ["look"]


async def test_one_that_comes_back_under_another_name_is_told_once(shop: Workshop) -> None:
    probe = again(shop, "old", "MANIFEST['name'] = 'new'", hears=["turn_start", "turn_end"])
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host, host.session() as session:
            await die(host)
            assert host.plugins[0].name == "new"
            async with session.turn("hello"):
                pass
    assert probe.names() == ["turn_start", "turn_end"]
