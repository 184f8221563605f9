"""A bounded queue and a daemon thread that empties it: no slow disk or terminal holds the loop."""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

__all__ = ["BackgroundWriter"]

T = TypeVar("T")

_LEAST_REST_S: Final = 0.001


def _no_size(_item: object) -> int:
    return 0


class BackgroundWriter(Generic[T]):
    """Hands items, in order, to a function that may block and may raise.

    `put` is called from one thread alone, the producer's. It neither blocks nor raises: an item for
    which there is no room is lost and counted.
    """

    def __init__(
        self,
        write: Callable[[Sequence[T]], int],
        *,
        name: str,
        max_items: int,
        max_bytes: float = math.inf,
        size_of: Callable[[T], int] = _no_size,
        max_batch: int = 1,
        max_batch_bytes: float = math.inf,
        gather_s: float = 0.0,
        rests: bool = False,
        at_end: Callable[[], object] | None = None,
    ) -> None:
        """Make the queue; `start` starts the thread.

        Args:
            write: called in the thread with the next items; returns how many of them were lost.
                All of them are lost if it raises an `Exception`.
            name: the thread's name.
            max_items: items that wait at most, besides those that `write` is working on.
            max_bytes: the same, as the sum of their sizes.
            size_of: an item's size in bytes; the same at every call.
            max_batch: items in one call of `write` at most. Between two calls the thread lets other
                threads run.
            max_batch_bytes: no item follows once their sizes have come to so much.
            gather_s: how long the thread waits after it has emptied the queue, so that the producer
                need not wake it for each item.
            rests: after each call the thread rests as long as that call has worked, so that it does
                not keep the interpreter from the producer; what `close` waits for is not held up.
            at_end: called in the thread after the last `write`.
        """
        self._write = write
        self._max_items: Final = max_items
        self._max_bytes: Final = max_bytes
        self._size_of = size_of
        self._max_batch: Final = max_batch
        self._max_batch_bytes: Final = max_batch_bytes
        self._gather_s: Final = gather_s
        self._rests: Final = rests
        self._at_end = at_end
        self._queue: deque[T] = deque()
        # Only one thread changes each of these numbers, so none needs a lock.
        self._bytes_in = 0
        self._bytes_out = 0
        self._refused = 0
        self._failed = 0
        self._in_hand = 0
        self._asleep = False
        self._closed = False
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._process = os.getpid()
        # A daemon: a `write` that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def lost(self) -> int:
        """Items so far for which there was no room, or which `write` has lost."""
        return self._refused + self._failed

    @property
    def is_running(self) -> bool:
        """True from `start` until the thread has written everything after `close`.

        False in a fork of the process that made it: there is no such thread.
        """
        return not self.is_elsewhere and self._thread.is_alive()

    @property
    def is_elsewhere(self) -> bool:
        """True in a fork of the process that made it, where nothing is written."""
        return os.getpid() != self._process

    def start(self) -> None:
        """Start the thread.

        Raises:
            RuntimeError: it was started or closed before, or the system has no more threads; only
                in the last case another attempt may succeed.
        """
        if self._closed:
            raise RuntimeError("a closed writer cannot be started")
        self._thread.start()

    def put(self, item: T) -> bool:
        """Queue one item; returns False if it is lost: the queue is full or closed."""
        size = self._size_of(item)
        if (
            len(self._queue) >= self._max_items
            or self._bytes_in - self._bytes_out + size > self._max_bytes
            or self._closed
        ):
            self._refused += 1
            return False
        self._bytes_in += size
        self._queue.append(item)
        # a flag, since Event.set takes a lock, and most items find the thread awake
        if self._asleep:
            self._asleep = False
            self._wake.set()
        return True

    def close(self, timeout_s: float) -> int:
        """Take no more items, and wait until all are written, for `timeout_s` at most.

        After the timeout the thread goes on with what it has; the caller only stops waiting. In the
        thread itself nothing is waited for. A second call waits again.

        Returns:
            How many items were lost or are not written yet; 0 in a fork of the process that made
            it, where this does nothing: what waits is written in the other process.
        """
        # before any lock: at the fork, the thread may have held it
        if self.is_elsewhere:
            return 0
        self._closed = True
        self._closing.set()
        self._wake.set()
        if self.is_running and threading.current_thread() is not self._thread:
            self._thread.join(timeout_s)
        return self.lost + len(self._queue) + self._in_hand

    # -- in the thread

    def _run(self) -> None:
        while True:
            if batch := self._take():
                began_s = time.thread_time()
                try:
                    self._failed += self._write(batch)
                except Exception:  # a failing `write` costs its items, not the program
                    self._failed += len(batch)
                self._in_hand = 0
                pause_s = time.thread_time() - began_s if self._rests else 0.0
                if self._gather_s and not self._queue:
                    pause_s = max(pause_s, self._gather_s)
                if pause_s >= _LEAST_REST_S:
                    # not time.sleep: `close` must not wait for it
                    self._closing.wait(pause_s)
            # asked only when the queue is empty: what was taken before the close is written
            elif self._closing.is_set():
                break
            else:
                self._sleep()
        if self._at_end is not None:
            self._at_end()

    def _take(self) -> list[T]:
        batch: list[T] = []
        full = self._bytes_out + self._max_batch_bytes
        while self._queue and len(batch) < self._max_batch and self._bytes_out < full:
            self._in_hand += 1  # first: `close` may count an item twice, but never misses one
            item = self._queue.popleft()
            batch.append(item)
            self._bytes_out += self._size_of(item)
        return batch

    def _sleep(self) -> None:
        self._wake.clear()
        self._asleep = True
        # An item that came before `_asleep` was set has not set `_wake`: look once more.
        if not self._queue and not self._closing.is_set():
            self._wake.wait()
        self._asleep = False
