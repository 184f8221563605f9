"""What the user is asked: the questions, the `Person` who answers, and one who answers later.

Some users cannot be asked on the spot, such as those of a chat service: `Asked` sends the question
out and takes the next message as the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import msgspec
import trio

from sliphook.quoting import quote
from sliphook.session.host import ApprovalRequest

_SAID: Final = {"y": True, "yes": True, "n": False, "no": False, "": False}
_LINE_CHARS: Final = 1_000

HOW_TO_ANSWER: Final = "please answer y or n"


class Person(Protocol):
    """The user in front of an agent, who decides while a turn waits.

    The loop and the host ask one question of a session at a time. Both methods run inside the turn:
    an interrupt cancels them. They then remove their question from the screen and let
    `trio.Cancelled` pass.

    If no user can be asked (a pipe, a job), there is no `Person`: the host's `approver` and the
    agent's `person` are None, a call that needs approval is denied, and a turn at its limit ends.
    Both the user and the model are told.
    """

    async def approve(self, request: ApprovalRequest) -> bool:
        """Whether a tool call may run; a plugin wants the user to decide.

        Pass it to the host: `PluginHost(..., approver=person.approve)`. Show all of
        `request.reasons`. They and the arguments come from plugins and models: quote them. Any
        exception counts as no.
        """
        ...

    async def go_on(self, prompt: str) -> bool:
        """Whether a paused turn may go on: it is at its limit of model calls, or goes in circles.

        Pass the person to the agent: `Agent(..., person=person)`. `prompt` is one line that says
        what happened and asks. Any exception counts as no.
        """
        ...


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question with yes and no as answers; every text is one line and safe for a terminal.

    Attributes:
        prompt: the question itself; an empty answer is no.
        call: the tool and its arguments as it would run, if the question is about a tool call.
        reasons: why the user is asked, each with the plugin's name.
    """

    prompt: str
    call: str | None = None
    reasons: tuple[str, ...] = ()

    def about(self) -> tuple[str, ...]:
        """What the user has to know, as lines.

        The call is among them although the user has seen it when the model made it: other lines
        may have followed since, and a plugin may have changed it.
        """
        return (*([self.call] if self.call is not None else ()), *self.reasons)

    def text(self) -> str:
        """The whole question as a message."""
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
    """What the user's words mean; None if they are neither yes nor no."""
    return _SAID.get(text.strip().lower())


class Asked:
    """The `Person` of one conversation: its next message answers the open question.

    Args:
        show: sends a question out; None means that the question is over, answered or not. Called
            in the loop; must not wait.
    """

    def __init__(self, show: Callable[[Question | None], None]) -> None:
        self._show = show
        self._open: trio.MemorySendChannel[bool] | None = None

    @property
    def waits(self) -> bool:
        """A question is open."""
        return self._open is not None

    def answer(self, text: str) -> bool:
        """Take the user's words for the open question.

        Returns:
            False if they are neither yes nor no; the question then stays open.
        """
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
        # room for one: `answer` must not wait for this task
        mine, answers = trio.open_memory_channel[bool](1)
        self._open = mine
        try:
            self._show(question)
            return await answers.receive()
        finally:
            # an answer has closed it already, and the next question may be open by now
            if self._open is mine:
                self._over()

    def _over(self) -> None:
        self._open = None
        self._show(None)
