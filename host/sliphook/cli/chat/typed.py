"""Pure: what the text at a chat's prompt is for: a message, or the answer to one question."""

from __future__ import annotations

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

    def accepted(self) -> None:
        """What was typed is sent; what follows is not for this question."""
        self._answered = True

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
