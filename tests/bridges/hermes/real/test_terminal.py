"""`hermes chat` in a terminal: what a person types, and what plugins hear of it, and when."""

# pyright: basic
# mypy: ignore-errors

from __future__ import annotations

import time

import pytest

from tests.bridges.hermes.real.terminal import Terminal
from tests.bridges.hermes.real.world import WAIT_S


@pytest.fixture(scope="module")
def terminal(world):
    made = Terminal(world)
    yield made
    made.close()


SLOW = 'TOOL probe_slow {"seconds":60}'


WHEN = {
    "a plugin's tool runs": (SLOW, "TOOL probe_slow", True),
    "a tool of Hermes's runs": ('TOOL terminal {"command":"sleep 60"}', "pre_tool_call", True),
    "the model thinks": ("THINK 8", "pre_llm_call", False),
    "the answer comes": ("DRIP 8", "pre_llm_call", False),
}


@pytest.mark.parametrize("when", WHEN)
def test_ctrl_c(world, terminal, when):
    text, at, tool = WHEN[when]
    before = len(world.lines())
    terminal.say(text)
    world.wait(at, before)
    time.sleep(1)
    now = terminal.press("\x03")
    stopped, end = world.wait("agent_loop_stopped", before), world.wait("turn_end", before)
    assert stopped["reason"] == "user_stop"
    assert end["outcome"] == "interrupted"
    assert stopped["t"] - now < 5
    last = ["agent_loop_stopped", *(["post_tool_call"] if tool else []), "turn_end"]
    assert world.story(before)[-len(last) :] == last
    world.record("terminal", "Ctrl+C", when, before, now)
    time.sleep(2.5)  # a second Ctrl+C soon after would end Hermes


@pytest.mark.parametrize("when", WHEN)
def test_a_text_in_a_run(world, terminal, when):
    text, at, _ = WHEN[when]
    before = len(world.lines())
    terminal.say(text)
    world.wait(at, before)
    time.sleep(1)
    now = terminal.say("something else")
    stopped = world.wait("agent_loop_stopped", before)
    assert stopped["reason"] == "new_message"
    assert world.wait("turn_end", before)["outcome"] == "interrupted"
    wait_for_turns(world, before, 2)
    world.record("terminal", "a text", when, before, now)
    time.sleep(1)


@pytest.mark.parametrize(("keys", "choice"), [("\x1b[B\x1b[B\x1b[B\r", "deny"), ("\r", "allow")])
def test_hermes_asks_by_itself(world, terminal, keys, choice):
    there = world.home / "danger" / choice
    there.mkdir(parents=True)
    before = len(world.lines())
    terminal.say('TOOL terminal {"command":"rm -rf ' + str(there) + '"}')
    asked = world.wait("user_input_required", before)
    # the probe may approve, and cannot here
    assert (asked["kind"], asked.get("question_id")) == ("question", None)
    time.sleep(1.5)
    terminal.press(keys)
    assert world.wait("user_input_received", before)["choice"] == choice
    world.wait("turn_end", before)
    assert there.exists() == (choice == "deny")
    asked = [one for one in world.lines(before) if one["name"].startswith("user_input")]
    assert [one.get("by") for one in asked] == [None, "user"]


@pytest.mark.parametrize(("keys", "status"), [("\r", "ok"), ("\x1b[B\x1b[B\x1b[B\r", "denied")])
def test_a_person_is_asked_for_a_plugin(world, terminal, keys, status):
    before = len(world.lines())
    # the text tells the approvals apart: Hermes remembers what was allowed for the session
    terminal.say('ASKTOOL TOOL probe_echo {"text":"' + status + '"}')
    world.wait("user_input_required", before)
    time.sleep(1.5)
    terminal.press(keys)
    assert world.wait("post_tool_call", before)["status"] == status
    world.wait("turn_end", before)
    asked = [one for one in world.lines(before) if one["name"].startswith("user_input")]
    assert [one.get("by") for one in asked] == [None, "user"]


def test_a_command_of_a_plugin(terminal):
    since = len(terminal.shown)
    terminal.say("/probe some words")
    terminal.see("the probe heard: some words", since)


def test_new_and_exit(world, terminal):
    before = len(world.lines())
    terminal.say("/new")
    time.sleep(2)
    now = terminal.press("\r")
    reset = world.wait("session_reset", before)
    world.record("terminal", "`/new`", "nothing runs", before, now)
    after = len(world.lines())
    terminal.say("hello in the new session")
    assert world.wait("turn_start", after)["session_id"] == reset["session_id"]
    world.wait("turn_end", after)
    now = terminal.say("/exit")
    world.wait("session_end", after)
    terminal.process.wait(WAIT_S)
    world.record("terminal", "`/exit`", "nothing runs", after, now)


def wait_for_turns(world, since, count):
    give_up = time.monotonic() + WAIT_S
    while sum(one["name"] == "turn_end" for one in world.own(since)) < count:
        assert time.monotonic() < give_up
        time.sleep(0.02)
