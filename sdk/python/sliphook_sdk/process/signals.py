"""SIGTERM and SIGINT as a readable descriptor, so that any thread hears them during a handler."""

from __future__ import annotations

import os
import signal
import threading
from typing import Final

from sliphook_sdk.forked import in_children

_ENDING: Final = (signal.SIGTERM, signal.SIGINT)


class Signals:
    """Created in the main thread, once.

    A forked child gets back the handlers that were there before: else `terminate()` would not end
    it, and it would write its signal into the pipe of the plugin, which would end instead.

    Attributes:
        fd: readable when a signal has come.
    """

    def __init__(self) -> None:
        self.fd, self._wakeup = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._wakeup, False)
        # no warning: a full pipe is readable all the same
        signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)
        # without a handler Python writes nothing to the descriptor
        self._before = {
            number: signal.signal(number, lambda number, frame: None) for number in _ENDING
        }
        self._mask = threading.local()  # several threads may fork at the same time
        in_children(self._give_back)
        os.register_at_fork(
            before=self._hold, after_in_parent=self._release, after_in_child=self._release
        )

    def ending(self) -> bool:
        """True if SIGTERM or SIGINT has come since the last call; signals of the author are not."""
        try:
            return any(number in _ENDING for number in os.read(self.fd, 1024))
        except BlockingIOError:
            return False

    def _hold(self) -> None:
        # a signal for the child that comes before `_give_back` would be written to the plugin
        self._mask.before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)

    def _release(self) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask.before)

    def _give_back(self) -> None:
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            # None is a handler that no Python code has set, and none can set again
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        os.close(self.fd)
        os.close(self._wakeup)
