"""Pure: what the text at a chat's prompt is for: a message, or the answer to one question."""

from __future__ import annotations

from sliphook.agent.chat.commands import parse_slash
from sliphook.agent.ui.filling import Question

__all__ = ["Typed"]


class Typed:
    """A text answers the question that stood there when it was typed, and no other one.

    Attributes:
        question: the question at the prompt; None: a message is typed.
    """

    def __init__(self) -> None:
        self.question: Question | None = None
        self._answered = False
        self._message = ""

    def accepted(self, typed: str) -> None:
        """It is sent; what follows is not for this question, unless it was a slash command."""
        self._answered = self._answered or parse_slash(typed) is None

    def refused(self) -> None:
        """The answer was not taken: what follows is for this question again."""
        self._answered = False

    def turn_to(self, question: Question | None, typed: str) -> str:
        """Another question comes, or none is left.

        Args:
            question: what is asked now.
            typed: the text at the prompt.

        Returns:
            The text for the prompt: a begun message waits until nothing is asked any more. The
            begun answer to a question that is over is gone.
        """
        if self.question is None or self._answered:
            self._message += typed
        self.question, self._answered = question, False
        if question is not None:
            return ""
        typed, self._message = self._message, ""
        return typed
