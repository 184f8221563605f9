"""Hermes's subagents: each is a child's turn, which may outlive the turn that began it.

Hermes's default is to run them in the background. An interrupt of the parent reaches them through
Hermes, which tells each agent that it means to stop.
"""

from __future__ import annotations

import threading
from typing import Any

from sliphook.agent_log import agent_log
from sliphook.blocking import Interrupted

from .run import CURRENT, Run

_log = agent_log(__name__)


class Subagents:
    """The children that are announced and have not begun to run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._announced: dict[str, Run] = {}  # by Hermes's session id of the child

    def announced(self, child_session_id: object, goal: object) -> None:
        """Hermes's `subagent_start`, in the thread of the parent's run.

        The child's turn is entered here: when the child runs, its parent's turn may be over.
        """
        parent = CURRENT.get()
        if parent is None or not child_session_id:
            return
        try:
            turn = parent.turn.subagent(str(goal), background=True).enter()
        except Interrupted:
            return  # Hermes tells the child to stop; if it runs all the same, as a session
        child = Run(None, parent.session, turn, is_child=True)
        child.system = [context.labelled() for context in turn.context]
        with self._lock:
            self._announced[str(child_session_id)] = child

    def take(self, agent: Any) -> Run | None:
        """The run of a child that now begins, or None: the agent is no child."""
        with self._lock:
            child = self._announced.pop(str(getattr(agent, "session_id", None)), None)
        if child is None or child.session.ended:
            return None
        child.agent = agent
        return child

    def stopped(self, child_session_id: object) -> None:
        """Hermes's `subagent_stop`: a child that never ran is over too."""
        with self._lock:
            child = self._announced.pop(str(child_session_id), None)
        if child is not None:
            child.turn.interrupt()
            child.turn.leave()
