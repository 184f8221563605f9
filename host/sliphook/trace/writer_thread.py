"""Carries records from the host's loop to a thread that may block."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from .record import TraceRecord

__all__ = ["CLOSE_S", "RecordWriter"]

MAX_WAITING: Final = 10_000
"""Records that wait for the thread at most; what comes beyond is lost and counted."""

MAX_WAITING_BYTES: Final = 32 * 1024 * 1024
"""The same for the bodies of the records that wait."""

GATHER_S: Final = 0.02
"""How long the thread lets records gather: waking it for each would cost the host more than the record itself."""

BATCH: Final = 64
"""Records that are written at once.

Between two batches the thread lets go of the interpreter, which the host's loop wants, too.
"""

CLOSE_S: Final = 2.0
"""How long `close` waits for what is left to be written."""


class RecordWriter:
    """A bounded queue and its own thread.

    `record` never blocks and never raises; `write` may do both.

    Args:
        write: Called in the thread with the next records, in order. Returns how many of them were
            lost.
        name: The thread's name.
    """

    def __init__(self, write: Callable[[Sequence[TraceRecord]], int], *, name: str) -> None:
        self._write = write
        self._queue: deque[TraceRecord] = deque()
        # Each number is changed by one thread alone, so none needs a lock.
        self._bytes_in = 0
        self._bytes_out = 0
        self._refused = 0
        self._failed = 0
        self._in_hand = 0
        self._unwritten = 0
        self._asleep = False
        self._closed = False
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=name, daemon=True
        )  # daemon: a sink that hangs must not hold the process
        self._thread.start()

    def record(self, record: TraceRecord) -> None:
        """Queue one record, or count it as lost. Called from one thread, the host's loop."""
        size = len(record.body) if record.body is not None else 0
        if (
            len(self._queue) >= MAX_WAITING
            or self._bytes_in - self._bytes_out + size > MAX_WAITING_BYTES
            or self._closed
        ):
            self._refused += 1
            return
        self._bytes_in += size
        self._queue.append(record)
        if self._asleep:
            self._asleep = False
            self._wake.set()

    @property
    def lost(self) -> int:
        """Records that will never be seen, so far."""
        return self._refused + self._failed + self._unwritten

    def close(self, timeout_s: float = CLOSE_S) -> int:
        """Write what is left, for `timeout_s` at most, and return how many records were lost in all. A second call changes nothing."""
        self._closed = True
        self._closing.set()
        self._wake.set()
        self._thread.join(timeout_s)
        self._unwritten = len(self._queue) + self._in_hand if self._thread.is_alive() else 0
        return self.lost

    def _run(self) -> None:
        while True:
            batch = self._take()
            if batch:
                self._in_hand = len(batch)
                try:
                    self._failed += self._write(batch)
                except Exception:  # a sink that fails is the trace's loss, nobody else's
                    self._failed += len(batch)
                self._in_hand = 0
                if not self._queue:
                    self._closing.wait(GATHER_S)
            elif self._closing.is_set():
                return
            else:
                self._sleep()

    def _take(self) -> list[TraceRecord]:
        batch: list[TraceRecord] = []
        while self._queue and len(batch) < BATCH:
            record = self._queue.popleft()
            batch.append(record)
            self._bytes_out += len(record.body) if record.body is not None else 0
        return batch

    def _sleep(self) -> None:
        self._wake.clear()
        self._asleep = True
        if (
            not self._queue and not self._closing.is_set()
        ):  # a record that came before `_asleep` was set woke nobody
            self._wake.wait()
        self._asleep = False
