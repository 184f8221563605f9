"""What is done for plugins a little at a time, so that none holds the loop by it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

import trio

from sliphook.plugin.supervision import Plugin
from sliphook.transport.pace import SharedTime

WORKING_S: Final = 0.004
"""For all of it in one pass of the loop, and one piece more."""

CLOSE_S: Final = 1.0
"""How long `finish` takes at most, beside one pass of the loop."""


class InTurns:
    """Does the pieces of a plugin's work in their order.

    What there is no time for waits for the next pass of the loop; then the plugins take turns, a
    piece each. Time is the processor's: on a busy machine no more waits than on a quiet one.

    Args:
        time_s: for all of it in one pass.
    """

    def __init__(self, time_s: float = WORKING_S) -> None:
        self._time = SharedTime(time_s)
        self._waiting: dict[Plugin, deque[Callable[[], None]]] = {}

    def waiting(self, plugin: Plugin) -> int:
        """How many pieces of this plugin's work wait."""
        return len(self._waiting.get(plugin, ()))

    def add(self, plugin: Plugin, pieces: Iterable[Callable[[], None]]) -> None:
        """Do these, which may not raise, behind what waits; at once if there is time."""
        others_wait = bool(self._waiting)
        self._waiting.setdefault(plugin, deque()).extend(pieces)
        if not others_wait:
            self._go_on()

    async def finish(self) -> dict[Plugin, int]:
        """Do what waits, for `CLOSE_S` at most; returns how many pieces of each plugin are left."""
        end_s = time.monotonic() + CLOSE_S
        try:
            while self._waiting and time.monotonic() < end_s:
                await trio.lowlevel.checkpoint()
            return {plugin: len(pieces) for plugin, pieces in self._waiting.items()}
        finally:
            self._waiting.clear()  # also if Ctrl+C ends the wait

    def _go_on(self) -> None:
        while self._waiting and self._time.left_s > 0:
            plugin, pieces = next(iter(self._waiting.items()))
            began_s = time.thread_time()
            if pieces:  # none if a message had none
                pieces.popleft()()
            self._time.spend(time.thread_time() - began_s)
            # not before: what the piece adds for this plugin waits behind
            if self._waiting.pop(plugin, None) and pieces:
                self._waiting[plugin] = pieces
        if self._waiting:
            trio.lowlevel.current_trio_token().run_sync_soon(self._go_on)
