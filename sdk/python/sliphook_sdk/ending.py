"""What is done when the process ends, also if a function of `atexit` hangs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

_functions: list[Callable[[], object]] = []


def at_last(function: Callable[[], object]) -> None:
    """Have a function called as the last thing that the process does. It may wait for moments."""
    _functions.append(function)


def do_last() -> None:
    """Call these functions."""
    for function in _functions:
        with suppress(Exception):  # the process ends now, and the next one is to be called too
            function()
