"""The user's terminal, for a program that runs one turn: lines in colour, questions on stderr."""

from __future__ import annotations

import contextlib
import os
import sys
import termios
from typing import Any, Final, TextIO

import trio
from rich.console import Console
from rich.text import Text

from sliphook.session.host import ApprovalRequest, AskRequest

from .display import PlainDisplay
from .filling import FilledForm, Filling, approval, going_on

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

    def __init__(self, err: TextIO | None = None, *, whole: bool = False) -> None:
        """Use stdout and stderr; `PlainDisplay` describes the arguments."""
        super().__init__(err=err, whole=whole)
        self._console = Console(file=self._err, highlight=False)

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
        return bool(await self._ask(approval(request)))

    async def go_on(self, prompt: str) -> bool:
        """See `Person`."""
        return bool(await self._ask(going_on(prompt)))

    async def ask(self, request: AskRequest) -> Any:
        """See `Person`."""
        return await self._ask(FilledForm(request))

    async def _ask(self, filling: Filling) -> Any:
        self.is_asking = True
        _forget_typed()
        try:
            while not filling.over:
                _say(filling.question.text())
                while (line := await _line()) and (why := filling.take(line)) is not None:
                    _say(why)
                if not line:
                    filling.decline()
        except trio.Cancelled:
            _say("\n")
            raise
        finally:
            self.is_asking = False
        return filling.answer


def _forget_typed() -> None:
    """Drop what was typed for an earlier question, which a plugin may have answered."""
    with contextlib.suppress(termios.error, ValueError, OSError):  # no terminal
        terminal = sys.stdin.fileno()
        if os.tcgetpgrp(terminal) == os.getpgrp():  # else the system would stop this job
            termios.tcflush(terminal, termios.TCIFLUSH)


def _say(text: str) -> None:
    sys.stderr.write(text if text == "\n" else f"{text} ")
    sys.stderr.flush()


async def _line() -> str:
    """One line with its end; empty at the end of input. A terminal hands out whole lines only."""
    descriptor = sys.stdin.fileno()
    # no thread: an interrupt ends this wait at once, and leaves no reader that takes the next line
    await trio.lowlevel.wait_readable(descriptor)
    try:
        return os.read(descriptor, _READ_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
