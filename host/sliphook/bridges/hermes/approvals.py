"""Questions to the person: plugins' `ask` by Hermes's own approval, and Hermes's own questions."""

from __future__ import annotations

import importlib
import logging
import queue
import threading
from typing import Any, Final

from sliphook import ApprovalRequest
from sliphook.blocking import Interrupted, Turn

from .run import CURRENT

DENIALS: Final = frozenset(["deny", "timeout", "smart_deny"])
"""Choices of Hermes's approval that are no."""
_log = logging.getLogger(__name__)


class Approvals:
    """Both ways of asking."""

    def __init__(self) -> None:
        self._ours = threading.local()
        self._open: dict[tuple[int, str], queue.SimpleQueue[bool]] = {}

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
        """Hermes's hook `pre_approval_request`: Hermes asks the person by itself."""
        run = CURRENT.get()
        # smart: a model is asked, and if it does not decide, nothing tells that it is over
        if (
            surface == "smart"
            or run is None
            or run.turn.ended
            or getattr(self._ours, "asking", False)
        ):
            return
        answer: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._open[threading.get_ident(), command] = answer
        prompt = description or command
        # the story of a question is told while one waits for its answer
        threading.Thread(
            target=_wait, args=(run.turn, prompt, answer), name="sliphook approval", daemon=True
        ).start()

    def received(self, command: str = "", choice: str = "", **_: Any) -> None:
        """Hermes's hook `post_approval_response`."""
        answer = self._open.pop((threading.get_ident(), command), None)
        if answer is not None:
            answer.put(choice not in DENIALS)


def _wait(turn: Turn, prompt: str, answer: queue.SimpleQueue[bool]) -> None:
    try:
        # Hermes waits for the person, whatever a plugin says
        turn.decide("question", prompt, lambda _: answer.get(), person_only=True)
    except Interrupted:
        return
    except Exception:
        _log.exception("a question of Hermes's could not be told")
