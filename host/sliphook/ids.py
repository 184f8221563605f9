"""Unique ids, and the time as payloads give it."""

from __future__ import annotations

import os
import time
from functools import lru_cache


def new_id() -> str:
    """A random id, unique enough to name a session, a turn or a call."""
    return os.urandom(8).hex()


def now() -> str:
    """The time as payloads give it: `2026-01-01T00:00:00.000Z`."""
    milliseconds = time.time_ns() // 1_000_000
    return f"{_second(milliseconds // 1000)}.{milliseconds % 1000:03d}Z"


# `strftime` is slow beside the rest, and many payloads have the same second
@lru_cache(maxsize=4)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
