"""A bounded queue and its thread: no fault of `write` reaches the producer; losses are counted."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from sliphook.files.background_writer import BackgroundWriter

WAIT_S = 120.0


class Held:
    """A `write` that hangs until it is released."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.release = threading.Event()
        self.batches: list[list[bytes]] = []

    def __call__(self, batch: Sequence[bytes]) -> int:
        self.entered.set()
        assert self.release.wait(WAIT_S)
        self.batches.append(list(batch))
        return 0


class Seen:
    """A `write` that keeps what it is given."""

    def __init__(self) -> None:
        self.items: list[bytes] = []

    def __call__(self, batch: Sequence[bytes]) -> int:
        self.items += batch
        return 0


@pytest.fixture
def held() -> Iterator[Held]:
    write = Held()
    yield write
    write.release.set()


def started(
    write: Callable[[Sequence[bytes]], int],
    *,
    max_items: int = 10_000,
    max_bytes: int = 1_000_000,
    max_batch: int = 64,
    gather_s: float = 0.0,
    at_end: Callable[[], object] | None = None,
) -> BackgroundWriter[bytes]:
    writer = BackgroundWriter(
        write,
        name="sliphook-test",
        max_items=max_items,
        max_bytes=max_bytes,
        size_of=len,
        max_batch=max_batch,
        gather_s=gather_s,
        at_end=at_end,
    )
    writer.start()
    return writer


def busy_with(
    held: Held,
    item: bytes,
    *,
    max_items: int = 10_000,
    max_bytes: int = 1_000_000,
    max_batch: int = 64,
) -> BackgroundWriter[bytes]:
    """A writer whose thread hangs in `write` with `item`; its queue is empty."""
    writer = started(held, max_items=max_items, max_bytes=max_bytes, max_batch=max_batch)
    assert writer.put(item)
    assert held.entered.wait(WAIT_S)
    return writer


@pytest.mark.parametrize("gather_s", [0.0, 0.001])
def test_all_items_come_and_in_order(gather_s: float) -> None:
    seen = Seen()
    items = [b"%d" % number for number in range(1000)]
    writer = started(seen, gather_s=gather_s)
    for item in items:
        assert writer.put(item)
    assert writer.close(WAIT_S) == 0
    assert seen.items == items


def test_an_item_wakes_a_sleeping_thread() -> None:
    written = threading.Event()

    def write(_batch: Sequence[bytes]) -> int:
        written.set()
        return 0

    writer = started(write)
    for _ in range(3):
        written.clear()
        writer.put(b"")
        assert written.wait(WAIT_S)
    assert writer.close(WAIT_S) == 0


def test_a_full_queue_counts_what_it_cannot_take(held: Held) -> None:
    writer = busy_with(held, b"0", max_items=5)
    taken = [writer.put(b"%d" % number) for number in range(1, 9)]
    assert taken == [True] * 5 + [False] * 3
    assert writer.lost == 3
    held.release.set()
    assert writer.close(WAIT_S) == 3
    assert held.batches == [[b"0"], [b"1", b"2", b"3", b"4", b"5"]]


def test_the_bytes_that_wait_are_bounded_and_those_in_hand_do_not_count(held: Held) -> None:
    writer = busy_with(held, b"x" * 100, max_bytes=100)
    taken = [writer.put(b"%d" % number * 40) for number in range(1, 5)]
    assert taken == [True, True, False, False]
    assert writer.put(b"5" * 20), "there is room for a smaller one"
    held.release.set()
    assert writer.close(WAIT_S) == 2
    assert [item[:1] for batch in held.batches for item in batch] == [b"x", b"1", b"2", b"5"]


def test_a_batch_has_no_more_items_than_said(held: Held) -> None:
    writer = busy_with(held, b"0", max_batch=2)
    for number in range(1, 6):
        writer.put(b"%d" % number)
    held.release.set()
    assert writer.close(WAIT_S) == 0
    assert held.batches == [[b"0"], [b"1", b"2"], [b"3", b"4"], [b"5"]]


def test_a_write_that_hangs_holds_neither_put_nor_close(held: Held) -> None:
    writer = busy_with(held, b"0")
    began = time.monotonic()
    for _ in range(5000):
        writer.put(b"")
    assert writer.close(0.05) == 5001, "the one in hand included"
    assert time.monotonic() - began < WAIT_S
    assert writer.is_running
    assert writer.lost == 0


