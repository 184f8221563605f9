"""SIGTERM and SIGINT as a descriptor that becomes readable, so that they are heard while the main thread is in a handler."""

from __future__ import annotations

import os
import signal
from typing import Final

_ENDING: Final = (signal.SIGTERM, signal.SIGINT)


class Signals:
    """Made in the main thread, once.

    Attributes:
        fd: readable when a signal has come.
    """

    def __init__(self) -> None:
        self.fd, wakeup = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(wakeup, False)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        for number in _ENDING:
            signal.signal(
                number, lambda number, frame: None
            )  # without a handler nothing is written to the descriptor

    def ending(self) -> bool:
        """True where one of them has come since the last time; the author's own signals are none of these."""
        try:
            return any(number in _ENDING for number in os.read(self.fd, 1024))
        except BlockingIOError:
            return False
