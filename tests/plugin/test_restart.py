"""A plugin that dies comes back, knows the sessions again, and its guard stands meanwhile."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from sliphook import PluginHost, PluginStatus
from sliphook.process import spawn as spawning
from sliphook.process.child import ChildProcess
from tests.pairs import check_pairs
from tests.programs import EVERYTHING, WAIT_S, Workshop, case_of, until

RESTARTS_WAIT = "if not set_flag('started'): wait_for_flag('hold')"


def kill(host: PluginHost, index: int = 0) -> None:
    pid = host.plugins[index].pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


async def killed_and_back(host: PluginHost, index: int = 0) -> None:
    restarts = host.plugins[index].restarts
    kill(host, index)
    await until(
        lambda: host.plugins[index].restarts > restarts and host.plugins[index].state == "ready"
    )


async def test_it_is_told_of_the_sessions_that_live(shop: Workshop) -> None:
    """protocol.md: a plugin that comes back gets `session_start` with the source `reload`."""
    probe = shop.program(hears=EVERYTHING)
    healthy = shop.program("healthy", hears=EVERYTHING)
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path, healthy.path]) as host, host.session() as session:
            await session.ready()
            await killed_and_back(host)
            async with session.turn("hello") as turn:
                await turn.submit()
    assert probe.names() == [
        "session_start",
        "session_start",
        "turn_start",
        "user_prompt_submit",
        "turn_end",
        "session_end",
    ]
    (reload,) = probe.params("event/session_start")
    assert (reload["source"], reload["session_id"]) == ("reload", session.session_id)
    # no other plugin gets a gap where this one was told
    check_pairs(healthy.fired())


async def test_a_guard_that_is_not_there_denies(shop: Workshop) -> None:
    """While it is being started again, and when it has failed for good."""
    hold = shop.flag("hold")
    hold.touch()
    guard = shop.program(
        "guard",
        subscriptions=[
            {"event": "pre_tool_call", "match": {"tool_name": "first"}, "timeout_s": WAIT_S},
            {"event": "pre_tool_call", "match": {"tool_name": "mine"}, "timeout_s": 0.2},
            {"event": "user_prompt_submit", "timeout_s": 0.2},
        ],
        before=RESTARTS_WAIT,
    )

    async def own(_: dict[str, Any]) -> str:
        return "ran"

    with trio.fail_after(WAIT_S):
        async with PluginHost([guard.path]) as host, host.session() as session:
            async with session.turn("there") as turn:
                assert (await turn.call_tool("first", {}, run=own)).status == "ok"
            hold.unlink()
            kill(host)
            await until(lambda: host.plugins[0].restarts == 1)
            async with session.turn("restarting") as turn:
                assert not (await turn.submit()).denied
                denied = await turn.call_tool("mine", {}, run=own)
            assert (denied.status, denied.denied_by[0].plugin) == ("denied", "guard")
            guard.path.unlink()
            kill(host)
            await until(lambda: host.plugins[0].state == "failed")
            async with session.turn("failed") as turn:
                assert not (await turn.submit()).denied
                denied = await turn.call_tool("mine", {}, run=own)
            assert denied.status == "denied"
            assert "guard" in denied.result.content


async def test_a_hook_waits_for_a_plugin_that_comes_back_in_time(shop: Workshop) -> None:
    guard = shop.program(
        "guard",
        subscriptions=[{"event": "pre_tool_call", "timeout_s": WAIT_S}],
        on="if method == 'hook/pre_tool_call' and set_flag('asked'): os._exit(1)",
    )

    async def own(_: dict[str, Any]) -> str:
        return "ran"

    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([guard.path]) as host,
            host.session() as session,
            session.turn("hello") as turn,
        ):
            assert (
                await turn.call_tool("mine", {}, run=own)
            ).status == "denied"  # it died of this one; it is not retried
            assert (await turn.call_tool("mine", {}, run=own)).status == "ok"
    assert [plugin.restarts for plugin in host.plugins] == [1]


async def test_five_deaths_in_a_minute_are_enough(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plugin is given up, its tools go, and its guard still denies."""
    monkeypatch.setattr("sliphook.plugin.lifecycle.FIRST_DELAYS_S", (0.0,))
    problems: list[str] = []
    probe = shop.program(
        hears=["pre_tool_call"],
        main="reply(receive()['id'], MANIFEST)\nsys.exit(4)",
        tools=["look"],
    )
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path], on_problem=lambda _, line: problems.append(line)) as host,
            host.session() as session,
        ):
            await until(lambda: host.plugins[0].state == "failed")
            assert host.plugins[0].restarts == 4
            assert host.tools() == []
            async with session.turn("hello") as turn:
                outcome = await turn.call_tool("mine", {}, run=lambda _: pytest.fail("it ran"))
            assert outcome.status == "denied"
    assert len(problems) == 5
    assert "died too often" in problems[-1]


