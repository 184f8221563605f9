"""The way into the loop, from inside of it: refused, as the loop cannot wait for itself."""

from __future__ import annotations

import pytest

from sliphook.portal.loop_call import LoopCall
from sliphook.portal.portal import Latch, Portal


async def _nothing() -> None:
    pass


def test_a_call_that_takes_time_is_refused_in_the_loops_own_thread() -> None:
    portal = Portal()
    portal.start()
    try:
        assert portal.at_once(lambda: portal.at_once(lambda: "a plain function is not")) == (
            "a plain function is not"
        )
        with pytest.raises(RuntimeError, match="the host's own thread, which cannot wait"):
            portal.at_once(lambda: portal.begin(LoopCall[None](_nothing, Latch())))
    finally:
        portal.stop()
