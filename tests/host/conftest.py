"""What the tests of the host share: a place for plugins, and that nothing is ever left behind."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.plugins import Workshop


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    """Writes plugins into the test's own folder."""
    return Workshop(tmp_path)


def open_pipes() -> set[int]:
    """The descriptors of this process that are pipes, or have no type: those of a process or of epoll."""
    found: set[int] = set()
    for name in os.listdir("/dev/fd"):
        try:
            kind = stat.S_IFMT(os.fstat(int(name)).st_mode)
        except OSError:
            continue  # the listing's own
        if kind in (stat.S_IFIFO, 0):
            found.add(int(name))
    return found


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    """No descriptor, no child, no zombie, whatever the test did to the host."""
    before = open_pipes()
    yield
    pipes, children = open_pipes() - before, list(_children())
    assert (pipes, children) == (set(), [])


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
