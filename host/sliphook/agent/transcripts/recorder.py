"""What is said in one session, put into its transcript as it is said."""

from __future__ import annotations

import io
import sqlite3

import msgspec

from sliphook.agent.conversation import MessageState
from sliphook.ids import now
from sliphook_sdk.protocol import Message

from .writer_thread import TranscriptWriter


class SessionRecorder:
    """Records what is said in one session. No method raises for the sake of the file."""

    def __init__(
        self,
        writer: TranscriptWriter,
        session: tuple[str, str | None, str | None, str | None, str | None],
    ) -> None:
        """Nothing is written yet.

        Args:
            writer: of the file.
            session: its id, key, platform, folder and model.
        """
        self._writer = writer
        self._session = (*session, now())
        self._begun = False
        self._said = io.StringIO()  # of the answer that is under way
        self._pieces: list[
            int
        ] = []  # the numbers of the rows that hold it; only the writer's thread looks at them

    def message(self, message: Message, state: MessageState = "whole") -> None:
        """Record a message; an assistant's replaces the pieces of text that came before it."""
        # taken here: the thread may write it much later than it was said
        at = now()
        if message.role == "assistant":
            self._said = io.StringIO()
        self._writer.put(lambda db: self._write_message(db, at, state, message))

    async def text(self, delta: str) -> None:
        """More of the answer that is under way.

        It is in the file before this returns, unless the disk is slow or the file is lost.
        """
        at = now()
        self._said.write(delta)
        self._writer.put(
            lambda db: self._pieces.extend(
                self._insert(db, at, "piece", Message(role="assistant", content=delta))
            )
        )
        await self._writer.settled()

    def abandoned(self) -> None:
        """Mark what the answer under way has said so far as not counting: the attempt failed."""
        if self._said.tell():
            self.message(Message(role="assistant", content=self._said.getvalue()), "abandoned")

    def answered_by(self, model: str) -> None:
        """Record the model of the session, if it is another one than before."""
        if model == self._session[4]:
            return
        self._session = (*self._session[:4], model, self._session[5])
        self._writer.put(
            lambda db: db.execute(
                "UPDATE session SET model = ? WHERE id = ?", (model, self._session[0])
            )
        )

    def _write_message(
        self, db: sqlite3.Connection, at: str, state: MessageState, message: Message
    ) -> None:
        if message.role == "assistant":
            db.executemany(
                "DELETE FROM message WHERE number = ?", [(number,) for number in self._pieces]
            )
            self._pieces.clear()
        self._insert(db, at, state, message)

    def _insert(self, db: sqlite3.Connection, at: str, state: str, message: Message) -> list[int]:
        body = msgspec.json.encode(message).decode()
        if not self._begun:
            # a session that is resumed is open again, and keeps its `began_at`
            db.execute(
                """INSERT INTO session (id, session_key, platform, cwd, model, began_at)
                VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id)
                DO UPDATE SET ended_at = NULL, end_reason = NULL, model = excluded.model""",
                self._session,
            )
            self._begun = True
        # a session that the user has removed meanwhile is not made again
        done = db.execute(
            """INSERT INTO message (session_id, at, state, role, body)
            SELECT id, ?, ?, ?, ? FROM session WHERE id = ?""",
            (at, state, message.role, body, self._session[0]),
        )
        return [done.lastrowid] if done.rowcount and done.lastrowid is not None else []
