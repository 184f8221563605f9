"""Runs a test on a clock that skips waits, for tests without pytest-trio."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio
import trio.testing

R = TypeVar("R")


def run(test: Callable[..., Awaitable[R]], *args: object) -> R:
    """Run an async function on a clock that skips every wait: a timeout of 5 s is over at once.

    Only for hosts whose plugins are all fakes: a real process needs real time. With pytest-trio,
    the fixtures `autojump_clock` and `mock_clock` do the same; the latter stands still until the
    test calls `mock_clock.jump(seconds)`.

    Args:
        test: the function.
        args: its arguments.
    """
    return trio.run(test, *args, clock=trio.testing.MockClock(autojump_threshold=0))
