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


@pytest.mark.parametrize(("keys", "choice"), [("\x1b[B\x1b[B\x1b[B\r", "deny"), ("\r", "allow")])
def test_hermes_asks_by_itself(world, terminal, keys, choice):
    there = world.home / "danger" / choice
    there.mkdir(parents=True)
    before = len(world.lines())
    terminal.say('TOOL terminal {"command":"rm -rf ' + str(there) + '"}')
    asked = world.wait("user_input_required", before)
    assert asked["kind"] == "question"
    time.sleep(1.5)
    terminal.press(keys)
    assert world.wait("user_input_received", before)["choice"] == choice
    world.wait("turn_end", before)
    assert there.exists() == (choice == "deny")
    asked = [one for one in world.lines(before) if one["name"].startswith("user_input")]
    assert [one.get("by") for one in asked] == [None, "user"]


@pytest.mark.parametrize(
    ("text", "at", "tool"),
    [
        (SLOW, "TOOL probe_slow", True),
        ('TOOL terminal {"command":"sleep 60"}', "pre_tool_call", True),
        ("THINK 8", "pre_llm_call", False),
        ("DRIP 8", "pre_llm_call", False),
    ],
)
def test_ctrl_c(world, terminal, text, at, tool):
    before = len(world.lines())
    terminal.say(text)
    world.wait(at, before)
    time.sleep(1)
    now = terminal.press("\x03")
    stopped, end = world.wait("agent_loop_stopped", before), world.wait("turn_end", before)
    assert stopped["reason"] == "user_stop"
    assert end["outcome"] == "interrupted"
    print(f"terminal, Ctrl+C, {text}: heard after {(stopped['t'] - now) * 1000:.0f} ms")
    assert stopped["t"] - now < 5
    last = ["agent_loop_stopped", *(["post_tool_call"] if tool else []), "turn_end"]
    assert world.story(before)[-len(last) :] == last
    time.sleep(2.5)  # a second Ctrl+C soon after would end Hermes


def test_a_text_in_a_run(world, terminal):
    before = len(world.lines())
    terminal.say(SLOW)
    world.wait("TOOL probe_slow", before)
    time.sleep(0.5)
    now = terminal.say("something else")
    stopped = world.wait("agent_loop_stopped", before)
    assert stopped["reason"] == "new_message"
    print(f"terminal, text: heard after {(stopped['t'] - now) * 1000:.0f} ms")
    assert world.wait("turn_end", before)["outcome"] == "interrupted"
    wait_for_turns(world, before, 2)


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
    terminal.press("\r")
    reset = world.wait("session_reset", before)
    after = len(world.lines())
    terminal.say("hello in the new session")
    assert world.wait("turn_start", after)["session_id"] == reset["session_id"]
    world.wait("turn_end", after)
    terminal.say("/exit")
    world.wait("session_end", after)
    terminal.process.wait(WAIT_S)


def wait_for_turns(world, since, count):
    give_up = time.monotonic() + WAIT_S
    while sum(one["name"] == "turn_end" for one in world.lines(since)) < count:
        assert time.monotonic() < give_up
        time.sleep(0.02)
