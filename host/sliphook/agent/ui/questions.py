"""The `Person` whom an agent asks, and one who answers later.

Some users cannot be asked on the spot, such as those of a chat service: `Asked` sends the question
out and takes the next message as the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import trio

from sliphook.session.host import ApprovalRequest, AskRequest

from .filling import FilledForm, Filling, Question, approval, going_on


class Person(Protocol):
    """The user in front of an agent, who decides while a turn waits.

    The loop and the host ask one question of a session at a time. An interrupt cancels the methods,
    and so does a plugin that has answered in the user's place. They then remove their question from
    the screen and let `trio.Cancelled` pass.

    If no user can be asked (a pipe, a job), there is no `Person`: the host's `approver` and `asker`
    and the agent's `person` are None, a call that needs approval is denied, and a turn at its limit
    ends, unless a plugin may answer. Both the user and the model are told.
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

    async def ask(self, request: AskRequest) -> Any:
        """What the user answers to a plugin: a value that fits `request.form`, or None to decline.

        Pass it to the host: `PluginHost(..., asker=person.ask)`. The prompt and all texts of the
        form are the plugin's: quote them.
        """
        ...


class Asked:
    """The `Person` of one conversation: its next messages answer the open question.

    Args:
        show: sends a question out; None means that the question is over, answered or not. Called
            in the loop; must not wait.
    """

    def __init__(self, show: Callable[[Question | None], None]) -> None:
        self._show = show
        self._open: tuple[Filling, trio.Event] | None = None

    @property
    def waits(self) -> bool:
        """A question is open."""
        return self._open is not None

    def answer(self, text: str) -> str | None:
        """Take the user's words for the open question.

        Returns:
            Why they are not taken, the question then stays open; or None.
        """
        if self._open is None:
            return "no question is open"
        filling, over = self._open
        why = filling.take(text)
        if why is None and filling.over:
            over.set()
            self._over()
        elif why is None:
            self._show(filling.question)
        return why

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
        # an event: `answer` must not wait for this task
        over = trio.Event()
        mine = self._open = filling, over
        try:
            self._show(filling.question)
            await over.wait()
            return filling.answer
        finally:
            # an answer has closed it already, and the next question may be open by now
            if self._open is mine:
                self._over()

    def _over(self) -> None:
        self._open = None
        self._show(None)
