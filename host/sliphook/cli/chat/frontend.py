"""The protocols between a chat and its frontend: the terminal's screen, or plain lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sliphook.agent.chat.replies import PendingMessage
    from sliphook.agent.ui.display import LineDisplay
    from sliphook.agent.ui.filling import Question
    from sliphook.trace.record import TraceSink

__all__ = ["ChatFrontend", "Listener"]


class Listener(Protocol):
    """Takes what the user does. The frontend calls it in the loop; no method waits."""

    def line(self, text: str, *, answers: bool | None = None) -> PendingMessage | None:
        """The user typed a line; returns its message, or None if the line was for the program.

        `answers` is that of `Channel.submit`.
        """
        ...

    def stop(self, dropped: int) -> None:
        """The user typed `/stop`, and the frontend dropped so many lines from its own queue."""
        ...

    def ctrl_c(self, *, typed: bool) -> None:
        """The user pressed Ctrl+C; `typed`: there was text at the prompt."""
        ...

    def end(self) -> None:
        """The user ended the input."""
        ...

    def gone(self) -> None:
        """The terminal was closed."""
        ...


class ChatFrontend(Protocol):
    """Reads from the user and shows things. All methods but `talk` run in the loop and never wait.

    Attributes:
        display: shows the agent.
        asks: the user can be asked questions.
        write: shows whole lines of the trace, from any thread; None writes them to stderr.
    """

    @property
    def display(self) -> LineDisplay:
        """See above."""
        ...

    @property
    def asks(self) -> bool:
        """See above."""
        ...

    @property
    def write(self) -> Callable[[str], object] | None:
        """See above."""
        ...

    def follow(self, trace: TraceSink | None) -> None:
        """Show what comes from now on behind the records that a live trace has not shown yet."""

    async def talk(self, listener: Listener) -> None:
        """Call `listener` for what the user does, until a cancel or the end of the input."""
        ...

    def say(self, text: str) -> None:
        """Show the reply to a command."""

    def ask(self, question: Question | None) -> None:
        """Show a question, or remove it (None)."""

    def working(self, busy: bool) -> None:
        """Show whether a turn or a command runs."""

    def progress(self, line: str) -> None:
        """Show a plugin's progress, a few words."""

    def offer(self, commands: Mapping[str, str]) -> None:
        """Complete these slash commands; the values say what they do."""

    def forget_typed(self) -> None:
        """Empty the prompt."""
