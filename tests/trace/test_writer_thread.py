"""The queue between the host's loop and a sink: nothing that the sink does reaches the loop, and every loss is counted."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from sliphook.trace import writer_thread as writer_module
from sliphook.trace.record import TraceRecord
from sliphook.trace.writer_thread import RecordWriter

WAIT_S = 10.0


def record(number: int = 0, body: bytes | None = None) -> TraceRecord:
    return TraceRecord(kind="message", wall_s=0.0, mono_s=0.0, plugin="guard", id=number, body=body)


class Held:
    """A sink that hangs until it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.release = threading.Event()
        self.seen: list[TraceRecord] = []

    def __call__(self, batch: Sequence[TraceRecord]) -> int:
        self.entered.set()
        assert self.release.wait(WAIT_S)
        self.seen += batch
        return 0


@pytest.fixture
def held() -> Iterator[Held]:
    sink = Held()
    yield sink
    sink.release.set()


def test_records_come_in_order_and_all_of_them() -> None:
    seen: list[int | str | None] = []

    def write(batch: Sequence[TraceRecord]) -> int:
        seen.extend(record.id for record in batch)
        return 0

    writer = RecordWriter(write, name="test")
    for number in range(1000):
        writer.record(record(number))
    assert writer.close(WAIT_S) == 0
    assert seen == list(range(1000))


def test_a_record_that_comes_to_a_sleeping_thread_is_written_without_a_close() -> None:
    written = threading.Event()

    def write(_batch: Sequence[TraceRecord]) -> int:
        written.set()
        return 0

    writer = RecordWriter(write, name="test")
    for _ in range(3):
        written.clear()
        writer.record(record())
        assert written.wait(WAIT_S)
    assert writer.close(WAIT_S) == 0


def test_a_full_queue_counts_what_it_cannot_take(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "MAX_WAITING", 5)
    writer = RecordWriter(held, name="test")
    writer.record(record(0))
    assert held.entered.wait(WAIT_S)
    for number in range(1, 9):
        writer.record(record(number))
    assert writer.lost == 3
    held.release.set()
    assert writer.close(WAIT_S) == 3
    assert [record.id for record in held.seen] == [0, 1, 2, 3, 4, 5]


def test_bodies_that_wait_are_bounded_too(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "MAX_WAITING_BYTES", 100)
    writer = RecordWriter(held, name="test")
    writer.record(record(0, b"x" * 100))
    assert held.entered.wait(WAIT_S)
    for number in range(1, 5):
        writer.record(record(number, b"x" * 40))
    assert writer.lost == 2
    held.release.set()
    assert writer.close(WAIT_S) == 2
    assert [record.id for record in held.seen] == [0, 1, 2]


def test_a_sink_that_hangs_does_not_hold_record_or_close(held: Held) -> None:
    writer = RecordWriter(held, name="test")
    writer.record(record(0))
    assert held.entered.wait(WAIT_S)
    began = time.monotonic()
    for number in range(1, 5001):
        writer.record(record(number))
    assert writer.close(0.05) == 5001  # the one in the sink's hands included
    assert time.monotonic() - began < 2.0


def test_a_sink_that_raises_loses_its_batch_and_goes_on() -> None:
    seen: list[int | str | None] = []
    first_failed = threading.Event()

    def write(batch: Sequence[TraceRecord]) -> int:
        if not first_failed.is_set():
            first_failed.set()
            raise RuntimeError("the sink is broken")
        seen.extend(record.id for record in batch)
        return 0

    writer = RecordWriter(write, name="test")
    writer.record(record(1))
    assert first_failed.wait(WAIT_S)
    writer.record(record(2))
    assert writer.close(WAIT_S) == 1
    assert seen == [2]


def test_what_comes_after_the_close_is_counted() -> None:
    writer = RecordWriter(lambda _batch: 0, name="test")
    assert writer.close(WAIT_S) == 0
    writer.record(record())
    assert writer.close(WAIT_S) == 1
