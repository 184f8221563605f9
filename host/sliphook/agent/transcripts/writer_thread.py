"""Writes transcripts in a thread, as things are said: no lock and no disk can hold the agent."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import trio

from sliphook.files.background_writer import BackgroundWriter

from .database import BUSY_TIMEOUT_S, broken

MAX_WAITING: Final = 10_000
"""Steps that wait for the disk at most; beyond that the record is given up."""
PATIENCE_S: Final = 0.25
"""How long `settled` waits; not once more until the disk has caught up."""
CLOSE_S: Final = 1.0
"""How long `close` waits for the disk."""

Change = Callable[[sqlite3.Connection], object]
"""One thing to write, inside of a transaction. It runs in the writer's thread."""


class TranscriptWriter:
    """Writes changes in their order, as many in a transaction as wait.

    The first failure ends the record, and is told once.
    """

    def __init__(
        self, connection: sqlite3.Connection, path: Path, on_problem: Callable[[str], object]
    ) -> None:
        """Start the thread.

        Args:
            connection: to the file; the thread uses it alone from now on, and closes it.
            path: the file, to name it.
            on_problem: called with one line, at most once, by `put`, `settled` or `close`; never
                from the thread.
        """
        self._connection = connection
        self._path = path
        self._on_problem = on_problem
        self._problem: str | None = None
        self._told = False
        self._behind = False
        self._loop: trio.lowlevel.TrioToken | None = None
        self._writer: BackgroundWriter[Change | trio.Event] = BackgroundWriter(
            self._write,
            name="sliphook-transcripts",
            max_items=MAX_WAITING,
            max_batch=MAX_WAITING,
            at_end=self._close_file,
        )
        try:
            self._writer.start()
        except RuntimeError as error:
            self._problem = f"the conversation goes unrecorded: {error}"

    def put(self, change: Change) -> None:
        """Have `change` written soon."""
        self._put(change)
        self._tell()

    async def settled(self) -> None:
        """Wait until all that was put is in the file, or cannot be.

        A slow disk is waited for once, for `PATIENCE_S`, and again only after it has caught up.
        """
        if self._problem is None and not self._behind:
            self._loop = trio.lowlevel.current_trio_token()
            written = trio.Event()
            # in the queue of the changes: the thread reaches it when all before it is written
            self._put(written)
            with trio.move_on_after(PATIENCE_S) as patience:
                await written.wait()
            self._behind = patience.cancelled_caught
        self._tell()

    def close(self) -> None:
        """Write what waits, for `CLOSE_S` at most."""
        self._writer.close(CLOSE_S)
        if self._writer.is_running:
            self._problem = (
                self._problem
                or f"the end of the conversation may be missing in {self._path}:"
                " it could not be written in time"
            )
        self._tell()
        self._told = True  # what is put from now on is ignored

    def _put(self, item: Change | trio.Event) -> None:
        if not self._writer.put(item):
            self._problem = (
                self._problem
                or f"{self._path} cannot be written as fast as things are said;"
                " the rest goes unrecorded"
            )

    def _tell(self) -> None:
        if self._problem is not None and not self._told:
            self._told = True
            self._on_problem(self._problem)

    # -- in the writer's thread

    def _write(self, items: Sequence[Change | trio.Event]) -> int:
        changes = [item for item in items if not isinstance(item, trio.Event)]
        if changes and self._problem is None:
            self._transact(changes)
        self._caught_up([item for item in items if isinstance(item, trio.Event)])
        return 0

    def _close_file(self) -> None:
        with contextlib.suppress(sqlite3.Error):  # what is in the file stays there
            self._connection.close()

    def _transact(self, changes: list[Change]) -> None:
        try:
            self._connection.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_S * 1000)}")
            # the write lock at once: if a transaction reads first and another agent writes
            # meanwhile, its own write fails without waiting
            self._connection.execute("BEGIN IMMEDIATE")
            for change in changes:
                change(self._connection)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._problem = f"{broken(self._path, error)}; the conversation goes on unrecorded"
        except Exception as error:  # a message that cannot be written as JSON
            self._problem = (
                f"a message cannot be recorded in {self._path}: {error};"
                " the conversation goes on unrecorded"
            )
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):  # the first failure ends the record
                self._connection.execute("ROLLBACK")

    def _caught_up(self, written: list[trio.Event]) -> None:
        def wake() -> None:
            self._behind = False
            for event in written:
                event.set()

        if written and self._loop is not None:
            with contextlib.suppress(
                trio.RunFinishedError
            ):  # the loop has ended, and with it all that waited
                # trio's events may be set in trio's thread only
                self._loop.run_sync_soon(wake)
