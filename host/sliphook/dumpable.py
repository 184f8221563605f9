"""Keeps this process's memory and environment from the user's other processes, on Linux.

A process of the same user may read `/proc/PID/environ`, and with it the key of the model that the
agent was started with, although no plugin is given it. If a process is not dumpable, the system
refuses that to all but root.

The command line calls `forbid_dumps`. The library does not by itself, as it
changes the whole process of the agent: no core dump is written, no debugger or profiler can be
attached, and `/proc/PID` belongs to root.
"""

from __future__ import annotations

import sys
from typing import Final

__all__ = ["forbid_dumps"]

_PR_SET_DUMPABLE: Final = 4


def forbid_dumps() -> bool:
    """Make this process not dumpable, until it ends.

    A program that it starts is dumpable again: give it no secrets.

    Returns:
        Whether the system has such a protection, and has granted it.
    """
    if sys.platform != "linux":
        return False
    # imported here: it takes milliseconds, which an agent that does not ask should not pay
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False
