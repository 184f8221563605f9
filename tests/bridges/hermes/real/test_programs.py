"""`hermes -z`, `hermes chat -q` and the terminal: what a person does, and what plugins hear."""

# pyright: basic
# mypy: ignore-errors

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from tests.bridges.hermes.real.world import WAIT_S


def finish(process: subprocess.Popen[str]) -> str:
    try:
        return process.communicate(timeout=WAIT_S)[0]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def test_one_shot(world):
    before = len(world.lines())
    said = finish(world.hermes("-z", 'TOOL probe_echo {"text":"a"}'))
    assert "ok: 1" in said
    assert world.wait("session_end", before)["reason"] == "exit"
    assert world.story(before)[-3:] == ["stop", "turn_end", "session_end"]


WHEN = {
    "a plugin's tool runs": ('TOOL probe_slow {"seconds":60}', "TOOL probe_slow"),
    "the model thinks": ("THINK 20", "pre_llm_call"),
    "the answer comes": ("DRIP 20", "pre_llm_call"),
}


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("program", ["chat -q", "-z"])
def test_ctrl_c_in_one_query(world, program, when):
    text, at = WHEN[when]
    before = len(world.lines())
    process = world.hermes(*(["chat", "-Q", "-q"] if program == "chat -q" else ["-z"]), text)
    world.wait(at, before)
    time.sleep(1)
    now = time.time()
    process.send_signal(signal.SIGINT)
    finish(process)
    stopped = world.wait("agent_loop_stopped", before)
    assert stopped["reason"] == "signal"
    assert stopped["t"] - now < 10
    assert world.wait("turn_end", before)["outcome"] == "interrupted"
    assert world.wait("session_end", before)
    world.record(f"`hermes {program}`", "SIGINT", when, before, now)
