"""`make fleet-load`: 200 agents, 1,000 events a second, and the broker killed in the middle.

Each agent is a real host with a real plugin process and a data folder of its own, as on a machine
of its own; some dozens of hosts share one process, since that is all that two cores hold. Their
turns are those of a real agent without its model.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import trio

from sliphook import Interruption, PluginHost
from tests.examples.fleet_agents import (
    EVENTS_OF_A_TURN,
    Agent,
    agent,
    by_session,
    gaps,
    told,
)
from tests.examples.redis_server import Broker, broker_in

WORKERS = 4
AWAY_S = 5.0  # how long the broker is dead
STARTS_S = 600.0


def say(**fields: object) -> None:
    """A line for the main process. One write: several tasks speak."""
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


async def work(one: Agent, ends_s: float, pause_s: float) -> None:
    """Turn after turn until then; a turn that an operator has stopped is followed by the next."""
    await trio.sleep(random.uniform(0, pause_s))
    while trio.current_time() < ends_s:
        next_s = trio.current_time() + pause_s
        await one.turn(partial(trio.sleep, pause_s * 0.8))
        await trio.sleep_until(next_s)


async def worker(url: str, folder: Path, agents: range, pause_s: float, seconds: float) -> None:
    """Some agents in this process. It begins when a line comes."""

    def on_interrupt(interruption: Interruption) -> None:
        say(interrupted=interruption.session_id, reason=interruption.reason, at=time.monotonic())

    async with AsyncExitStack() as stack:
        ones = list[Agent]()
        for number in agents:
            data = folder / f"m{number}"
            there = agent(url, data, user_id=f"user{number % 7}", on_interrupt=on_interrupt)
            ones.append(await stack.enter_async_context(there))
        say(ready=[(one.session.session_id, one.name) for one in ones])
        await trio.to_thread.run_sync(sys.stdin.readline)
        async with trio.open_nursery() as nursery:
            for one in ones:
                nursery.start_soon(work, one, trio.current_time() + seconds, pause_s)
        for one in ones:
            await one.all_sent()
    for one in ones:
        if one.waiting():  # the end of its session: the next start on its machine sends it
            async with PluginHost([one.spec], data_home=one.data_home):
                await one.all_sent()
    say(left=sum(one.waiting() for one in ones))


class Fleet:
    """The worker processes, and what they have said."""

    def __init__(self, folder: Path, broker: Broker, agents: int, pause_s: float, seconds: float):
        share = -(-agents // WORKERS)
        self.said = list[dict[str, Any]]()
        self._commands = [
            [
                *(sys.executable, "-m", "tests.examples.fleet_load", "--worker", broker.url),
                *("--folder", str(folder), "--first", str(first)),
                *("--agents", str(min(share, agents - first))),
                *("--pause", str(pause_s), "--seconds", str(seconds)),
            ]
            for first in range(0, agents, share)
        ]
        self._processes = list[trio.Process]()

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        """Started when all agents are there; over when all workers have ended."""
        for command in self._commands:
            process = await trio.lowlevel.open_process(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            self._processes.append(process)
        try:
            async with trio.open_nursery() as nursery:
                for process in self._processes:
                    nursery.start_soon(self._hear, process)
                with trio.fail_after(STARTS_S):
                    await self.has_said("ready", len(self._processes))
                for process in self._processes:
                    assert process.stdin is not None
                    await process.stdin.send_all(b"go\n")
                task_status.started()
        finally:
            for process in self._processes:
                process.kill()

    async def _hear(self, process: trio.Process) -> None:
        rest = b""
        assert process.stdout is not None
        async for data in process.stdout:
            *lines, rest = (rest + data).split(b"\n")
            self.said += map(json.loads, lines)
        assert await process.wait() == 0

    async def has_said(self, what: str, times: int) -> None:
        while len(self.all_of(what)) < times:  # noqa: ASYNC110 - other processes say it
            await trio.sleep(0.05)

    def all_of(self, what: str) -> list[dict[str, Any]]:
        return [line for line in self.said if what in line]


Late = dict[str, list[float]]
"""How many ms after a stop the host had it, by whom the operator has named."""


async def stop_some(fleet: Fleet, broker: Broker, late: Late, away: list[bool]) -> None:
    """An operator stops one turn after the other, of an agent and of what any agent might have."""
    ready = [one for line in fleet.all_of("ready") for one in line["ready"]]
    for whom in itertools.cycle(late):
        await trio.sleep(0.3)
        if away[0]:
            continue
        session, agent = random.choice(ready)
        stream = f"fleet:control:{agent}" if whom == "an agent" else "fleet:control"
        heard = len(fleet.all_of("interrupted"))
        asked = time.monotonic()
        broker.client.xadd(stream, {"stop": json.dumps({"agent": session})})
        with trio.move_on_after(2):  # perhaps no turn of it was open
            while len(fleet.all_of("interrupted")) == heard:  # noqa: ASYNC110 - as above
                await trio.sleep(0.005)
        for line in fleet.all_of("interrupted")[heard:]:
            if line["interrupted"] == session:
                late[whom].append((line["at"] - asked) * 1000)


async def load(agents: int, rate: float, seconds: float, show: Callable[[str], None]) -> bool:
    """Run it and say what came of it. False if something was lost, doubled or out of order."""
    with tempfile.TemporaryDirectory(prefix="fleet") as name:
        folder = Path(name)
        with broker_in(folder / "b") as broker:
            await broker.start()
            fleet = Fleet(folder, broker, agents, EVENTS_OF_A_TURN * agents / rate, seconds)
            late: Late = {"an agent": [], "one of all agents": []}
            away = [False]
            begun = time.monotonic()
            async with trio.open_nursery() as nursery:
                over = trio.Event()

                async def run(*, task_status: trio.TaskStatus[None]) -> None:
                    await fleet.run(task_status=task_status)
                    over.set()

                await nursery.start(run)
                show(f"{agents} agents are there after {time.monotonic() - begun:.0f} s")
                nursery.start_soon(stop_some, fleet, broker, late, away)
                before = broker.client.xlen("fleet:events")
                await trio.sleep(seconds / 2)
                during = broker.client.xlen("fleet:events") - before
                show(f"{during / (seconds / 2):.0f} events a second reach the broker")
                away[0] = True
                broker.kill()
                await trio.sleep(AWAY_S)
                await broker.start()
                away[0] = False
                show(f"the broker was killed, and came back after {AWAY_S:.0f} s")
                await over.wait()
                nursery.cancel_scope.cancel()
            return report(broker, fleet, agents, late, show)


def report(
    broker: Broker, fleet: Fleet, agents: int, late: Late, show: Callable[[str], None]
) -> bool:
    """What is in the stream."""
    sent = broker.client.xlen("fleet:events")
    events = told(broker.client)
    sessions, wrong = by_session(events), gaps(events)
    left = sum(line["left"] for line in fleet.all_of("left"))
    stopped = sum(line["reason"] == "plugin" for line in fleet.all_of("interrupted"))
    show(f"{len(events):,} events of {len(sessions)} sessions, {sent - len(events)} came twice")
    show(f"{left} still on disk; {len(wrong)} sessions with a gap, or out of order")
    show(f"{stopped} turns were stopped by an operator")
    for whom, all_ms in late.items():
        if all_ms:
            median, within = sorted(all_ms)[len(all_ms) // 2], sum(ms < 100 for ms in all_ms)
            show(f"to stop {whom}: median {median:.0f} ms, {within} of {len(all_ms)} within 100 ms")
    return not wrong and len(sessions) == agents and left == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=200)
    parser.add_argument("--rate", type=float, default=1000.0, help="events a second, of all")
    parser.add_argument("--seconds", type=float, default=40.0)
    for name in ("--worker", "--folder", "--first", "--pause"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        mine = range(int(given.first), int(given.first) + given.agents)
        folder, pause_s = Path(given.folder), float(given.pause)
        trio.run(worker, given.worker, folder, mine, pause_s, given.seconds)
        return 0
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    good = trio.run(load, given.agents, given.rate, given.seconds, partial(print, flush=True))
    print("nothing lost, nothing twice, in order" if good else "FAILED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
