"""How idle threads wait: never for ever."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator

import pytest

from sliphook_sdk.engine.poller import EpollPoller, LockPoller, Poller

PATIENCE_S = 120.0


@pytest.fixture(params=[EpollPoller, LockPoller])
def poller_and_input(request: pytest.FixtureRequest) -> Iterator[tuple[Poller, int]]:
    (incoming, host), (signals, wakeup) = os.pipe(), os.pipe()
    yield request.param(incoming, signals), host
    for descriptor in (incoming, host, signals, wakeup):
        os.close(descriptor)


def in_time(function: Callable[[], object]) -> list[object]:
    """What the function returned, in a list; empty if it does not return."""
    returned: list[object] = []
    thread = threading.Thread(target=lambda: returned.append(function()), daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    return returned


def test_a_wait_ends_in_time_while_another_thread_has_the_input(
    poller_and_input: tuple[Poller, int],
) -> None:
    poller, host = poller_and_input
    os.write(host, b"x")
    assert poller.wait(None) == b"x"
    os.write(host, b"y")
    assert in_time(lambda: poller.wait(0.001)) == [None]
    poller.rearm()
    assert poller.wait(None) == b"y"


def test_a_wake_up_does_not_block_if_no_thread_is_idle(
    poller_and_input: tuple[Poller, int],
) -> None:
    poller, _ = poller_and_input

    def wake_often() -> None:
        for _ in range(70_000):  # more than a pipe holds
            poller.wake()

    assert in_time(wake_often) == [None]
    assert in_time(lambda: poller.wait(None)) == [None]
