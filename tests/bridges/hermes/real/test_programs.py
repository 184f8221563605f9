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


@pytest.mark.parametrize(
    ("text", "at"),
    [('TOOL probe_slow {"seconds":60}', "TOOL probe_slow"), ("THINK 20", "pre_llm_call")],
)
def test_ctrl_c_in_one_query(world, text, at):
    before = len(world.lines())
    process = world.hermes("chat", "-Q", "-q", text)
    world.wait(at, before)
    time.sleep(1)
    said = time.time()
    process.send_signal(signal.SIGINT)
    finish(process)
    stopped = world.wait("agent_loop_stopped", before)
    assert stopped["reason"] == "signal"
    assert stopped["t"] - said < 10
    print(f"SIGINT, {at}: heard after {(stopped['t'] - said) * 1000:.0f} ms")
    assert world.wait("turn_end", before)["outcome"] == "interrupted"
    assert world.wait("session_end", before)
