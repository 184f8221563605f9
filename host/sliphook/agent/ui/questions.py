"""What a person is asked, and the person who is somewhere else: a question goes out, and their next message is the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
import trio

from sliphook.quoting import quote
from sliphook.session.tool_call import ApprovalRequest

_SAID: Final = {"y": True, "yes": True, "n": False, "no": False, "": False}
_LINE_CHARS: Final = 1_000

HOW_TO_ANSWER: Final = "please answer y or n"


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a person is asked; every text is one line and safe for a terminal.

    Attributes:
        prompt: the question itself; yes or no, and nothing is no.
        call: the tool and its arguments as it would run, where it is about a tool call.
        reasons: why a person is asked, each with the plugin's name.
    """

    prompt: str
    call: str | None = None
    reasons: tuple[str, ...] = ()

    def about(self) -> tuple[str, ...]:
        """What there is to know, a line each.

        The call is among it, though it was shown when the model made it: others may have come
        since, and a plugin may have changed it.
        """
        return (*([self.call] if self.call is not None else ()), *self.reasons)

    def text(self) -> str:
        """The whole of it, for a message."""
        return "\n".join((*self.about(), f"{self.prompt} [y/N]"))


def approval(request: ApprovalRequest) -> Question:
    """The question whether a tool call may run."""
    arguments = msgspec.json.encode(request.arguments).decode()
    return Question(
        prompt=f"Run {quote(request.tool_name, 64)}?",
        call=quote(f"{request.tool_name} {arguments}", _LINE_CHARS),
        reasons=tuple(
            quote(f"{reason.plugin}: {reason.text}", _LINE_CHARS) for reason in request.reasons
        ),
    )


def going_on(prompt: str) -> Question:
    """The question whether a turn may go on."""
    return Question(prompt=quote(prompt, _LINE_CHARS))


def yes_or_no(text: str) -> bool | None:
    """What a person's words mean; None where they are neither."""
    return _SAID.get(text.strip().lower())


class Asked:
    """The `Person` of one conversation.

    Args:
        show: puts a question to them, or None: it is over, answered or not. Called in the loop;
            must not wait.
    """

    def __init__(self, show: Callable[[Question | None], None]) -> None:
        self._show = show
        self._open: trio.MemorySendChannel[bool] | None = None

    @property
    def waits(self) -> bool:
        """A question is open."""
        return self._open is not None

    def answer(self, text: str) -> bool:
        """Take the person's words for the open question; False where they are neither yes nor no, and the question stays."""
        said = yes_or_no(text)
        if said is None or self._open is None:
            return False
        self._open.send_nowait(said)
        self._over()
        return True

    async def approve(self, request: ApprovalRequest) -> bool:
        """See `Person`."""
        return await self._ask(approval(request))

    async def go_on(self, prompt: str) -> bool:
        """See `Person`."""
        return await self._ask(going_on(prompt))

    async def _ask(self, question: Question) -> bool:
        mine, answers = trio.open_memory_channel[bool](1)
        self._open = mine
        try:
            self._show(question)
            return await answers.receive()
        finally:
            if self._open is mine:
                self._over()

    def _over(self) -> None:
        self._open = None
        self._show(None)
