"""How idle threads wait: for bytes of the host, or for work that another thread has left.

All idle threads wait on one poller. The thread that gets bytes is the only one to read until it
calls `rearm`; then another idle thread gets the next bytes, while the first handles what it has
read. So one thread reads a request and answers it, without a hand-over.
"""

from __future__ import annotations

import os
import select
import threading
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import Final, Protocol

from sliphook_sdk.spin_wait import PLUGIN_SPIN_S, SpinWait, processors, stay_awake

_READ_BYTES: Final = 65536


class Poller(Protocol):
    """What both pollers do. All methods may be called from any thread."""

    def wait(self, timeout_s: float | None) -> bytes | None:
        """Wait for something to do, for `timeout_s` at most.

        Returns:
            The bytes that were read, empty at the end of the input; then no other thread reads
                until `rearm`. None if another thread has called `wake`, a signal has come, or the
                time is up.
        """
        ...

    def rearm(self) -> None:
        """Let another thread read. Called by the thread that got bytes."""
        ...

    def close(self) -> None:
        """Stop reading. Called instead of `rearm` by the thread that got no bytes."""
        ...

    def wake(self) -> None:
        """Make `wait` return None in one idle thread, or in the next one that becomes idle."""
        ...


class EpollPoller:
    """All threads sleep in one epoll, and the kernel wakes one of them for each event. Linux.

    If the host's messages follow each other closely, the thread that has answered one stays awake
    for the next (see `spin_wait`), and no other is woken. Whichever thread reads has the claim.

    Args:
        incoming: the descriptor to read from.
        signals: a descriptor that is readable when a signal has come; the poller does not read it.

    Raises:
        PermissionError: `incoming` is a file, which epoll does not accept.
    """

    def __init__(self, incoming: int, signals: int) -> None:
        self._incoming = incoming
        self._epoll = select.epoll()
        # one shot: after an event no other thread reads until `rearm`
        self._epoll.register(incoming, select.EPOLLIN | select.EPOLLONESHOT)
        self._epoll.register(signals, select.EPOLLIN)
        self._woken, self._wakes = _wakeup_pipe()
        self._epoll.register(self._woken, select.EPOLLIN)
        self._look = select.poll()
        self._look.register(incoming, select.POLLIN)
        self._claim = threading.Lock()
        self._spin = SpinWait(PLUGIN_SPIN_S, processors())
        self._idle_since = perf_counter()

    def wait(self, timeout_s: float | None) -> bytes | None:
        """See `Poller`."""
        self._idle_since = perf_counter()
        if timeout_s is None and self._spin.pays:
            data = self._read_awake()
            if data is not None:
                return data
        while True:
            # one event at most: what else is ready is for another idle thread
            ready = self._epoll.poll(timeout_s, 1)
            if not ready:
                return None
            fd = ready[0][0]
            if fd == self._incoming:
                data = self._read()
                if data is not None:
                    return data
            elif fd != self._woken:
                return None
            else:
                with suppress(BlockingIOError):  # another thread has taken this wake-up
                    os.read(fd, 1)
                    return None

    def _read_awake(self) -> bytes | None:
        """Read what comes soon; None if nothing does, or if another thread reads."""
        if not self._claim.acquire(blocking=False):
            return None
        # the sleeping threads are not to be woken
        self._epoll.modify(self._incoming, select.EPOLLONESHOT)
        stay_awake(partial(self._look.poll, 0), PLUGIN_SPIN_S)
        return self._read_claimed()

    def _read(self) -> bytes | None:
        """Read what has come; None if another thread has read it, or is about to."""
        return self._read_claimed() if self._claim.acquire(blocking=False) else None

    def _read_claimed(self) -> bytes | None:
        self._spin.took(perf_counter() - self._idle_since)
        if self._look.poll(0):
            return os.read(self._incoming, _READ_BYTES)
        self.rearm()
        return None

    def rearm(self) -> None:
        """See `Poller`."""
        # Release before arming: a woken thread that cannot get the claim goes back to sleep, and
        # relies on the arming below.
        self._claim.release()
        self._epoll.modify(self._incoming, select.EPOLLIN | select.EPOLLONESHOT)

    def close(self) -> None:
        """See `Poller`."""
        # it is disarmed and stays claimed

    def wake(self) -> None:
        """See `Poller`."""
        _write_wakeup(self._wakes)


class LockPoller:
    """The thread that holds a lock polls and reads, and the others wait for the lock. Any system.

    The arguments are those of `EpollPoller`.
    """

    def __init__(self, incoming: int, signals: int) -> None:
        self._incoming = incoming
        self._reading = threading.Lock()
        self._woken, self._wakes = _wakeup_pipe()
        self._polled = [incoming, self._woken, signals]

    def wait(self, timeout_s: float | None) -> bytes | None:
        """See `Poller`."""
        if not self._reading.acquire(timeout=-1 if timeout_s is None else timeout_s):
            return None
        ready, _, _ = select.select(self._polled, [], [], timeout_s)
        # in this case the lock stays held until `rearm` or `close`
        if self._incoming in ready:
            return os.read(self._incoming, _READ_BYTES)
        if self._woken in ready:
            os.read(self._woken, 1)
        self._reading.release()
        return None

    def rearm(self) -> None:
        """See `Poller`."""
        self._reading.release()

    def close(self) -> None:
        """See `Poller`."""
        self._polled.remove(self._incoming)
        self._reading.release()

    def wake(self) -> None:
        """See `Poller`."""
        _write_wakeup(self._wakes)


def _wakeup_pipe() -> tuple[int, int]:
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    os.set_blocking(write_end, False)
    return read_end, write_end


def _write_wakeup(fd: int) -> None:
    with suppress(BlockingIOError):  # a full pipe holds enough wake-ups
        os.write(fd, b"!")
