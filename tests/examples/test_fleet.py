"""examples/fleet: what happens is told, whatever dies: the plugin, the broker, the disk."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import trio

from sliphook import PluginSpec
from tests.docs.test_more_examples import passes
from tests.examples.fleet_agents import (
    EVENTS_OF_A_TURN,
    PLUGIN,
    Agent,
    agent,
    by_session,
    denied,
    denies,
    gaps,
    set_policy,
    told,
)
from tests.examples.redis_server import broker_in, needs_redis
from tests.programs import WAIT_S, until


async def test_it_keeps_to_the_protocol(tmp_path: Path) -> None:
    await passes(PluginSpec(PLUGIN, config={"url": f"unix://{tmp_path}/none"}))


@needs_redis
async def test_a_broker_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    """The small form of `make fleet-load`: agents at work, the broker gone for half of it."""
    turns = 24

    async def work(one: Agent, begun: trio.Event, away: trio.Event) -> None:
        for number in range(turns):
            if number == turns // 3:
                begun.set()
                await away.wait()
            await one.turn()

    with trio.fail_after(WAIT_S), broker_in(tmp_path / "b") as broker:
        await broker.start()
        async with (
            agent(broker.url, tmp_path / "1") as first,
            agent(broker.url, tmp_path / "2") as second,
            agent(broker.url, tmp_path / "2") as third,  # on the same machine
        ):
            away = trio.Event()
            async with trio.open_nursery() as nursery:
                events = [trio.Event() for _ in range(3)]
                for one, begun in zip((first, second, third), events, strict=True):
                    nursery.start_soon(work, one, begun, away)
                for begun in events:
                    await begun.wait()
                broker.kill()
                away.set()
            await broker.start()
            await first.all_sent()
            await second.all_sent()
        found = told(broker.client)
        assert gaps(found) == {}
        assert sorted(map(len, by_session(found).values())) == [EVENTS_OF_A_TURN * turns + 2] * 3


@needs_redis
async def test_events_of_a_killed_plugin_and_a_killed_broker_are_sent_later(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S), broker_in(tmp_path / "b") as broker:
        await broker.start()
        async with agent(broker.url, tmp_path / "a") as one:
            await one.turn()
            broker.kill()
            await one.turn()
            plugin = one.host.plugins[0]
            assert plugin.pid is not None
            os.kill(plugin.pid, signal.SIGKILL)
            await until(lambda: one.host.plugins[0].restarts == 1)
            await until(lambda: one.host.plugins[0].state == "ready")
            await one.turn()
            await broker.start()
            await one.all_sent()
        found = told(broker.client)
        (fired,) = by_session(found).values()
        # who is started again is told `session_start` once more, with the number of the last fire
        numbers = [seq for seq, name in fired if name != "session_start" or seq == 1]
        assert numbers == sorted(set(numbers))
        # what was sent to the process that was killed is recorded, with the answered hook last
        names = [name for _, name in fired]
        assert names.count("pre_tool_call") == 3
        assert names[-1] == "session_end"


@needs_redis
async def test_a_full_spool_is_told_and_counted(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S), broker_in(tmp_path / "b") as broker:
        await broker.start()
        async with agent(broker.url, tmp_path / "a", spool_mib=1, content=True) as one:
            set_policy(broker, broker_dead="closed", dead_after_s=600)
            await one.follows(b'"closed"')
            broker.kill()
            while (why := await denied(one)) is None:
                pass
            assert why == (
                "the fleet's policy wants it recorded, and that failed: database or disk is full"
            )
            assert "events cannot be recorded: database or disk is full" in one.logs
            await broker.start()
            await denies(one, None)
            await until(lambda: "events are recorded again" in one.logs)
        lost = [event["count"] for event in told(broker.client) if event["event"] == "fleet_lost"]
        assert sum(lost) > 0


@needs_redis
async def test_a_damaged_spool_is_put_aside(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "data" / "fleet"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "spool.db").write_bytes(b"no database" * 1000)
    with trio.fail_after(WAIT_S), broker_in(tmp_path / "b") as broker:
        await broker.start()
        async with agent(broker.url, tmp_path / "a") as one:
            await one.turn()
            assert [line for line in one.logs if line.startswith("the spool")] == [
                f"the spool was damaged (file is not a database); it is now {folder}/spool.damaged"
            ]
        assert gaps(told(broker.client)) == {}


@needs_redis
async def test_events_are_followed_each_once(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S), broker_in(tmp_path / "b") as broker:
        await broker.start()
        broker.client.xadd("fleet:events", {"spool": "s", "n": "x"})
        for number in (1, 2, 1, 2, 3):  # as after a broker that was killed before it answered
            event = {"spool": "s", "n": number, "event": json.dumps({"event": f"e{number}\x1b"})}
            broker.client.xadd("fleet:events", event)
        process = await trio.lowlevel.open_process(
            [sys.executable, str(PLUGIN), "events", "--all"],
            env={**os.environ, "FLEET_URL": broker.url},
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        text = b""
        while text.count(b"\n") < 3:
            text += await process.stdout.receive_some()
        process.kill()
        await process.wait()
    assert [json.loads(line)["event"] for line in text.splitlines()] == [
        "e1\x1b",
        "e2\x1b",
        "e3\x1b",
    ]
    assert b"\x1b" not in text


@needs_redis
async def test_what_people_wrote_is_recorded_only_if_it_is_wanted(tmp_path: Path) -> None:
    with trio.fail_after(WAIT_S), broker_in(tmp_path / "b") as broker:
        await broker.start()
        async with agent(broker.url, tmp_path / "a") as one:
            await one.turn()
        without = json.dumps(told(broker.client))
        assert "tidy up" not in without
        assert "ls" not in [part for part in without.split('"') if part == "ls"]
        async with agent(broker.url, tmp_path / "a", content=True) as one:
            await one.turn()
        wanted = told(broker.client)
        texts: list[Any] = [one.get("text") or one.get("arguments") for one in wanted]
        assert "tidy up" in texts
        assert {"command": "ls"} in texts


def test_a_number_is_never_used_again(tmp_path: Path) -> None:
    """Readers tell by it what they know already."""
    file = tmp_path / "spool.db"
    script = (
        "from pathlib import Path; from spool import Spool; import sys;"
        "s = Spool(Path(sys.argv[1]), 1); s.add(b'x'); (n, e), = s.next(0, 9); s.forget(n); print(n)"
    )
    command = [sys.executable, "-c", script, str(file)]
    numbers = [
        subprocess.run(
            command, cwd=PLUGIN.parent, check=True, capture_output=True, text=True
        ).stdout
        for _ in range(3)
    ]
    assert numbers == ["1\n", "2\n", "3\n"]
    with sqlite3.connect(file) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
