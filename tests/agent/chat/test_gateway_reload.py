"""A gateway whose plugins change while it runs."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from sliphook import HostError, PluginHost
from sliphook.agent.chat.channel import Channel
from sliphook.agent.chat.gateway import Gateway
from sliphook.agent.loop import Agent
from sliphook.agent.models.scripted import ScriptedModel
from sliphook.testing import FakePlugin

from .at_work import at_work, everything, said, say

WAIT_S = 120.0


def agent_for(channel: Channel) -> Agent:
    return Agent(channel.host, channel.session, ScriptedModel(), display=channel.display)


async def test_reload_gives_the_host_other_plugins(autojump_clock: MockClock) -> None:
    first, second = FakePlugin("first"), FakePlugin("second", hears=["session_start"])

    async def reload() -> None:
        await host.update([first, second])

    gateway = Gateway(agent_for, reload=reload)
    with trio.fail_after(WAIT_S):
        async with PluginHost([first]) as host, gateway.open(host):
            assert await said(gateway, "/plugins") == ("command", "first  ready")
            assert await said(gateway, "/plugins reload") == (
                "command",
                "first   ready\nsecond  ready",
            )
            assert (
                "/plugins reload  take up what was installed, removed or changed"
                in (await said(gateway, "/help"))[1].splitlines()
            )
            assert await said(gateway, "/plugins relaod") == (
                "command",
                "there is /plugins and /plugins reload",
            )
    assert (first.starts, second.starts) == (1, 1)
    assert [payload.source for payload in second.payloads("session_start")] == ["reload"]


@pytest.mark.parametrize("fails", [False, True])
async def test_a_new_session_takes_them_up(autojump_clock: MockClock, fails: bool) -> None:
    first, second = FakePlugin("first"), FakePlugin("second")
    done = trio.Event()

    async def reload() -> None:
        done.set()
        if fails:
            raise HostError("config.toml, line 1: it is no TOML")
        await host.update([second])

    gateway = Gateway(agent_for, reload=reload)
    with trio.fail_after(WAIT_S):
        async with PluginHost([first]) as host, gateway.open(host):
            await said(gateway, "hello")
            assert await said(gateway, "/new") == ("command", "a new session")
            await done.wait()
            assert (await said(gateway, "hello again"))[0] == "completed"
            await trio.testing.wait_all_tasks_blocked()
            assert [plugin.name for plugin in host.plugins] == (["first"] if fails else ["second"])


@pytest.mark.parametrize(
    ("takes_s", "outcome", "after_s"),
    [(3.0, "denied", 3.0), (60.0, "completed", 10.0)],
    ids=["they come", "they do not come"],
)
async def test_the_first_message_of_a_new_session_waits_for_them(
    autojump_clock: MockClock, takes_s: float, outcome: str, after_s: float
) -> None:
    guard = FakePlugin("guard", hooks={"user_prompt_submit": {"decision": "deny", "reason": "no"}})

    async def reload() -> None:
        await trio.sleep(takes_s)
        await host.update([guard])

    gateway = Gateway(agent_for, reload=reload)
    with trio.fail_after(WAIT_S):
        async with PluginHost([]) as host, gateway.open(host):
            await said(gateway, "hello")
            say(gateway, "/new")
            began = trio.current_time()
            assert (await said(gateway, "hello again"))[0] == outcome
            assert trio.current_time() - began == pytest.approx(after_s, abs=0.01)
            began = trio.current_time()
            assert (await said(gateway, "and again"))[0] == outcome
            assert trio.current_time() - began < 1


async def test_stop_ends_the_waiting(autojump_clock: MockClock) -> None:
    gateway = Gateway(agent_for, reload=trio.sleep_forever)
    with trio.fail_after(120):
        async with PluginHost([]) as host, gateway.open(host):
            await said(gateway, "/new")
            message = say(gateway, "hello")
            await trio.sleep(1)
            assert (await said(gateway, "/stop"))[0] == "command"
            assert (await message.wait()).outcome == "interrupted"


async def test_where_they_do_not_change_there_is_no_such_command(autojump_clock: MockClock) -> None:
    async with at_work(everything()) as gateway:
        assert await said(gateway, "/plugins reload") == (
            "command",
            "there is /plugins, and nothing goes behind it",
        )
