"""Questions to the person: plugins' `ask` by Hermes's own approval, and Hermes's own questions."""

from __future__ import annotations

import importlib
import threading
from typing import Any, Final

from sliphook import ApprovalRequest
from sliphook.blocking import Turn

from .run import CURRENT

_YES: Final = frozenset(["once", "session", "always"])
"""Choices of Hermes's approval; the others are no, but for one without an answer."""
_UNANSWERED: Final = "timeout"


class Approvals:
    """Both ways of asking."""

    def __init__(self) -> None:
        self._ours = threading.local()
        self._open: dict[tuple[int, str], tuple[Turn, str]] = {}

    def approve(self, request: ApprovalRequest) -> bool:
        """A plugin answered `ask`: Hermes asks the person, in the thread of the call."""
        ask: Any = importlib.import_module("tools.approval").request_tool_approval
        self._ours.asking = True
        try:
            # no `rule_key`: "always" is for this prompt, not for all that plugins may ask
            said: dict[str, Any] = ask(request.tool_name, request.prompt)
            return said["approved"] is True
        finally:
            self._ours.asking = False

    def required(
        self, command: str = "", description: str = "", surface: str = "", **_: Any
    ) -> None:
        """Hermes's hook `pre_approval_request`: Hermes asks the person by itself.

        It waits for the person, so plugins are told and cannot answer.
        """
        run = CURRENT.get()
        # smart: a model is asked, and if it does not decide, nothing tells that it is over
        if surface == "smart" or run is None or getattr(self._ours, "asking", False):
            return
        told = run.turn.tell_question("question", description or command)
        self._open[threading.get_ident(), command] = (run.turn, told)

    def received(self, command: str = "", choice: str = "", **_: Any) -> None:
        """Hermes's hook `post_approval_response`."""
        told = self._open.pop((threading.get_ident(), command), None)
        if told is not None:
            turn, question = told
            turn.end_question(question, allowed=None if choice == _UNANSWERED else choice in _YES)
