"""How an event loop waits: awake for a moment, if that has paid lately (see `spin_wait`)."""

from __future__ import annotations

import selectors
from functools import partial
from math import inf
from time import perf_counter
from typing import Any, Final, Optional

from sliphook_sdk.spin_wait import PLUGIN_SPIN_S, SpinWait, processors, stay_awake

_Ready = list[tuple[selectors.SelectorKey, int]]

_NO_ONE: Final = -1


class AwakeSelector(selectors.DefaultSelector):
    """Stays awake for what follows at once, as the host's next request often does.

    What follows depends on what came last: behind the host's request the answer of a server may be
    waited for, which takes long, and behind that answer the host's next request, which does not. So
    for each descriptor it is counted apart, and for what follows a timer.
    """

    def __init__(self) -> None:
        super().__init__()
        self._processors = processors()
        self._spins: dict[int, SpinWait] = {}
        self._came_last = _NO_ONE

    def select(self, timeout: Optional[float] = None) -> _Ready:
        """See `selectors.BaseSelector`."""
        waits = timeout is None or timeout > 0  # else other work is under way
        ready = self._wait(timeout) if waits else super().select(timeout)
        if ready:
            self._came_last = ready[0][0].fd
        elif waits:
            self._came_last = _NO_ONE
        return ready

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        """See `selectors.BaseSelector`; the next one of that number is another."""
        key = super().unregister(fileobj)
        self._spins.pop(key.fd, None)
        if self._came_last == key.fd:
            self._came_last = _NO_ONE
        return key

    def _wait(self, timeout: Optional[float]) -> _Ready:
        spin = self._spins.get(self._came_last)
        if spin is None:
            spin = self._spins[self._came_last] = SpinWait(PLUGIN_SPIN_S, self._processors)
        began = perf_counter()
        left_s = inf if timeout is None else timeout
        ready: _Ready = []
        if spin.pays:
            ready = stay_awake(partial(super().select, 0), min(spin.spin_s, left_s))
            left_s = max(0.0, left_s - (perf_counter() - began))
        if not ready:
            ready = super().select(None if timeout is None else left_s)
        spin.took(perf_counter() - began)
        return ready
