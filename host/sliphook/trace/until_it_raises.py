"""Calls into the agent's own code that the host makes for each message: to a sink, for a span."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

from sliphook.agent_log import agent_log

_log = agent_log("sliphook")

R = TypeVar("R")
Ts = TypeVarTuple("Ts")


class UntilItRaises:
    """Calls something of the agent's until it raises: that is logged, and no call follows.

    The calls are made in the tasks that run the plugins: a fault of the agent must not end those,
    and one that comes with each message would fill the log.

    Args:
        what: the argument of the host by which the agent gave it.
        kind: its class.
    """

    def __init__(self, what: str, kind: type) -> None:
        self._what, self._kind = what, kind.__name__
        self._has_raised = False

    def call(self, function: Callable[[*Ts], R], *args: *Ts) -> R | None:
        """What the function returns; None if it raises, or a call before has raised."""
        if self._has_raised:
            return None
        try:
            return function(*args)
        except Exception:
            self._has_raised = True
            _log.exception(
                "what the agent gave as `%s` (%s) failed and is not called any more",
                self._what,
                self._kind,
            )
            return None
