"""Nothing is left behind: no descriptor, no child process, no thread of the host.

A room's `conftest.py` imports the fixture; it then holds for every test of the room.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator

import pytest

from tests.programs import WAIT_S


def open_pipes() -> set[int]:
    """This process's descriptors that are pipes, sockets or have no type, such as epoll's."""
    found: set[int] = set()
    for name in os.listdir("/dev/fd"):
        try:
            kind = stat.S_IFMT(os.fstat(int(name)).st_mode)
        except OSError:
            continue  # the listing's own
        if kind in (stat.S_IFIFO, stat.S_IFSOCK, 0):
            found.add(int(name))
    return found


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    """No descriptor, no child, no zombie, no thread of the host, whatever the test did to it."""
    before = open_pipes()
    yield
    threads = [t for t in threading.enumerate() if t.name.startswith("sliphook")]
    for thread in threads:
        thread.join(WAIT_S)  # a host waits half a second at most for one that writes its logs
    pipes, children = open_pipes() - before, list(_children())
    assert pipes == set()
    assert children == []
    assert [t.name for t in threads if t.is_alive()] == []


def _children() -> Iterator[str]:
    """Name and end the children that are left, so that the next test does not find them again."""
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None:
            yield "a process that lives"
            return
        yield f"a zombie, {found.si_pid}"
        os.waitpid(found.si_pid, 0)
