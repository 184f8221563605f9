"""A thread in which an agent's callbacks are called one after the other, so that none of them can hold the loop."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import Final

_log = logging.getLogger("sliphook")

MAX_WAITING: Final = 1_000
"""Calls beyond this are lost and counted: an agent that does not come along must not fill the memory."""
JOIN_S: Final = 5.0
"""How long the end waits for a callback that does not return."""


class CallbackThread:
    """Calls functions in the order in which they were put."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self._lost = 0
        self._thread = threading.Thread(target=self._run, name="sliphook callbacks", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def put(self, function: Callable[[], None]) -> None:
        """Have a function called; never waits."""
        if self._waiting.qsize() < MAX_WAITING:
            self._waiting.put(function)
        else:
            self._lost += 1

    def stop(self) -> None:
        """Let what was put be called, then end the thread."""
        self._waiting.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(JOIN_S)
        if self._lost:
            _log.warning(
                "%d calls of the agent's callbacks were left out: the callbacks are too slow",
                self._lost,
            )

    def _run(self) -> None:
        while (function := self._waiting.get()) is not None:
            try:
                function()
            except Exception:
                _log.exception("a callback of the agent failed")
