"""How an event loop waits: awake for a moment, if that has paid lately (see `spin_wait`)."""

from __future__ import annotations

import os
import selectors
from time import perf_counter
from typing import Final, Optional

from sliphook_sdk.spin_wait import PLUGIN_SPIN_S, SpinWait, processors

_Ready = list[tuple[selectors.SelectorKey, int]]

_NO_ONE: Final = -1


class AwakeSelector(selectors.DefaultSelector):
    """Stays awake for what follows at once, as the host's next request often does.

    What follows depends on what came last: behind the host's request the answer of a server may be
    waited for, which takes long, and behind that answer the host's next request, which does not. So
    for each descriptor it is counted apart.
    """

    def __init__(self) -> None:
        super().__init__()
        self._processors = processors()
        self._spins: dict[int, SpinWait] = {}
        self._came_last = _NO_ONE

    def select(self, timeout: Optional[float] = None) -> _Ready:
        """See `selectors.BaseSelector`."""
        if timeout is not None and timeout <= 0:
            ready = super().select(timeout)
        else:
            ready = self._wait(timeout)
        if ready:
            self._came_last = ready[0][0].fd
        return ready

    def _wait(self, timeout: Optional[float]) -> _Ready:
        spin = self._spins.get(self._came_last)
        if spin is None:
            spin = self._spins[self._came_last] = SpinWait(PLUGIN_SPIN_S, self._processors)
        began = perf_counter()
        ready = self._awake(began) if spin.pays else []
        if not ready:
            awake_s = perf_counter() - began
            ready = super().select(None if timeout is None else max(0.0, timeout - awake_s))
        spin.took(perf_counter() - began)
        return ready

    def _awake(self, began: float) -> _Ready:
        ready = super().select(0)
        while not ready and perf_counter() - began < PLUGIN_SPIN_S:
            os.sched_yield()  # to who needs the processor: another plugin, or the host
            ready = super().select(0)
        return ready
