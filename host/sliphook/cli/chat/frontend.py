"""What a chat needs of the place where a person reads and writes: the terminal's screen, or plain lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sliphook.agent.chat.replies import PendingMessage
    from sliphook.agent.ui.display import LineDisplay
    from sliphook.agent.ui.questions import Question

__all__ = ["ChatFrontend", "Listener"]


class Listener(Protocol):
    """Who hears what the person does. Called in the loop; nothing here waits."""

    def line(self, text: str) -> PendingMessage | None:
        """A line was typed; the message that it became, or None where it was for the program."""
        ...

    def stop(self, dropped: int) -> None:
        """The person said `/stop`; so many messages that waited their turn at the face were dropped."""
        ...

    def ctrl_c(self, *, typed: bool) -> None:
        """Ctrl+C was pressed; `typed`: something stood at the prompt."""
        ...

    def end(self) -> None:
        """The person has no more to say."""
        ...

    def gone(self) -> None:
        """The terminal was closed."""
        ...


class ChatFrontend(Protocol):
    """Where the person is. Everything but `talk` is called in the loop and must not wait.

    Attributes:
        display: where the agent shows things.
        asks: the person can be asked.
        write: takes whole lines of the trace, from any thread; None: they go to stderr.
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

    async def talk(self, listener: Listener) -> None:
        """Tell `listener` what the person does, until it is cancelled or the person has gone."""
        ...

    def say(self, text: str) -> None:
        """Show the reply to a command."""

    def ask(self, question: Question | None) -> None:
        """Put a question, or take it back."""

    def working(self, busy: bool) -> None:
        """Something is under way, or nothing any more."""

    def progress(self, line: str) -> None:
        """How far a plugin has come, in a few words."""

    def offer(self, commands: Mapping[str, str]) -> None:
        """The slash commands that there are, with what they do."""

    def forget_typed(self) -> None:
        """Empty the prompt."""
