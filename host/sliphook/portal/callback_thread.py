"""A thread that calls an agent's callbacks in order, so that no slow callback holds the loop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

from sliphook.agent_log import agent_log
from sliphook.errors import HostError
from sliphook.files.background_writer import BackgroundWriter

_log = agent_log("sliphook")

MAX_WAITING: Final = 1_000
"""Further calls are dropped and counted, so that slow callbacks cannot exhaust memory."""
JOIN_S: Final = 5.0
"""How long `stop` waits for a callback that does not return."""


class CallbackThread:
    """Calls functions in the order in which they were put."""

    def __init__(self, name: str = "sliphook callbacks") -> None:
        self._writer = BackgroundWriter(_call, name=name, max_items=MAX_WAITING)
        self._lock = threading.Lock()
        self._started = False

    def start(self) -> None:
        """Start the thread; does nothing the second time.

        Raises:
            HostError: the system has no room for another one.
        """
        with self._lock:
            if not self._started:
                try:
                    self._writer.start()
                except RuntimeError as error:
                    raise HostError(f"no thread can be started for callbacks: {error}") from None
                self._started = True

    def put(self, function: Callable[[], None]) -> None:
        """Have a function called; never waits."""
        self._writer.put(function)

    def stop(self) -> None:
        """Call what was put, then end the thread; waits for `JOIN_S` at most."""
        if not self._started:
            return
        self._writer.close(JOIN_S)
        if lost := self._writer.lost:
            _log.warning(
                "%d calls of the agent's callbacks were left out: the callbacks are too slow", lost
            )


def _call(functions: Sequence[Callable[[], None]]) -> int:
    for function in functions:
        try:
            function()
        # of every kind: `sys.exit()`, or Interrupted of a host's call, would end the thread, and no
        # callback after it would be called
        except BaseException:
            _log.exception("a callback of the agent failed")
    # none is lost: one that raised was called too
    return 0
