"""The person at the terminal of a program that runs one turn: questions on stderr, answers from stdin."""

from __future__ import annotations

import os
import sys

import trio

from sliphook.session.tool_call import ApprovalRequest

from .questions import HOW_TO_ANSWER, Question, approval, going_on, yes_or_no

_READ_BYTES = 4_096


class TerminalPerson:
    """See `Person`. A terminal that is closed says no.

    Attributes:
        is_asking: a question stands there.
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


def person_at_the_terminal() -> TerminalPerson | None:
    """Who can be asked: None where stdin or stderr is no terminal."""
    return TerminalPerson() if sys.stdin.isatty() and sys.stderr.isatty() else None


def _say(text: str) -> None:
    sys.stderr.write(text if text == "\n" else f"{text} ")
    sys.stderr.flush()


async def _line() -> str:
    """One line; empty at the end of input. The terminal gives whole lines only."""
    descriptor = sys.stdin.fileno()
    await trio.lowlevel.wait_readable(descriptor)
    try:
        return os.read(descriptor, _READ_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
