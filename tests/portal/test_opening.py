"""What a host says that cannot be opened: a second time, or without room for a thread."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sliphook import HostError, PluginHost, aio, blocking
from sliphook.trace import FileTrace
from tests.programs import WAIT_S, Workshop

TWICE = "a host is opened once; make another by PluginHost"


async def test_twice_in_trio() -> None:
    host = PluginHost()
    async with host:
        with pytest.raises(HostError, match=TWICE):
            await host.__aenter__()
    with pytest.raises(HostError, match=TWICE):
        await host.__aenter__()


def test_twice_in_threads() -> None:
    host = blocking.PluginHost()
    with host:
        with pytest.raises(HostError, match=TWICE), host:
            pass
        assert host.plugins == []  # the first is as it was
    with pytest.raises(HostError, match=TWICE), host:
        pass


def test_twice_in_asyncio() -> None:
    async def main() -> None:
        host = aio.PluginHost()
        async with host:
            with pytest.raises(HostError, match=TWICE):
                await host.__aenter__()
            assert host.plugins == []
        with pytest.raises(HostError, match=TWICE):
            await host.__aenter__()

    asyncio.run(main())


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)


@pytest.mark.usefixtures("no_room")
def test_without_room_for_its_thread() -> None:
    with pytest.raises(HostError, match="cannot be opened: can't start new thread"):
        blocking.PluginHost().__enter__()


@pytest.mark.usefixtures("no_room")
def test_a_trace_without_room_for_its_thread_closes_its_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    with pytest.raises(OSError, match="can't start new thread"):
        FileTrace(path)
    with pytest.raises(OSError, match="can't start new thread"):
        FileTrace(path)  # a descriptor that was left open would still have the lock


def test_without_descriptors_for_its_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("trio.run", run)
    with pytest.raises(HostError, match=r"cannot be opened: .*Too many open files"):
        blocking.PluginHost().__enter__()


AT_EXIT = """
import atexit, sys
from sliphook import HostError
from sliphook.blocking import PluginHost

@atexit.register
def last():
    try:
        with PluginHost([sys.argv[1]]) as host:
            print(*[(plugin.state, plugin.why) for plugin in host.plugins])
    except HostError as error:
        print(error)
"""


def test_in_an_exit_function_where_python_still_starts_threads(shop: Workshop) -> None:
    said = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", AT_EXIT, str(shop.program().path)],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=True,
    )
    # Python 3.12.1 starts no thread there
    none = "the host cannot be opened: can't create new thread at interpreter shutdown"
    assert said.stdout.rstrip() in ("('ready', None)", none), said.stderr
