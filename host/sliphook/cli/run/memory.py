"""Records a conversation of the command line in the transcripts, and continues a recorded one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Final

from sliphook.agent.conversation import Conversation
from sliphook.agent.transcripts.store import SessionRow, TranscriptError, Transcripts, default_file
from sliphook.cli.common import Failed
from sliphook.quoting import quote

from .setup import PLATFORM, here

if TYPE_CHECKING:
    from sliphook.session.session import Session
    from sliphook_sdk.protocol import Message

__all__ = ["Memory"]

_LINE_CHARS: Final = 300


class Memory:
    """The transcripts. If they cannot be opened, the agent works without them and says so.

    Attributes:
        resumed: the session that is continued, or None.
    """

    def __init__(self, resume: str | None, tell: Callable[[str], object]) -> None:
        """Open the transcripts; use it in a `with` block.

        Args:
            resume: the beginning of a session's id, "" for the last session of this folder, None
                for a new session.
            tell: shows a line to the user if nothing can be recorded.

        Raises:
            Failed: there is no such session, or it cannot be read.
        """
        self.resumed: SessionRow | None = None
        self._said: Sequence[Message] = ()
        self._stack = ExitStack()
        self._transcripts: Transcripts | None = None
        self._recorded: str | None = None
        try:
            self._transcripts = self._stack.enter_context(Transcripts.open(default_file(), tell))
            if resume is not None:
                self.resumed = (
                    self._transcripts.find(resume)
                    if resume
                    else self._transcripts.find(None, cwd=str(here()), platform=PLATFORM)
                )
        except TranscriptError as error:
            if resume is not None:
                # the caller never enters the `with` block that would close it
                self._stack.close()
                raise Failed(str(error)) from None
            tell(str(error))

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def conversation(self, session: Session, model: str) -> Conversation:
        """The conversation of a new session, or of the resumed one with its earlier messages.

        Raises:
            Failed: the earlier messages cannot be read.
        """
        if self._transcripts is None:
            return Conversation()
        # a second call means `/new`, which has ended the session before
        if self._recorded is not None:
            self.end(self._recorded, "reset")
        self._recorded = session.session_id
        recorder = self._transcripts.begin(
            session.session_id, session.session_key, session.platform, session.cwd, model
        )
        goes_on = self.resumed is not None and self.resumed.session_id == session.session_id
        try:
            self._said = self._transcripts.load(session.session_id) if goes_on else ()
            return Conversation(recorder=recorder, messages=self._said)
        except TranscriptError as error:
            raise Failed(str(error)) from None

    def last_exchange(self) -> tuple[str, str]:
        """The last words of the user and of the model in the resumed conversation.

        Each is one line and may be cut; "" stands for none.
        """
        user = answer = ""
        for message in self._said:
            if message.role == "user":
                user, answer = _line(message), ""
            elif message.role == "assistant":
                answer = _line(message) or answer
        return user, answer

    def end(self, session_id: str, reason: str) -> None:
        """Record that the session is over."""
        if self._transcripts is not None:
            self._transcripts.end(session_id, reason)


def _line(message: Message) -> str:
    return quote(" ".join((message.content or "").split()), _LINE_CHARS)
