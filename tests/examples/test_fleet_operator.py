"""examples/fleet: what an operator wants reaches real agents over a real Redis."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest
import trio

from sliphook import Interruption
from tests.examples.fleet_agents import (
    Agent,
    agent,
    denied,
    denies,
    fleet,
    set_policy,
)
from tests.examples.redis_server import Broker, broker_in, needs_redis
from tests.programs import WAIT_S, until
from tests.programs import stop as hold


@needs_redis
async def test_an_operator_stops_an_agent_a_user_or_all(tmp_path: Path) -> None:
    interrupted = list[str]()
    users = ("ada", "ada", "bob")

    async def busy(one: Agent, user: str) -> None:
        if await one.turn(trio.sleep_forever) is None:
            interrupted.append(user)

    with trio.fail_after(WAIT_S), broker_in(tmp_path / "b") as broker:
        await broker.start()
        async with (
            agent(broker.url, tmp_path / "1", user_id=users[0]) as first,
            agent(broker.url, tmp_path / "2", user_id=users[1]) as second,
            agent(broker.url, tmp_path / "3", user_id=users[2]) as third,
        ):
            for words, stopped in (
                (("--user", "ada"), ["ada", "ada"]),
                (("--agent", third.name), ["bob"]),
                (("--agent", second.session.session_id), ["ada"]),
                (("--all", "--reason", "everyone out"), ["ada", "ada", "bob"]),
            ):
                async with trio.open_nursery() as nursery:
                    for one, user in zip((first, second, third), users, strict=True):
                        nursery.start_soon(busy, one, user)
                    for one in (first, second, third):
                        await until(partial(works, broker, one))
                    status, said = await fleet(broker, "stop", *words)
                    assert (status, said) == (0, f"stopped {len(stopped)} turns\n")
                    await until(lambda stopped=stopped: len(interrupted) == len(stopped))  # type: ignore[misc]
                    assert sorted(interrupted) == stopped
                    nursery.cancel_scope.cancel()
                interrupted.clear()


def works(broker: Broker, one: Agent) -> bool:
    """Whether the operator sees a call of the agent's shell under way."""
    return b'"tool":"shell"' in (broker.client.get(f"fleet:agent:{one.name}") or b"")


@needs_redis
async def test_a_stop_reaches_the_turn_within_100_ms_and_no_later_turn(tmp_path: Path) -> None:
    """The quickest of some: a machine under load may be late, a poll would always be."""
    came = list[float]()

    def on_interrupt(interruption: Interruption) -> None:
        assert interruption.reason == "plugin"
        came.append(trio.current_time())

    with trio.fail_after(WAIT_S), broker_in(tmp_path / "b") as broker:
        await broker.start()
        async with agent(broker.url, tmp_path / "a", on_interrupt=on_interrupt) as one:
            quickest = 60.0
            for _ in range(20):
                async with trio.open_nursery() as nursery:
                    begun = trio.Event()

                    async def tool(begun: trio.Event = begun) -> None:
                        begun.set()
                        await trio.sleep_forever()

                    nursery.start_soon(one.turn, tool)
                    await begun.wait()
                    asked = trio.current_time()
                    broker.client.xadd("fleet:control", {"stop": '{"all":true}'})
                    await until(lambda: bool(came))
                    quickest = min(quickest, came.pop() - asked)
                if quickest < 0.1:
                    break
            assert quickest < 0.1

            # the plugin is held while the operator stops all, and the user begins another turn
            assert one.host.plugins[0].pid is not None
            hold(one.host.plugins[0].pid)
            stop = broker.client.xadd("fleet:control", {"stop": '{"all":true}'})
            async with one.session.turn("go on") as turn:
                os.kill(one.host.plugins[0].pid, signal.SIGCONT)
                await until(
                    lambda: broker.client.exists(b"fleet:replies:fleet:control:" + stop) == 1
                )
                assert not turn.interrupted
            assert came == []


