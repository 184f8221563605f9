"""The screen of a chat, at a terminal without a reader."""

from __future__ import annotations

import contextlib
import io
import os
import select
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from sliphook.cli.chat.screen import Screen
from sliphook.cli.chat.terminal import TerminalKept


class Person:
    """A `Listener` to whom nothing is said."""

    def line(self, text: str, *, answers: bool | None = None) -> None:
        raise AssertionError(text)

    def stop(self, dropped: int) -> None:
        raise AssertionError(dropped)

    def ctrl_c(self, *, typed: bool) -> None:
        raise AssertionError(typed)

    def end(self) -> None:
        raise AssertionError

    def gone(self) -> None:
        raise AssertionError


class Unread:
    """A terminal that ends every wait after ten seconds: a fault fails instead of hanging."""

    def __init__(self, slave: io.TextIOWrapper, master: int) -> None:
        self.slave = slave
        self.was_waited_for = False
        self._master = master
        self._over = threading.Event()
        self._rescue = threading.Thread(target=self._drain)
        self._rescue.start()

    def _drain(self) -> None:
        if self._over.wait(120):
            return
        self.was_waited_for = True
        while not self._over.wait(0.01):
            while select.select([self._master], [], [], 0)[0]:
                os.read(self._master, 65_536)

    def close(self) -> None:
        self._over.set()
        self._rescue.join()
        os.close(self._master)


@pytest.fixture
def unread() -> Iterator[Unread]:
    master, slave = os.openpty()
    with (
        open(slave, "r+b", buffering=0) as raw,
        io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8") as stream,
    ):
        terminal = Unread(stream, master)
        yield terminal
        terminal.close()


async def test_what_was_not_drawn_waits_for_no_terminal(
    unread: Unread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("stdin", "stdout"):  # here and not in the fixture: pytest sets its own in between
        monkeypatch.setattr(f"sys.{name}", unread.slave)
    screen = Screen(tmp_path / "history")

    async def got_away_in_time(screen: Screen, _terminal: object) -> None:
        screen.above([("", "word\n" * 20_000)])

    monkeypatch.setattr(Screen, "_until_it_leaves", got_away_in_time)
    with trio.fail_after(120):
        await screen.talk(Person())

    assert not unread.was_waited_for


async def test_a_task_that_waits_in_a_terminal_that_is_given_up_goes_on(
    unread: Unread, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{name}", unread.slave)
    output, written = unread.slave.fileno(), threading.Semaphore(0)

    def draw() -> None:
        """As prompt_toolkit does it: the output blocks again before each write."""
        for _ in range(100):
            os.set_blocking(output, True)
            with contextlib.suppress(BlockingIOError):
                os.write(output, b"word\n" * 1_000)
            written.release()

    thread = threading.Thread(target=draw)
    with TerminalKept() as terminal:
        thread.start()
        while await trio.to_thread.run_sync(lambda: written.acquire(timeout=0.2)):
            pass  # until it waits
        assert thread.is_alive()
        terminal.give_up()
        await trio.to_thread.run_sync(thread.join, 120)
    assert not thread.is_alive()
    assert not unread.was_waited_for