async def test_a_guard_that_dies_right_behind_its_manifest_still_guards(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end and its manifest are noticed together, in either order: the manifest counts."""
    monkeypatch.setattr("sliphook.plugin.lifecycle.FIRST_DELAYS_S", (60.0,))

    async def spawn_and_block(*args: Any, **options: Any) -> Any:
        child = await spawn(*args, **options)
        await until(
            lambda: os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        )
        return child

    spawn = spawning.spawn
    monkeypatch.setattr("sliphook.plugin.launch.spawn", spawn_and_block)
    subscription = {"event": "pre_tool_call", "timeout_s": 0.1}
    guard = shop.program(
        "guard", subscriptions=[subscription], main="send(id=1, result=MANIFEST)\nsys.exit(4)"
    )
    for _ in range(6):
        with trio.fail_after(WAIT_S):
            async with (
                PluginHost([guard.path]) as host,
                host.session() as session,
                session.turn("hello") as turn,
            ):
                await until(lambda host=host: host.plugins[0].state == "restarting")  # type: ignore[misc]
                outcome = await turn.call_tool("mine", {}, run=lambda _: pytest.fail("it ran"))
        assert outcome.status == "denied"


async def test_its_folder_stays_the_same(shop: Workshop) -> None:
    """A plugin that is only tried says its name when it starts.

    Its folder must not depend on that.
    """
    probe = shop.program(name="file-name", before='record({"cwd": os.getcwd()})')
    text = probe.path.read_text().replace('"name": "file-name"', '"name": "own-name"')
    probe.path.write_text(text)
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host:
            assert host.plugins[0].name == "own-name"
            await killed_and_back(host)
    folders = [message["cwd"] for message in probe.messages() if "cwd" in message]
    assert len(folders) == 2
    assert folders[0] == folders[1]
    assert [one["plugin"]["data_dir"] for one in probe.params("initialize")] == folders


async def test_another_name_after_a_restart_leaves_no_trace_of_the_old(shop: Workshop) -> None:
    """It says `first`, dies, and says `second`: it is asked at most once, and under one name."""
    probe = shop.program(
        "first",
        hears=["user_prompt_submit"],
        tools=["look"],
        before="if not set_flag('started'): MANIFEST['name'] = 'second'",
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host, host.session() as session:
            kill(host)
            await until(
                lambda: (
                    host.plugins[0].restarts == 1
                    and host.plugins[0].state in ("ready", "refused", "failed")
                )
            )
            async with session.turn("hello") as turn:
                await turn.submit()
            assert len(host.tools()) <= 1
    assert probe.names().count("user_prompt_submit") <= 1


async def test_a_tool_whose_plugin_is_removed_under_the_call(shop: Workshop) -> None:
    """While its guard thinks, the user removes it: no exception."""
    go = shop.flag("go")
    probe = shop.program(tools=["look"])
    guard = shop.program(
        "guard",
        hears=["pre_tool_call"],
        on=case_of("hook/pre_tool_call", "wait_for_flag('go')"),
    )
    statuses: list[str] = []
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([probe.path, guard.path]) as host,
            host.session() as session,
            session.turn("hello") as turn,
            trio.open_nursery() as nursery,
        ):

            async def call() -> None:
                statuses.append((await turn.call_tool("look", {})).status)

            nursery.start_soon(call)
            await guard.hears("hook/pre_tool_call")
            await host.update([guard.path])
            go.touch()
    assert statuses == ["error"]


async def test_a_guard_that_is_removed_between_the_phases(shop: Workshop) -> None:
    go = shop.flag("go")
    guard = shop.program("guard", hears=["pre_tool_call"])
    replacer = shop.program(
        "replacer",
        subscriptions=[{"event": "pre_tool_call", "replaces": True}],
        on=case_of("hook/pre_tool_call", "wait_for_flag('go')"),
    )
    statuses: list[str] = []
    with trio.fail_after(WAIT_S):
        async with (
            PluginHost([guard.path, replacer.path]) as host,
            host.session() as session,
            session.turn("hello") as turn,
            trio.open_nursery() as nursery,
        ):

            async def call() -> None:
                statuses.append(
                    (await turn.call_tool("mine", {}, run=lambda _: pytest.fail("it ran"))).status
                )

            nursery.start_soon(call)
            await replacer.hears("hook/pre_tool_call")
            await host.update([replacer.path])
            go.touch()
    assert statuses == ["denied"]


async def test_seq_rises_for_one_that_comes_back_with_a_hook_waiting(shop: Workshop) -> None:
    hold = shop.flag("hold")
    probe = shop.program(
        hears=["session_start"],
        subscriptions=[{"event": "user_prompt_submit", "timeout_s": WAIT_S}],
        before=RESTARTS_WAIT,
    )
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host, host.session() as session:
            await session.ready()
            kill(host)
            await until(lambda: host.plugins[0].restarts == 1)
            async with session.turn("hello") as turn, trio.open_nursery() as nursery:
                nursery.start_soon(turn.submit)
                await until(lambda: len(turn.fires) == 1)
                session.notification("info", "an event without a subscriber, which counts")
                hold.touch()
    assert probe.names() == ["session_start", "session_start", "user_prompt_submit"]
    seqs = [message["params"]["seq"] for message in probe.fired()]
    assert seqs == sorted(seqs)


async def test_a_fault_of_the_host_costs_the_plugin_alone_and_is_no_dead_end(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe, other = shop.program(), shop.program("other", tools=["look"])
    faults = [probe]

    async def faulty(path: Path, **settings: Any) -> ChildProcess:
        if path == probe.path and faults:
            raise RuntimeError("boom")
        return await spawning.spawn(path, **settings)

    monkeypatch.setattr("sliphook.plugin.launch.spawn", faulty)
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path, other.path]) as host:
            status = await host.restart("probe")
            assert (status.state, status.why) == (
                "failed",
                "a fault of the host: RuntimeError('boom')",
            )
            assert [tool.plugin for tool in host.tools()] == ["other"]
            faults.clear()
            assert (await host.restart("probe")).state == "ready"


async def test_orders_that_cross_each_other_are_all_answered(shop: Workshop) -> None:
    probe = shop.program(tools=["look"])
    states: list[str] = []
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host:

            async def order(call: Callable[[str], Awaitable[PluginStatus]]) -> None:
                states.append((await call("probe")).state)

            async with trio.open_nursery() as nursery:
                for call in (host.restart, host.disable, host.restart, host.enable):
                    nursery.start_soon(order, call)
                kill(host)
            assert len(states) == 4
            assert (await host.disable("probe")).state == "disabled"
            assert host.tools() == []
            assert (await host.enable("probe")).state == "ready"
            async with host.session() as session, session.turn("hello") as turn:
                assert (await turn.call_tool("look", {})).status == "ok"
