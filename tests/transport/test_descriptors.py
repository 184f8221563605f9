"""A child that the agent forks holds no pipe of a plugin's."""

from __future__ import annotations

import os

import pytest

from sliphook.transport import descriptors


# Python warns of fork in a program with threads, as this child calls nothing that could need them
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
async def test_ours_are_closed_in_a_forked_child() -> None:
    reading, writing = os.pipe()
    ours = descriptors.take(writing)
    child = os.fork()
    if child == 0:
        try:
            os.fstat(ours)
        except OSError:
            os._exit(0)
        os._exit(1)
    ended = os.waitid(os.P_PID, child, os.WEXITED)  # noqa: ASYNC222 - it ends at once
    assert ended is not None
    assert ended.si_status == 0
    os.fstat(ours)  # the agent's own is open
    descriptors.close(ours)
    os.close(reading)
    os.close(writing)
