"""What becomes of a message that a user sent: the reply, the wait for it, and the display that collects it."""

from __future__ import annotations

from typing import Final, Literal

import msgspec
import trio

from sliphook.agent.ui.display import Display, LineDisplay, cut
from sliphook.session.turn import TurnOutcome
from sliphook_sdk.protocol import ToolCallRequest

_KEPT: Final = frozenset({"denied", "warning", "error"})
"""The marks of lines that belong into a reply."""


class ChatReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a message came to.

    Attributes:
        text: what the user reads. Where the agent shows things on a display of its own, this is
            only what was not shown there.
        outcome: how its turn ended; `command` for a slash command, `answer` for the answer to a
            question, `dropped` where it waited and was given up, `refused` where it was not taken
            at all.
    """

    text: str
    outcome: TurnOutcome | Literal["command", "answer", "dropped", "refused"]


class PendingMessage:
    """A message that was taken.

    Attributes:
        text: what the user wrote.
        queued: it had to wait for another one's turn.
        reply: what it came to; None until then.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.queued = False
        self.reply: ChatReply | None = None
        self._replied = trio.Event()

    async def wait(self) -> ChatReply:
        """Wait for the reply. To give up waiting does not give up the message."""
        await self._replied.wait()
        assert self.reply is not None
        return self.reply

    def settle(self, reply: ChatReply) -> None:
        """Say what it came to; the first word counts."""
        if self.reply is None:
            self.reply = reply
            self._replied.set()


class ReplyDisplay(LineDisplay):
    """Keeps what the user is to read, instead of showing it: the model's text, denials, warnings, errors. The rest is left out."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._kept: list[str] = []
        self._text = ""

    def text(self, delta: str) -> None:
        """See `Display`."""
        self._text += delta

    def text_end(self) -> None:
        """See `Display`."""
        self._kept.append(self._text.strip())
        self._text = ""

    def text_abandoned(self) -> None:
        """See `Display`."""
        self._text = ""

    def tool_ended(
        self, call: ToolCallRequest, status: str, result: str, duration_ms: float | None
    ) -> None:
        """See `Display`. A tool that failed is for the model to deal with."""

    def child(self, number: int, goal: str) -> Display:
        """See `Display`. What a child says is for its parent, not for the user."""
        return ReplyDisplay()

    def take(self) -> str:
        """What has come since the last time."""
        self.text_end()
        kept, self._kept = self._kept, []
        return "\n".join(filter(None, kept))

    def _line(self, mark: str, text: str) -> None:
        if mark in _KEPT:
            self.text_end()
            self._kept.append(f"{mark}: {cut(mark, text)}")
