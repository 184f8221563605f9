"""The answer that a plugin gives in place of the model's, and its text that is shown before."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import trio

from sliphook.agent.models.base import Finish, in_pieces
from sliphook_sdk.protocol import Message

from .answer import Answer, interrupted
from .turn import AgentTurn

if TYPE_CHECKING:
    from sliphook.session.results import LlmGate


class Streamed:
    """The text that plugins send while they make a substitute, shown as it comes.

    Give it to `Turn.pre_llm_call` as `on_text`.
    """

    def __init__(self, now: AgentTurn) -> None:
        self._now = now
        self._text = io.StringIO()

    def __call__(self, text: str) -> None:
        """Show the next piece."""
        self._text.write(text)
        for piece in in_pieces(text):
            self._now.display.text(piece)

    def interrupted(self) -> None:
        """The turn was interrupted: what was shown stays in the conversation."""
        if self._text.tell():
            interrupted(self._now, self._text.getvalue())

    def rest_of(self, message: Message | None) -> str:
        """What is still to be shown of a substitute; None: there is none.

        What was shown is abandoned if it is not how the substitute begins.
        """
        shown, content = self._text.getvalue(), (message.content if message else None) or ""
        if content.startswith(shown):
            return content[len(shown) :]
        self._now.display.text_abandoned()
        return content


async def show(now: AgentTurn, gate: LlmGate, message: Message, rest: str) -> Answer:
    """Show the rest of a substitute, and return it as an answer."""
    if message.content:
        try:
            for piece in in_pieces(rest):
                now.display.text(piece)
                await trio.lowlevel.checkpoint()
        finally:
            now.display.text_end()
    return Answer(
        message=message,
        finish=Finish(reason=gate.finish_reason, usage=gate.usage),
        unreadable={},
        on_offer=[tool.name for tool in gate.tools],
    )
