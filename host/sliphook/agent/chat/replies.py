"""The reply to a user's message, the wait for it, and the display that collects its text."""

from __future__ import annotations

import io
from typing import Final, Literal

import msgspec
import trio

from sliphook.agent.ui.display import Display, LineDisplay, cut
from sliphook.session.state import TurnOutcome
from sliphook.session.submission import Submission
from sliphook_sdk.protocol import ToolCallRequest

_KEPT: Final = frozenset({"denied", "warning", "error"})
"""The marks of the lines that belong to a reply."""


class ChatReply(msgspec.Struct, frozen=True, kw_only=True):
    """The reply to a message.

    Attributes:
        text: the text for the user. If the agent has its own display, this is only the part that
            was not shown there.
        outcome: how the turn ended; `command` for a slash command, `answer` for the answer to a
            question, `dropped` if the message waited and was dropped, `refused` if it was not
            accepted.
    """

    text: str
    outcome: TurnOutcome | Literal["command", "answer", "dropped", "refused"]


class PendingMessage:
    """A submitted message whose reply may be outstanding.

    Attributes:
        text: what the user wrote, or the plugin.
        submission: the message of a plugin that it is, or None.
        queued: the message had to wait for the turn of another one.
        reply: the reply, or None.
    """

    def __init__(self, text: str, submission: Submission | None = None) -> None:
        self.text = text
        self.submission = submission
        self.queued = False
        self.reply: ChatReply | None = None
        self._replied = trio.Event()

    async def wait(self) -> ChatReply:
        """Wait for the reply. A caller that stops waiting does not drop the message."""
        await self._replied.wait()
        assert self.reply is not None
        return self.reply

    def settle(self, reply: ChatReply) -> None:
        """Set the reply; only the first one counts."""
        # first wins: an ending task settles once more in its `finally`, in case it was cancelled
        if self.reply is None:
            self.reply = reply
            self._replied.set()


class ReplyDisplay(LineDisplay):
    """Collects the text of a reply: the model's words, denials, warnings and errors."""

    def __init__(self) -> None:
        """Begin empty."""
        self._kept: list[str] = []
        # not a text, which would be copied for each of a million pieces
        self._text = io.StringIO()

    def text(self, delta: str) -> None:
        """See `Display`."""
        self._text.write(delta)

    def text_end(self) -> None:
        """See `Display`."""
        self._kept.append(self._text.getvalue().strip())
        self._text = io.StringIO()

    def text_abandoned(self) -> None:
        """See `Display`."""
        self._text = io.StringIO()

    def tool_ended(
        self, call: ToolCallRequest, status: str, result: str, duration_ms: float | None
    ) -> None:
        """See `Display`. Left out: the model reads the result and reacts to it."""

    def child(self, number: int, goal: str) -> Display:
        """See `Display`. Left out: a child reports to its parent, not to the user."""
        return ReplyDisplay()

    def take(self) -> str:
        """The text since the last call of this."""
        self.text_end()
        kept, self._kept = self._kept, []
        return "\n".join(filter(None, kept))

    def _line(self, mark: str, text: str) -> None:
        if mark in _KEPT:
            self.text_end()
            self._kept.append(f"{mark}: {cut(mark, text)}")


def stopped(dropped: int | None) -> str:
    """The text for the user after a `Channel.stop` that returned `dropped`."""
    return "there is nothing to stop" if dropped is None else f"stopped{and_dropped(dropped)}"


def too_many(waiting: int) -> str:
    """Why one more message is not taken."""
    return f"{waiting} wait already; /stop drops them"


def and_dropped(messages: int) -> str:
    """How many messages were dropped, as words behind others; "" if none was."""
    if not messages:
        return ""
    words = "message that waited was" if messages == 1 else "messages that waited were"
    return f"; {messages} {words} dropped"
