"""Where idle threads wait: for bytes of the host, or for work that another thread has left.

All idle threads wait at one gate. The thread that gets bytes has the input to itself until it says
`open`; then the next bytes go to another thread, while the first runs what came. So a request is
read and answered by one thread, without handing it over.
"""

from __future__ import annotations

import os
import select
import threading
from contextlib import suppress
from typing import Final, Protocol

_READ_BYTES: Final = 65536


class Gate(Protocol):
    """What both kinds do."""

    def wait(self, timeout_s: float | None) -> bytes | None:
        """Wait for something to do, for `timeout_s` at most.

        Returns:
            Bytes that were read, empty at the end of the input: the input is the caller's until
                `open`. None: another thread has left
            work, a signal has come, or the time is up.
        """
        ...

    def open(self) -> None:
        """Let another thread read. For the thread that got bytes."""
        ...

    def close(self) -> None:
        """There is nothing more to read.

        For the thread that got no bytes, in the place of `open`.
        """
        ...

    def ring(self) -> None:
        """Wake one idle thread to look for work; where none is idle, the next one."""
        ...


class EpollGate:
    """All threads sleep in one epoll: the kernel wakes one of them for each event. Linux.

    Args:
        incoming: the descriptor to read from.
        signals: a descriptor that is readable when a signal has come; it is not read here.

    Raises:
        PermissionError: `incoming` is a file, which epoll does not take.
    """

    def __init__(self, incoming: int, signals: int) -> None:
        self._incoming = incoming
        self._epoll = select.epoll()
        self._epoll.register(incoming, select.EPOLLIN | select.EPOLLONESHOT)
        self._epoll.register(signals, select.EPOLLIN)
        self._bell, self._rope = _bell()
        self._epoll.register(self._bell, select.EPOLLIN)

    def wait(self, timeout_s: float | None) -> bytes | None:
        """See `Gate`."""
        while True:
            ready = self._epoll.poll(timeout_s, 1)
            if not ready:
                return None
            fd = ready[0][0]
            if fd == self._incoming:
                return os.read(fd, _READ_BYTES)
            if fd == self._bell:
                try:
                    os.read(fd, 1)
                except BlockingIOError:
                    continue  # another thread was quicker
            return None

    def open(self) -> None:
        """See `Gate`."""
        self._epoll.modify(self._incoming, select.EPOLLIN | select.EPOLLONESHOT)

    def close(self) -> None:
        """See `Gate`."""
        # one shot: it stays disarmed

    def ring(self) -> None:
        """See `Gate`."""
        _pull(self._rope)


class LockGate:
    """The thread that holds a lock waits and reads, the others wait for the lock. Everywhere.

    The arguments are those of `EpollGate`.
    """

    def __init__(self, incoming: int, signals: int) -> None:
        self._incoming = incoming
        self._turn = threading.Lock()
        self._bell, self._rope = _bell()
        self._watched = [incoming, self._bell, signals]

    def wait(self, timeout_s: float | None) -> bytes | None:
        """See `Gate`."""
        if not self._turn.acquire(timeout=-1 if timeout_s is None else timeout_s):
            return None
        ready, _, _ = select.select(self._watched, [], [], timeout_s)
        if self._incoming in ready:
            return os.read(self._incoming, _READ_BYTES)
        if self._bell in ready:
            os.read(self._bell, 1)
        self._turn.release()
        return None

    def open(self) -> None:
        """See `Gate`."""
        self._turn.release()

    def close(self) -> None:
        """See `Gate`."""
        self._watched.remove(self._incoming)
        self._turn.release()

    def ring(self) -> None:
        """See `Gate`."""
        _pull(self._rope)


def _bell() -> tuple[int, int]:
    bell, rope = os.pipe()
    os.set_blocking(bell, False)
    os.set_blocking(rope, False)
    return bell, rope


def _pull(rope: int) -> None:
    with suppress(BlockingIOError):  # it is full: then it rings anyway
        os.write(rope, b"!")
