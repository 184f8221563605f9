"""SIGTERM and SIGINT as a readable descriptor, so that any thread hears them during a handler."""

from __future__ import annotations

import os
import signal
from typing import Final

_ENDING: Final = (signal.SIGTERM, signal.SIGINT)


class Signals:
    """Created in the main thread, once.

    Attributes:
        fd: readable when a signal has come.
    """

    def __init__(self) -> None:
        self.fd, wakeup = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(wakeup, False)
        # no warning: a full pipe is readable all the same
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        for number in _ENDING:
            # without a handler Python writes nothing to the descriptor
            signal.signal(number, lambda number, frame: None)

    def ending(self) -> bool:
        """True if SIGTERM or SIGINT has come since the last call; signals of the author are not."""
        try:
            return any(number in _ENDING for number in os.read(self.fd, 1024))
        except BlockingIOError:
            return False
