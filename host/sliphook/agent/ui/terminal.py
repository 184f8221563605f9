"""The user's terminal, for a program that runs one turn: lines in colour, questions on stderr."""

from __future__ import annotations

import os
import sys
from typing import Final

import trio
from rich.console import Console
from rich.text import Text

from sliphook.session.host import ApprovalRequest

from .display import PlainDisplay
from .questions import HOW_TO_ANSWER, Question, approval, going_on, yes_or_no

_READ_BYTES: Final = 4_096
_STYLES: Final = {
    "tool": "cyan",
    "progress": "cyan",
    "ok": "green",
    "denied": "bold yellow",
    "warning": "yellow",
    "error": "bold red",
}


class TerminalDisplay(PlainDisplay):
    """The model's text on stdout as it comes, lines on stderr in colour."""

    def __init__(self, *, whole: bool = False) -> None:
        """Use stdout and stderr; `PlainDisplay` describes `whole`."""
        super().__init__(whole=whole)
        self._console = Console(stderr=True, highlight=False)

    def _line(self, mark: str, text: str) -> None:
        self.text_end()
        super()._line(mark, text)

    def _comment(self, mark: str, text: str) -> None:
        words = Text.assemble((mark, _STYLES.get(mark, "bold")), (": " + text, "dim"))
        self._console.print(words, soft_wrap=True)


class TerminalPerson:
    """A `Person`: asks on stderr and reads from stdin. A closed terminal answers no.

    Attributes:
        is_asking: a question is open.
    """

    def __init__(self) -> None:
        self.is_asking = False

    async def approve(self, request: ApprovalRequest) -> bool:
        """See `Person`."""
        return await self._ask(approval(request))

    async def go_on(self, prompt: str) -> bool:
        """See `Person`."""
        return await self._ask(going_on(prompt))

    async def _ask(self, question: Question) -> bool:
        answer: bool | None = None
        self.is_asking = True
        try:
            _say("\n".join((*question.about(), f"{question.prompt} [y/N]")))
            while (answer := yes_or_no(await _line())) is None:
                _say(HOW_TO_ANSWER)
        except trio.Cancelled:
            _say("\n")
            raise
        finally:
            self.is_asking = False
        return answer


def _say(text: str) -> None:
    sys.stderr.write(text if text == "\n" else f"{text} ")
    sys.stderr.flush()


async def _line() -> str:
    """One line, empty at the end of input. A terminal hands out whole lines only."""
    descriptor = sys.stdin.fileno()
    # no thread: an interrupt ends this wait at once, and leaves no reader that takes the next line
    await trio.lowlevel.wait_readable(descriptor)
    try:
        return os.read(descriptor, _READ_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
