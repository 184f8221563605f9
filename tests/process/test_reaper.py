"""The reaper's process ends with its host, whatever happens to it meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from sliphook.process.reaper import OrphanReaper
from tests.leaks import nothing_is_left_behind

__all__ = ["nothing_is_left_behind"]


def test_one_that_is_replaced_while_the_host_ends_is_ended_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The thread that replaces it may come before the host's end, in its midst, or behind it."""
    begun, ended = threading.Event(), threading.Event()
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def slow(*words: object, **more: object) -> subprocess.Popen[bytes]:
        process = popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        started.append(process)
        begun.set()
        assert ended.wait(60)
        return process

    keeper = OrphanReaper()
    keeper.start()
    monkeypatch.setattr("sliphook.process.reaper.subprocess.Popen", slow)
    replacing = threading.Thread(target=keeper._replace)  # pyright: ignore[reportPrivateUsage]
    replacing.start()
    assert begun.wait(60)
    keeper.close()
    ended.set()
    replacing.join(60)
    keeper._replace()  # pyright: ignore[reportPrivateUsage]
    for process in started:
        assert process.returncode is not None
        assert process.stdin is not None
        process.stdin.close()


def test_it_is_replaced_if_it_was_killed() -> None:
    keeper = OrphanReaper()
    keeper.start()
    first = keeper._process  # pyright: ignore[reportPrivateUsage]
    assert first is not None
    os.kill(first.pid, 9)
    keeper._replace()  # pyright: ignore[reportPrivateUsage]
    second = keeper._process  # pyright: ignore[reportPrivateUsage]
    assert second is not None
    assert second.poll() is None
    keeper.close()
