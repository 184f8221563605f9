"""How idle threads wait: never for ever."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator

import pytest

from sliphook_sdk.engine.poller import EpollPoller, LockPoller, Poller
from sliphook_sdk.spin_wait import SpinWait

PATIENCE_S = 120.0


@pytest.fixture(params=["asleep", "awake", "locked"])
def poller_and_input(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Poller, int]]:
    """Each kind of poller; one whose threads always stay awake for the next bytes, one never."""
    monkeypatch.setattr(SpinWait, "pays", request.param == "awake")
    kind = LockPoller if request.param == "locked" else EpollPoller
    (incoming, host), (signals, wakeup) = os.pipe(), os.pipe()
    yield kind(incoming, signals), host
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


def test_threads_read_all_bytes_in_order_one_at_a_time(
    poller_and_input: tuple[Poller, int],
) -> None:
    poller, host = poller_and_input
    found: list[bytes] = []
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            data = poller.wait(None)
            if data is None:
                continue
            if data == b"":
                ended.set()
                poller.close()
                return
            found.append(data)  # in order, as no other thread reads before `rearm`
            poller.rearm()

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    sent = [b"%06d" % number for number in range(3_000)]
    for number, message in enumerate(sent):
        os.write(host, message)
        if number % 3:
            os.sched_yield()  # now the one who reads is awake, now it is about to sleep
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, host)  # the end of the input; the fixture closes the descriptor
    os.close(nowhere)
    assert ended.wait(PATIENCE_S)
    for _ in threads:
        poller.wake()
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
    assert b"".join(found) == b"".join(sent)


def test_who_stays_awake_in_vain_goes_to_sleep_and_still_hears_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SpinWait, "pays", True)
    (incoming, host), (signals, wakeup) = os.pipe(), os.pipe()
    poller = EpollPoller(incoming, signals)
    assert in_time(lambda: poller.wait(0.05)) == [None]  # with a time limit it sleeps
    waits = threading.Thread(target=lambda: found.append(poller.wait(None)), daemon=True)
    found: list[bytes | None] = []
    waits.start()
    waits.join(0.01)  # fifty times as long as it stays awake
    poller.wake()
    waits.join(PATIENCE_S)
    assert found == [None]
    os.write(host, b"x")
    assert in_time(lambda: poller.wait(None)) == [b"x"]
    for descriptor in (incoming, host, signals, wakeup):
        os.close(descriptor)
