"""What the agent itself asks its person: plugins are told of the questions and of their ends."""

from __future__ import annotations

from collections import deque
from typing import Final

from sliphook import Turn
from sliphook.adapters.dialects.told import ElicitationAnswered, Elicited
from sliphook.adapters.relayed.messages import SERVER
from sliphook_sdk.protocol.limits import MAX_PROMPT_CHARS

from .calls import OpenCall

MOST_OPEN: Final = 100
_ACTIONS: Final = {"accept": True, "decline": False}


class Prompts:
    """The open questions of one agent session. Those of a turn that ends are over with it."""

    def __init__(self) -> None:
        self._of_no_call: deque[tuple[Turn, str]] = deque()
        self._of_servers: deque[tuple[str, Turn, str]] = deque()

    def permission(self, turn: Turn, prompt: str, call: OpenCall | None) -> None:
        """The agent asks whether a tool may run.

        Args:
            turn: in which.
            prompt: what the person is asked.
            call: the call that waits; None: it is not known.
        """
        if call is None:
            if len(self._of_no_call) == MOST_OPEN:
                _end(*self._of_no_call.popleft())
            self._of_no_call.append((turn, turn.tell_question("approval", _short(prompt))))
        else:
            call.ask_person(_short(prompt))

    def answered(self, allowed: bool | None) -> None:
        """The person has answered what was asked about a call that is not known."""
        while self._of_no_call:
            turn, question = self._of_no_call.popleft()
            turn.end_question(question, allowed=allowed)

    def elicited(self, told: Elicited, turn: Turn) -> None:
        """An MCP server asks something."""
        if told.server == SERVER:
            return  # it asks for a plugin; plugins have been told of it
        if len(self._of_servers) == MOST_OPEN:
            _end(*self._of_servers.popleft()[1:])
        question = turn.tell_question("question", _short(f"{told.server}: {told.message}"))
        self._of_servers.append((told.server, turn, question))

    def elicitation_answered(self, told: ElicitationAnswered) -> None:
        """The person has answered the oldest question of an MCP server."""
        for one in self._of_servers:
            server, turn, question = one
            if server == told.server:
                self._of_servers.remove(one)
                turn.end_question(question, allowed=_ACTIONS.get(told.action))
                return


def _end(turn: Turn, question: str) -> None:
    """There is no room for it: of its end nothing more is known."""
    turn.end_question(question, allowed=None)


def _short(prompt: str) -> str:
    return prompt if len(prompt) <= MAX_PROMPT_CHARS else f"{prompt[: MAX_PROMPT_CHARS - 1]}…"
