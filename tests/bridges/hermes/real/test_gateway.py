"""The real gateway: what a person writes in a chat, and what plugins hear of it, and when."""

# pyright: basic
# mypy: ignore-errors

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.bridges.hermes.real.world import WAIT_S

SLOW = 'TOOL probe_slow {"seconds":60}'


class Gateway:
    """One gateway for all tests, as its start takes seconds."""

    def __init__(self, world):
        self.world = world
        self.folder = world.home / "chat"
        self.folder.mkdir()
        self._count = 0
        os.environ.update(FILECHAT_DIR=str(self.folder), FILECHAT_ALLOW_ALL="1")
        self.log = (world.home / "gateway.out").open("w")
        self.process = world.hermes("gateway", "run", output=self.log)
        give_up = time.monotonic() + WAIT_S
        while not (self.folder / "connected").exists():
            assert self.process.poll() is None, (world.home / "gateway.out").read_text()
            assert time.monotonic() < give_up
            time.sleep(0.05)

    def say(self, text):
        self._count += 1
        part = self.folder / "part"
        part.write_text(text)
        now = time.time()
        part.rename(self.folder / f"{self._count:04}.txt")
        return now

    def settle(self):
        """Wait until Hermes has said all: until then a message would be one to a busy agent."""
        files = [self.folder / "said.jsonl", self.world.heard]
        give_up = time.monotonic() + WAIT_S
        while (
            time.time() - max((one.stat().st_mtime for one in files if one.exists()), default=0) < 2
        ):
            assert time.monotonic() < give_up
            time.sleep(0.05)

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.log.close()


@pytest.fixture(scope="module")
def gateway(world):
    made = Gateway(world)
    yield made
    made.close()


def test_a_message_is_a_turn(world, gateway):
    before = len(world.lines())
    gateway.say('TOOL probe_echo {"text":"a"}')
    assert world.wait("turn_end", before)["outcome"] == "completed"
    assert world.wait("session_start", before)["platform"] == "filechat"


WHEN = {
    "a plugin's tool runs": (SLOW, "TOOL probe_slow", "post_tool_call"),
    "a tool of Hermes's runs": (
        'TOOL terminal {"command":"sleep 60"}',
        "pre_tool_call",
        "post_tool_call",
    ),
    "the model thinks": ("THINK 8", "pre_llm_call", None),
    "the answer comes": ("DRIP 8", "pre_llm_call", None),
}
SAID = {
    "/stop": ("user_stop", "stop_command"),
    "/new": ("reset", "new_command"),
    "never mind": ("new_message", "new_message"),
}


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("said", SAID)
def test_what_a_person_says_in_a_run(world, gateway, said, when):
    text, at, tool = WHEN[when]
    gateway.settle()
    before = len(world.lines())
    gateway.say(text)
    world.wait(at, before)
    time.sleep(1)
    now = gateway.say(said)
    stopped, end = world.wait("agent_loop_stopped", before), world.wait("turn_end", before)
    assert (stopped["reason"], stopped["invalidation_reason"]) == SAID[said]
    assert end["outcome"] == "interrupted"
    assert stopped["t"] - now < 5  # a net: usually some ten milliseconds
    mine = [
        one
        for one in world.lines(before)
        if one.get("turn_id") == stopped["turn_id"] and "seq" in one
    ]
    names = [one["name"] for one in sorted(mine, key=lambda one: one["seq"])]
    last = ["agent_loop_stopped", *([tool] if tool else []), "turn_end"]
    assert names[-len(last) :] == last
    if said == "never mind":
        # Hermes takes it up as the next turn
        give_up = time.monotonic() + WAIT_S
        while sum(one["name"] == "turn_end" for one in world.own(before)) < 2:
            assert time.monotonic() < give_up
            time.sleep(0.02)
    if said == "/new":
        reset = world.wait("session_reset", before)
        gateway.settle()
        world.record("gateway", "`/new`", when, before, now)
        after = len(world.lines())
        gateway.say("hello in the new session")
        begun = world.wait("turn_start", after)
        assert begun["session_id"] == reset["session_id"] != stopped["session_id"]
        world.wait("turn_end", after)
    else:
        world.record("gateway", "a text" if said != "/stop" else "`/stop`", when, before, now)


def test_sigterm(world, gateway):
    gateway.settle()
    before = len(world.lines())
    gateway.say(SLOW)
    world.wait("TOOL probe_slow", before)
    now = time.time()
    gateway.process.send_signal(signal.SIGTERM)
    stopped = world.wait("agent_loop_stopped", before)
    assert stopped["reason"] in ("shutdown", "signal")
    assert world.wait("turn_end", before)["outcome"] == "interrupted"
    world.wait("session_end", before)
    world.record("gateway", "SIGTERM", "a plugin's tool runs", before, now)
    gateway.process.wait(WAIT_S)
