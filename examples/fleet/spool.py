"""Events on disk, in order, until the broker has them.

All agents of this user on this machine share one SQLite file, in which the events are numbered. An
event that was added survives `kill -9` of the plugin; one that was added with `durable`, and all
before it, the loss of power too.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import uuid
from pathlib import Path

PAGE = 4096
BUSY_S = 2.0  # how long another instance may hold the file
RESERVE = 8 << 20  # bytes of the disk that stay free: to forget what was sent takes some, too

SCHEMA = """
CREATE TABLE IF NOT EXISTS events (n INTEGER PRIMARY KEY AUTOINCREMENT, event BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS writer (only INTEGER PRIMARY KEY CHECK (only = 1), name TEXT NOT NULL);
"""


class Spool:
    """The file, open; for any thread.

    Attributes:
        writer: the name of this spool. Together with it the number of an event is unique.
    """

    def __init__(self, file: Path, most_mib: int) -> None:
        self._folder = file.parent
        self._lock = threading.Lock()
        self._db = sqlite3.connect(
            file, timeout=BUSY_S, isolation_level=None, check_same_thread=False
        )
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute(f"PRAGMA max_page_count = {most_mib * 1024 * 1024 // PAGE}")
        self._db.executescript(SCHEMA)
        self._db.execute("INSERT OR IGNORE INTO writer VALUES (1, ?)", [uuid.uuid4().hex])
        self.writer: str = self._db.execute("SELECT name FROM writer").fetchone()[0]

    def add(self, event: bytes, *, durable: bool = False) -> None:
        """Keep an event.

        Raises sqlite3.Error if it cannot be kept: the disk is full, or the spool is.
        """
        disk = os.statvfs(self._folder)
        with self._lock:
            if disk.f_bavail * disk.f_frsize < RESERVE and not self._unused_pages():
                raise sqlite3.OperationalError("database or disk is full")
            self._db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._db.execute("INSERT INTO events (event) VALUES (?)", [event])

    def _unused_pages(self) -> int:
        """Those of events that were forgotten: the file does not shrink."""
        count: int = self._db.execute("PRAGMA freelist_count").fetchone()[0]
        return count

    def next(self, after: int, most: int) -> list[tuple[int, bytes]]:
        """The oldest events above that number, with their numbers."""
        query = "SELECT n, event FROM events WHERE n > ? ORDER BY n LIMIT ?"
        with self._lock:
            return self._db.execute(query, [after, most]).fetchall()

    def forget(self, last: int) -> None:
        """The broker has all events up to this number."""
        with self._lock:
            self._db.execute("DELETE FROM events WHERE n <= ?", [last])

    def waiting(self) -> int:
        """How many events the broker does not have yet."""
        with self._lock:
            rows = self._db.execute("SELECT max(n) - min(n) + 1 FROM events")
            return rows.fetchone()[0] or 0


def open_spool(file: Path, most_mib: int) -> tuple[Spool, str | None]:
    """The spool, and what to tell if there was a damaged one, which is put out of the way.

    Raises sqlite3.OperationalError if there can be none: the disk is full.
    """
    try:
        return Spool(file, most_mib), None
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as exc:
        damaged = file.with_suffix(".damaged")
        os.replace(file, damaged)
        return Spool(file, most_mib), f"the spool was damaged ({exc}); it is now {damaged}"
