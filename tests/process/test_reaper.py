"""The reaper's process ends with its host, whatever happens to it meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
import trio

from sliphook import PluginHost
from sliphook.process.reaper import OrphanReaper
from tests.leaks import nothing_is_left_behind
from tests.programs import WAIT_S, Workshop

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


async def test_a_fault_in_its_start_is_raised_and_hangs_no_host(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: OrphanReaper) -> None:
        raise ValueError("a fault")

    monkeypatch.setattr(OrphanReaper, "start", fails)
    with trio.fail_after(WAIT_S), pytest.RaisesGroup(ValueError, flatten_subgroups=True):
        async with PluginHost([shop.program().path]):
            pytest.fail("the host is open")


async def test_inside_of_another_program_none_is_started(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """`sys.executable` is that program, which would start another host."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    keeper = OrphanReaper()
    keeper.start()
    assert keeper._process is None  # pyright: ignore[reportPrivateUsage]
    with trio.fail_after(WAIT_S):
        await keeper.watch()  # there is nothing to wait for
    keeper.close()
    assert [record.message for record in caplog.records] == [
        "the reaper cannot be started (this program is no Python, which it needs);"
        " plugins may outlive a killed agent"
    ]
