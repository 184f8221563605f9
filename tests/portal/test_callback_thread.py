"""The thread of an agent's callbacks: in order; no slow or failing callback holds the loop."""

from __future__ import annotations

import threading

import pytest

from sliphook.blocking import Interrupted
from sliphook.portal.callback_thread import MAX_WAITING, CallbackThread

WAIT_S = 120.0


def test_callbacks_are_called_in_order_and_one_that_raises_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    called: list[int] = []
    thread = CallbackThread()
    thread.start()
    thread.put(lambda: called.append(1))
    thread.put(lambda: called.append(1 // 0))
    thread.put(lambda: called.append(2))
    thread.stop()
    assert called == [1, 2]
    assert [record.message for record in caplog.records] == ["a callback of the agent failed"]


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), Interrupted("x")], ids=repr)
def test_no_callback_ends_the_thread(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    called: list[int] = []

    def fails() -> None:
        raise error

    thread = CallbackThread()
    thread.start()
    thread.put(fails)
    thread.put(lambda: called.append(2))
    thread.stop()
    assert called == [2]
    assert [record.message for record in caplog.records] == ["a callback of the agent failed"]


def test_callbacks_that_are_too_slow_are_left_out_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    entered, release = threading.Event(), threading.Event()
    called: list[int] = []

    def slow() -> None:
        entered.set()
        assert release.wait(WAIT_S)

    thread = CallbackThread()
    thread.start()
    thread.put(slow)
    assert entered.wait(WAIT_S)
    for number in range(MAX_WAITING + 3):
        thread.put(lambda number=number: called.append(number))  # type: ignore[misc]
    release.set()
    thread.stop()
    assert called == list(range(1_000))
    assert [record.message for record in caplog.records] == [
        "3 calls of the agent's callbacks were left out: the callbacks are too slow"
    ]


def test_a_callback_may_stop_the_thread_that_it_runs_in(caplog: pytest.LogCaptureFixture) -> None:
    called: list[str] = []
    thread = CallbackThread()
    thread.start()
    queued = threading.Event()
    thread.put(lambda: None if queued.wait(WAIT_S) else called.append("too late"))
    thread.put(thread.stop)
    thread.put(lambda: called.append("what was put before the stop"))
    queued.set()
    thread.stop()
    assert called == ["what was put before the stop"]
    assert caplog.records == []
