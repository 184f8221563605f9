"""A person who is somewhere else: a question goes out, and their next message is the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import msgspec
import trio

from sliphook.quoting import quote
from sliphook.toolcall import ApprovalRequest

_SAID: Final = {"y": True, "yes": True, "n": False, "no": False, "": False}
_LINE_CHARS: Final = 1_000

HOW_TO_ANSWER: Final = "please answer y or n"


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a person is asked; every text is one line and safe for a terminal.

    Attributes:
        kind: `approval` of a tool call, or whether a turn may go on.
        lines: what there is to know before: the call's arguments, the reasons of plugins.
        prompt: the question itself; yes or no, and nothing is no.
    """

    kind: Literal["approval", "go_on"]
    lines: tuple[str, ...]
    prompt: str

    def text(self) -> str:
        """The whole of it, for a message."""
        return "\n".join((*self.lines, f"{self.prompt} [y/N]"))


class Asked:
    """The `Person` of one conversation.

    Args:
        show: puts a question to them, or None: it is over, answered or not. Called in the loop; must not wait.
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
        said = _SAID.get(text.strip().lower())
        if said is None or self._open is None:
            return False
        self._open.send_nowait(said)
        self._over()
        return True

    async def approve(self, request: ApprovalRequest) -> bool:
        """See `Person`."""
        arguments = msgspec.json.encode(request.arguments).decode()
        lines = [f"{request.tool_name} {arguments}", *(f"{reason.plugin}: {reason.text}" for reason in request.reasons)]
        quoted = tuple(quote(line, _LINE_CHARS) for line in lines)
        return await self._ask(Question(kind="approval", lines=quoted, prompt=f"Run {quote(request.tool_name, 64)}?"))

    async def go_on(self, prompt: str) -> bool:
        """See `Person`."""
        return await self._ask(Question(kind="go_on", lines=(), prompt=quote(prompt, _LINE_CHARS)))

    async def _ask(self, question: Question) -> bool:
        self._open, answers = trio.open_memory_channel[bool](1)
        try:
            self._show(question)
            return await answers.receive()
        finally:
            self._over()

    def _over(self) -> None:
        if self._open is not None:
            self._open = None
            self._show(None)
