"""The seam between the loop and the person in front of it: what they are asked, and what they may answer."""

from __future__ import annotations

from typing import Protocol

from sliphook.session.tool_call import ApprovalRequest


class Person(Protocol):
    """Who is asked while a turn waits.

    The loop and the host put one question of a session at a time. Both methods run inside of the
    turn: an interrupt cancels them, and they then take their question from the screen and let
    trio's Cancelled pass. Where nobody can be asked (a pipe, a job) there is no `Person`: the
    host's `approver` and the agent's `person` are None, a call that must be approved is denied, a
    turn at its limit ends, and both the user and the model are told so.
    """

    async def approve(self, request: ApprovalRequest) -> bool:
        """A plugin wants a person to decide about a tool call: may it run?

        To be given to the host: `PluginHost(..., approver=person.approve)`. `request.reasons` are
        all to be shown, and like the arguments they are others' text: quote them. Whatever is
        raised counts as no.
        """
        ...

    async def go_on(self, prompt: str) -> bool:
        """The loop has paused: at its limit of model calls, or because it goes round in circles.

        Shall it go on?

        To be given to the agent: `Agent(..., person=person)`. `prompt` is one line that says what
        happened and asks. Whatever is raised counts as no.
        """
        ...
