"""Who listens where, and that nothing stays there behind the last one."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sliphook.adapters.attached.rendezvous import claim


@pytest.fixture
def path() -> Iterator[Path]:
    # a socket's path has to be short
    with tempfile.TemporaryDirectory(prefix="sh-", dir="/tmp") as folder:
        yield Path(folder) / "agent-1.sock"


def test_a_daemon_that_comes_while_another_goes_is_the_only_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has opened the lock's file; before it has the lock, that file is removed."""
    going = claim(path)
    assert going is not None
    real = fcntl.flock

    def after_its_end(lock: int, how: int) -> None:
        going.drop()
        real(lock, how)

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", after_its_end)
        coming = claim(path)
    assert coming is not None
    assert claim(path) is None
    going.listener.close()
    coming.drop()
    coming.listener.close()
    assert os.listdir(path.parent) == []