def test_what_waits_after_a_timeout_is_still_written(held: Held) -> None:
    writer = busy_with(held, b"0")
    writer.put(b"1")
    assert writer.close(0.01) == 2
    held.release.set()
    assert writer.close(WAIT_S) == 0
    assert held.batches == [[b"0"], [b"1"]]


def test_a_write_that_raises_loses_its_batch_and_the_next_one_is_tried() -> None:
    seen: list[bytes] = []
    first_failed = threading.Event()

    def write(batch: Sequence[bytes]) -> int:
        if not first_failed.is_set():
            first_failed.set()
            raise RuntimeError("the disk is broken")
        seen.extend(batch)
        return 0

    writer = started(write)
    writer.put(b"1")
    assert first_failed.wait(WAIT_S)
    writer.put(b"2")
    assert writer.close(WAIT_S) == 1
    assert writer.lost == 1
    assert seen == [b"2"]


def test_what_write_says_it_has_lost_is_counted() -> None:
    writer = started(len)
    writer.put(b"1")
    writer.put(b"2")
    assert writer.close(WAIT_S) == 2


def test_after_the_close_items_are_counted_and_nothing_starts_again() -> None:
    seen = Seen()
    writer = started(seen)
    assert writer.close(WAIT_S) == 0
    assert not writer.put(b"late")
    assert writer.lost == 1
    assert writer.close(WAIT_S) == 1
    assert seen.items == []
    with pytest.raises(RuntimeError, match="a closed writer cannot be started"):
        writer.start()


def test_items_wait_for_the_start_and_are_lost_without_one() -> None:
    seen = Seen()
    one, other = (BackgroundWriter(seen, name="sliphook-test", max_items=2) for _ in range(2))
    for writer in (one, other):
        assert [writer.put(b"1"), writer.put(b"2"), writer.put(b"3")] == [True, True, False]
        assert not writer.is_running
    one.start()
    assert one.close(WAIT_S) == 1
    assert seen.items == [b"1", b"2"]
    assert other.close(WAIT_S) == 3


def test_a_start_that_finds_no_thread_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    seen = Seen()
    writer = BackgroundWriter(seen, name="sliphook-test", max_items=2)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            writer.start()
    writer.put(b"1")
    writer.start()
    assert writer.close(WAIT_S) == 0
    assert seen.items == [b"1"]


def test_the_end_comes_last_in_the_thread_and_once() -> None:
    said: list[tuple[str, str]] = []

    def note(what: str) -> int:
        said.append((what, threading.current_thread().name))
        return 0

    writer = started(lambda _batch: note("write"), at_end=lambda: note("end"))
    writer.put(b"1")
    writer.close(WAIT_S)
    writer.close(WAIT_S)
    assert said == [("write", "sliphook-test"), ("end", "sliphook-test")]


def test_a_close_in_the_thread_waits_for_nothing_and_what_waits_is_written(held: Held) -> None:
    returned: list[int] = []

    def write(batch: Sequence[bytes]) -> int:
        held(batch)
        if not returned:
            returned.append(writer.close(WAIT_S))
        return 0

    writer = started(write, max_batch=1)
    writer.put(b"1")
    writer.put(b"2")
    held.release.set()
    assert writer.close(WAIT_S) == 0
    assert returned == [2], "the item in hand and the one that waits"
    assert held.batches == [[b"1"], [b"2"]]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_in_a_forked_child_nothing_waits_for_the_thread_that_is_not_there(held: Held) -> None:
    writer = busy_with(held, b"0")
    writer.put(b"1")
    child = os.fork()
    if not child:
        signal.alarm(10)  # a child that hangs is killed
        began = time.monotonic()
        writer.put(b"2")
        lost = writer.close(WAIT_S)  # what waits is written in the other process
        os._exit(0 if lost == 0 and time.monotonic() - began < WAIT_S / 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    held.release.set()
    assert writer.close(WAIT_S) == 0


def test_a_batch_ends_when_it_has_bytes_enough() -> None:
    batches: list[list[bytes]] = []

    def write(batch: Sequence[bytes]) -> int:
        batches.append(list(batch))
        return 0

    writer = BackgroundWriter[bytes](
        write,
        name="test",
        max_items=100,
        size_of=len,
        max_batch=4,
        max_batch_bytes=10,
        rests=True,
    )
    for size in (4, 4, 4, 50, 1, 1, 1, 1, 1):
        writer.put(b"x" * size)
    writer.start()
    assert writer.close(10.0) == 0
    assert [[len(item) for item in batch] for batch in batches] == [[4, 4, 4], [50], [1] * 4, [1]]
