"""The progress of one call, passed on a few times a second."""

from __future__ import annotations

import time
from typing import Final

import sliphook_sdk as sdk

_LEAST_S: Final = 0.1
"""From step to step."""

_MOST_CHARS: Final = 1_000


class PacedProgress:
    """Passes on what a server says of one call.

    Args:
        ctx: the call.
    """

    def __init__(self, ctx: sdk.AsyncContext) -> None:
        self._ctx = ctx
        self._next = 0.0

    def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Pass on one step, or leave it out if the last was just now."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _LEAST_S
            fraction = min(1.0, max(0.0, progress / total)) if total and total > 0 else None
            self._ctx.progress(message and message[:_MOST_CHARS], fraction)