def test_a_look_at_the_brokers_clock_that_is_late_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a turn that began after a stop may be taken for an older one."""
    path = Path(__file__).parents[2] / "examples" / "fleet" / "broker.py"
    spec = importlib.util.spec_from_file_location("fleet_broker", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    now_s = 100.0
    late_s = iter([0.5, 0.3, 0.0, 0.4, 0.2])

    class Clock:
        def time(self) -> tuple[int, int]:
            nonlocal now_s
            told = 5_000 + int(now_s), int(now_s % 1 * 1e6)
            now_s += next(late_s)
            return told

    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    assert module.clock_of(Clock()) == pytest.approx(5_000.0, abs=0.001)


@needs_redis
async def test_a_new_policy_is_taken_up_and_outlives_the_broker(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S), broker_in(tmp_path / "b") as broker:
        await broker.start()
        async with agent(broker.url, tmp_path / "a") as one:
            assert await denied(one) is None
            folder = one.data_home / "fleet" / "policy.json"
            folder.mkdir()  # nothing can be written there
            policy = tmp_path / "policy.json"
            policy.write_text('{"deny": [{"kind": "sh*", "user": "ada", "reason": "not today"}]}')
            status, said = await fleet(broker, "policy", str(policy))
            assert (status, said[8:]) == (0, ": in force at 1 of 1 agents\n")
            assert await denied(one) == "not today"
            assert "the policy is not kept for the next start: Is a directory" in one.logs
            folder.rmdir()
            set_policy(broker, deny=[{"user": "bob"}, {"tool": "python"}])
            await denies(one, None)
            set_policy(broker, deny=[{"tool": "shell", "reason": "no shell"}])
            await denies(one, "no shell")
            broker.client.set("fleet:policy", '{"denny": []}')
            broker.client.xadd("fleet:control", {"policy": "broken"})
            await until(lambda: any("the old policy stays" in line for line in one.logs))
            assert await denied(one) == "no shell"
            broker.kill()
        async with agent(broker.url, tmp_path / "a") as again:
            assert await denied(again) == "no shell"


@needs_redis
async def test_a_dead_broker_fails_as_the_policy_says(tmp_path: Path) -> None:
    away = "the fleet's broker is away, and its policy is that no tool runs without it"
    with trio.fail_after(WAIT_S), broker_in(tmp_path / "b") as broker:
        async with agent(broker.url, tmp_path / "a") as never_reached:
            assert "the broker was never reached" in (await denied(never_reached) or "")
        await broker.start()
        async with agent(broker.url, tmp_path / "a") as one:
            set_policy(broker, broker_dead="closed", dead_after_s=2)
            await one.follows(b'"closed"')
            assert await denied(one) is None
            broker.kill()
            await denies(one, away)
            await broker.start()
            await denies(one, None)
            set_policy(broker, broker_dead="open")
            await one.follows(b'"open"')
            broker.kill()
        async with agent(broker.url, tmp_path / "a") as again:
            assert await denied(again) is None


@needs_redis
async def test_top_quotes_what_agents_say(tmp_path: Path) -> None:
    evil = {
        "session": "s-1",
        "key": "x\x1b[2J\n\u202e",
        "user": "ada" * 40,
        "busy_s": 3.2,
        "tool": "rm\r",
    }
    numbers = {"turns": 1, "tools": 2, "tokens": 3}
    living = {"agent": "box-1", "policy": "abc", "waiting": 7, "sessions": [{**evil, **numbers}]}
    with trio.fail_after(WAIT_S), broker_in(tmp_path / "b") as broker:
        await broker.start()
        broker.client.set("fleet:agent:box-1", json.dumps(living))
        broker.client.set("fleet:agent:box-2", b"\xff{")
        async with (
            agent(broker.url, tmp_path / "a", user_id="eve") as one,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(one.turn, trio.sleep_forever)
            await until(partial(works, broker, one))
            status, said = await fleet(broker, "top", "--once")
            nursery.cancel_scope.cancel()
    assert status == 0
    lines = [line.split() for line in said.splitlines()]
    assert len(lines) == 5
    assert lines[0][0] == "AGENT"
    assert lines[1][:2] == ["(not", "readable)"]
    assert lines[2] == [
        *("box-1", "ada" * 13 + "…", r"x\u001b[2J\u000a\u202e", r"rm\u000d", "3", "s"),
        *("1", "2", "3", "abc", "7", "wait"),
    ]
    assert lines[3][1:4] == ["eve", "main", "shell"]
    assert lines[4] == ["3", "agents"]


@needs_redis
async def test_the_operator_reads_what_is_wrong(tmp_path: Path) -> None:
    with broker_in(tmp_path / "b") as broker:
        status, said = await fleet(broker, "stop", "--all")
        assert (status, said.partition(": Error")[0]) == (1, f"fleet: the broker at {tmp_path}/b/s")
        wrong = tmp_path / "wrong.json"
        wrong.write_text('{"deny": [{"tol": "shell"}]}')
        status, said = await fleet(broker, "policy", str(wrong))
        assert (status, said) == (
            1,
            "fleet: Object contains unknown field `tol` - at `$.deny[0]`\n",
        )
