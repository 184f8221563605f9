"""Where idle threads wait: what a thread must never do there is wait for ever."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator

import pytest

from sliphook_sdk.engine.gates import EpollGate, Gate, LockGate

PATIENCE_S = 10.0


@pytest.fixture(params=[EpollGate, LockGate])
def gate_and_input(request: pytest.FixtureRequest) -> Iterator[tuple[Gate, int]]:
    (incoming, host), (signals, wakeup) = os.pipe(), os.pipe()
    yield request.param(incoming, signals), host
    for descriptor in (incoming, host, signals, wakeup):
        os.close(descriptor)


def in_time(function: Callable[[], object]) -> list[object]:
    """What the function returned, in a list; it is empty where the function does not return."""
    returned: list[object] = []
    thread = threading.Thread(target=lambda: returned.append(function()), daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    return returned


def test_who_watches_waits_no_longer_than_it_says_while_another_has_the_input(
    gate_and_input: tuple[Gate, int],
) -> None:
    gate, host = gate_and_input
    os.write(host, b"x")
    assert gate.wait(None) == b"x"
    os.write(host, b"y")
    assert in_time(lambda: gate.wait(0.001)) == [None]
    gate.open()
    assert gate.wait(None) == b"y"


def test_ringing_waits_for_nobody_to_hear_it(gate_and_input: tuple[Gate, int]) -> None:
    gate, _ = gate_and_input

    def ring() -> None:
        for _ in range(70_000):  # more than a pipe holds
            gate.ring()

    assert in_time(ring) == [None]
    assert in_time(lambda: gate.wait(None)) == [None]
