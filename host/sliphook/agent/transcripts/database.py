"""The file of the transcripts: an SQLite database, private to the user, shared by all agents."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Final

from sliphook.errors import SliphookError
from sliphook.files.private import make_private_folder, open_private

APPLICATION_ID: Final = 0x536C6970  # "Slip": no other program's database is taken for ours
FORMAT: Final = 1
"""The `user_version` of files that this code reads and writes."""

BUSY_TIMEOUT_S: Final = 5.0
"""How long a write waits for another agent's; only the writer's thread waits."""
OPEN_TIMEOUT_S: Final = 0.5
"""How long opening and reading wait: the agent waits with them."""

_SCHEMA: Final = (
    """CREATE TABLE session (
        id TEXT PRIMARY KEY,
        session_key TEXT,
        platform TEXT,
        cwd TEXT,
        model TEXT,
        began_at TEXT NOT NULL,
        ended_at TEXT,
        end_reason TEXT
    )""",
    # state is whole, interrupted, abandoned or piece: an answer under way is in pieces, and one row
    # takes their place in the end
    """CREATE TABLE message (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
        at TEXT NOT NULL,
        state TEXT NOT NULL,
        role TEXT NOT NULL,
        body TEXT NOT NULL
    )""",
    "CREATE INDEX message_of_session ON message (session_id, number)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT}",
)

_ADVICE: Final = {
    sqlite3.SQLITE_BUSY: "another program holds it",
    sqlite3.SQLITE_LOCKED: "another program holds it",
    sqlite3.SQLITE_FULL: "free some space",
    sqlite3.SQLITE_READONLY: "make it and its folder writable",
    sqlite3.SQLITE_CANTOPEN: "make it and its folder writable",
    sqlite3.SQLITE_IOERR: "check the disk",
}


class TranscriptError(SliphookError):
    """The transcripts cannot be used; `str()` names the file and says what to do, in one line."""


def connect(path: Path) -> sqlite3.Connection:
    """A connection to the file at `path`, which is made if there is none.

    It may be used in another thread, by one at a time.

    Raises:
        TranscriptError: it cannot be opened, is broken, or is not ours to write. It is left as it
            is.
    """
    try:
        _make(path)
        # isolation_level: Python would begin transactions on its own, and not IMMEDIATE ones
        connection = sqlite3.connect(
            path, timeout=OPEN_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
    except (OSError, sqlite3.Error) as error:
        raise TranscriptError(f"cannot open the transcripts in {path}: {_why(error)}") from error
    try:
        _prepare(connection, path)
    except sqlite3.Error as error:
        connection.close()
        raise broken(path, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def broken(path: Path, error: sqlite3.Error) -> TranscriptError:
    """What SQLite says of the file, for people."""
    advice = _ADVICE.get(
        # the low byte is the primary code; the rest tells the kinds of one failure apart
        getattr(error, "sqlite_errorcode", 0) & 0xFF,
        "repair it, or move it away and a new one is made",
    )
    return TranscriptError(f"cannot use the transcripts in {path}: {error}; {advice}")


def _make(path: Path) -> None:
    make_private_folder(path.parent)
    # never open a file that is there: closing it again would take SQLite's locks away from this
    # whole process
    if not path.exists():
        # made here for the mode: SQLite gives its -wal and -shm files the mode of this one
        with contextlib.suppress(FileExistsError):
            os.close(open_private(path, os.O_RDWR | os.O_EXCL))


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    if _is_new(connection):
        # before BEGIN: the mode cannot be changed inside of a transaction
        connection.execute(
            "PRAGMA journal_mode = WAL"
        )  # readers and one writer do not wait for each other
        connection.execute("BEGIN IMMEDIATE")
        if _is_new(connection):  # else another agent was quicker
            for statement in _SCHEMA:
                connection.execute(statement)
        connection.execute("COMMIT")
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise TranscriptError(f"{path} is no file of Sliphook's; it is left alone: move it away")
    version = _pragma(connection, "user_version")
    if version != FORMAT:
        raise TranscriptError(
            f"{path} has format {version}, and this Sliphook knows format {FORMAT};"
            " it is left alone: update Sliphook"
        )
    connection.execute(
        "PRAGMA synchronous = NORMAL"
    )  # a killed process loses nothing, a power cut the last moments
    # off by default, and without it ON DELETE CASCADE removes no message
    connection.execute("PRAGMA foreign_keys = ON")


def _is_new(connection: sqlite3.Connection) -> bool:
    return (
        _pragma(connection, "application_id"),
        _pragma(connection, "user_version"),
        # not 0 if another program has made tables without giving the file an id
        _pragma(connection, "schema_version"),
    ) == (0, 0, 0)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _why(error: OSError | sqlite3.Error) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
