"""A test on a clock that jumps, for those who do not use pytest-trio."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio
import trio.testing

R = TypeVar("R")


def run(test: Callable[..., Awaitable[R]], *args: object) -> R:
    """Run an async function on a clock that jumps over every wait: a timeout of five seconds is over at once.

    Only for hosts whose plugins are all fakes: a real process needs real time. With pytest-trio,
    the fixtures `autojump_clock` and `mock_clock` do the same; the latter stands still until the
    test says `mock_clock.jump(seconds)`.

    Args:
        test: the function.
        args: what it is called with.
    """
    return trio.run(test, *args, clock=trio.testing.MockClock(autojump_threshold=0))
