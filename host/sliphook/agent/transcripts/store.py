"""The transcripts of all sessions: written as things are said, read to list, show and resume."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import msgspec

from sliphook.agent.conversation import MessageState, restored
from sliphook.files.paths import data_home
from sliphook.ids import now
from sliphook.wire.decoding import DECODE_ERRORS
from sliphook_sdk.protocol import Message

from .database import TranscriptError, broken, connect
from .recorder import SessionRecorder
from .writer_thread import TranscriptWriter

__all__ = [
    "Line",
    "SessionRecorder",
    "SessionRow",
    "TranscriptError",
    "Transcripts",
    "default_file",
]


def default_file() -> Path:
    """`$XDG_DATA_HOME/sliphook/transcripts.db`."""
    return data_home() / "transcripts.db"


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A session in the transcripts.

    Attributes:
        session_id: as the host knows it.
        session_key: the agent's name for it.
        platform: the platform that the user was on.
        cwd: the project's folder.
        model: the model it was begun with, or last gone on with.
        began_at: when the first message was said, as payloads give a time.
        last_at: when the last one was.
        ended_at: when it ended; None if it goes on, or its agent was killed.
        end_reason: in the words of `session_end.reason`.
        prompt: the user's first message, whole.
        messages: how many messages there are.
    """

    session_id: str
    session_key: str | None
    platform: str | None
    cwd: str | None
    model: str | None
    began_at: str
    last_at: str
    ended_at: str | None
    end_reason: str | None
    prompt: str
    messages: int


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One message as it was said.

    Attributes:
        at: when.
        state: `whole`, `interrupted`, or `abandoned` if the attempt failed and the model was asked
            again.
        message: the message.
    """

    at: str
    state: MessageState
    message: Message


_MESSAGE: Final = msgspec.json.Decoder(Message)
_SESSIONS: Final = """
    SELECT session.id, session_key, platform, cwd, model, began_at, last.at, ended_at, end_reason,
        (SELECT body FROM message
            WHERE session_id = session.id AND role = 'user' ORDER BY number LIMIT 1),
        (SELECT count(*) FROM message
            WHERE session_id = session.id AND state IN ('whole', 'interrupted'))
        + EXISTS (SELECT 1 FROM message WHERE session_id = session.id AND state = 'piece')
    FROM session JOIN message AS last
        ON last.number = (SELECT max(number) FROM message WHERE session_id = session.id)
    ORDER BY last.number DESC"""


class Transcripts:
    """The transcripts in one file.

    Several agents may use it at once; close it, or use it as `with`.
    """

    def __init__(
        self, path: Path, connection: sqlite3.Connection, on_problem: Callable[[str], object]
    ) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = connection
        self._writer: TranscriptWriter | None = None
        self._on_problem = on_problem

    @classmethod
    def open(
        cls, path: Path, on_problem: Callable[[str], object] = lambda line: None
    ) -> Transcripts:
        """Open the file, and make it if there is none: mode 0600, its folder 0700.

        Args:
            path: the file.
            on_problem: told in one line, once, when nothing can be written any more. Recording
                never raises and never waits for long.

        Raises:
            TranscriptError: the file cannot be opened, or is not to be written to: broken, another
                program's, of a newer format.
        """
        return cls(path, connect(path), on_problem)

    def __enter__(self) -> Transcripts:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write what waits, for a second at most."""
        if self._writer is not None:
            self._writer.close()
        elif self._connection is not None:
            self._connection.close()
        self._connection = self._writer = None

    def begin(
        self,
        session_id: str,
        session_key: str | None = None,
        platform: str | None = None,
        cwd: str | None = None,
        model: str | None = None,
    ) -> SessionRecorder:
        """A recorder for the `Conversation` of a session, new or gone on with.

        A session in which nothing is said leaves nothing.
        """
        return SessionRecorder(self._writing(), (session_id, session_key, platform, cwd, model))

    def end(self, session_id: str, reason: str) -> None:
        """The session is over; `reason` is what `session_end` says."""
        ended = (now(), reason, session_id)
        self._writing().put(
            lambda db: db.execute(
                "UPDATE session SET ended_at = ?, end_reason = ? WHERE id = ?", ended
            )
        )

    def sessions(self) -> list[SessionRow]:
        """All sessions, the one in which something was said last first.

        Raises:
            TranscriptError: the file cannot be read.
        """
        with self._reading() as db:
            return [_session(row) for row in db.execute(_SESSIONS)]

    def find(
        self, prefix: str | None, *, cwd: str | None = None, platform: str | None = None
    ) -> SessionRow:
        """The session that is meant.

        Args:
            prefix: its id or the beginning of it, or None for the last one that fits the rest.
            cwd: for the last one: in this folder.
            platform: for the last one: on this platform.

        Raises:
            TranscriptError: there is none, or more than one begins so; or the file cannot be read.
        """
        rows = self.sessions()
        if prefix is None:
            fits = [
                row for row in rows if cwd in (None, row.cwd) and platform in (None, row.platform)
            ][:1]
        else:
            # a whole id first: it may be the beginning of another one
            fits = [row for row in rows if row.session_id == prefix] or [
                row for row in rows if row.session_id.startswith(prefix)
            ]
        if len(fits) == 1:
            return fits[0]
        if fits:
            names = ", ".join(row.session_id for row in fits[:8])
            raise TranscriptError(
                f"{len(fits)} sessions begin with {prefix!r}: {names}; give more of it"
            )
        which = (
            f"session that begins with {prefix!r}"
            if prefix is not None
            else f"session in {cwd}"
            if cwd is not None
            else "session"
        )
        raise TranscriptError(f"there is no {which}; `sliphook sessions` lists them")

    def lines(self, session_id: str) -> list[Line]:
        """Everything that was said in a session, in its order.

        Raises:
            TranscriptError: the file cannot be read.
        """
        lines: list[Line] = []
        with self._reading() as db:
            said = db.execute(
                "SELECT at, state, body FROM message WHERE session_id = ? ORDER BY number",
                (session_id,),
            )
            for is_piece, rows in groupby(said, lambda row: row[1] == "piece"):
                if not is_piece:
                    lines += [
                        Line(at=at, state=state, message=_message(body)) for at, state, body in rows
                    ]
                    continue
                # the answer's agent was killed: this is all that came of it
                pieces = [(at, _message(body)) for at, _, body in rows]
                at, first = pieces[0]
                text = "".join(piece.content or "" for _, piece in pieces)
                whole = msgspec.structs.replace(first, content=text)
                lines.append(Line(at=at, state="interrupted", message=whole))
        return lines

    def load(self, session_id: str) -> list[Message]:
        """What a model reads to go on with the session; empty if there is no such session.

        See `restored`.

        Raises:
            TranscriptError: the file cannot be read.
        """
        return restored(
            line.message for line in self.lines(session_id) if line.state != "abandoned"
        )

    def remove(self, session_id: str) -> None:
        """Remove a session and its text from the file, unless another agent is reading it.

        Raises:
            TranscriptError: the file cannot be written.
        """
        with self._reading() as db:
            # the user wants the words gone: a plain DELETE leaves them in free pages of the file
            db.execute("PRAGMA secure_delete = ON")
            db.execute("DELETE FROM session WHERE id = ?", (session_id,))
            # the write-ahead log holds the words as well, until it is emptied
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _writing(self) -> TranscriptWriter:
        if self._writer is None:
            if self._connection is None:
                raise ValueError("these transcripts are closed")
            self._writer = TranscriptWriter(self._connection, self.path, self._on_problem)
        return self._writer

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection]:
        try:
            # a connection of its own: the other one may belong to the writer's thread
            with closing(connect(self.path)) as db:
                yield db
        except sqlite3.Error as error:
            raise broken(self.path, error) from error
        except DECODE_ERRORS as error:
            raise TranscriptError(
                f"{self.path} holds a message that cannot be read ({error}); it is left as it is"
            ) from error


def _session(row: tuple[Any, ...]) -> SessionRow:
    (
        session_id,
        session_key,
        platform,
        cwd,
        model,
        began_at,
        last_at,
        ended_at,
        end_reason,
        prompt,
        messages,
    ) = row
    return SessionRow(
        session_id=session_id,
        session_key=session_key,
        platform=platform,
        cwd=cwd,
        model=model,
        began_at=began_at,
        last_at=last_at,
        ended_at=ended_at,
        end_reason=end_reason,
        prompt=_message(prompt).content or "" if prompt is not None else "",
        messages=messages,
    )


def _message(body: str) -> Message:
    return _MESSAGE.decode(body)
