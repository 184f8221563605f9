"""One run of one of Hermes's agents: a turn, and what is kept of it between the seams."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import Any, Final

import msgspec

from sliphook.blocking import BegunTool, Session, Turn

from .reasons import Why


class FailedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A model call that failed, and of which the plugins are told when more is known."""

    kind: str
    message: str


class AllowedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call that plugins have allowed, and that Hermes has not run yet.

    Attributes:
        given: the arguments that the plugins were asked about.
    """

    call: BegunTool
    given: dict[str, Any]


class Run:
    """One run.

    Attributes:
        agent: Hermes's `AIAgent`.
        session, turn: where the plugins hear of it.
        is_child: it is the run of a subagent.
        ends_session: the session is this run's alone.
        context: texts of plugins for the user's message.
        system: texts of plugins for the system message.
        injected: texts that plugins have injected so far.
        why: the reason of the last interrupt that Hermes was told.
        refused: a model call was denied, so that the run ends without `stop`.
        over: Hermes runs it no more; a tool of its may run on.
        failed: a model call that failed and was not told yet.
        asked: by Hermes's id of the call, or its thread, and the tool's name.
        lock: held while `asked` changes, as tools run side by side.
    """

    def __init__(
        self,
        agent: Any,
        session: Session,
        turn: Turn,
        *,
        is_child: bool = False,
        ends_session: bool = False,
    ) -> None:
        self.agent = agent
        self.session = session
        self.turn = turn
        self.is_child = is_child
        self.ends_session = ends_session
        self.context: list[str] = []
        self.system: list[str] = []
        self.injected: list[str] = []
        self.why: Why | None = None
        self.refused = False
        self.failed: FailedCall | None = None
        self.asked: dict[tuple[str, str], AllowedCall] = {}
        self.lock = threading.Lock()
        self.over = False
        self._stopping = threading.Lock()

    def stop_agent(self) -> None:
        """Have Hermes stop: the turn was interrupted by another than Hermes."""
        with self._stopping:
            # later it would stop the agent's next run
            if not self.over and not getattr(self.agent, "_interrupt_requested", False):
                # no text: Hermes would take it for the user's next message
                self.agent.interrupt()

    def returned(self, *, for_good: bool = False) -> None:
        """Hermes has returned and looked at its flag: left over, that would end the next run.

        Args:
            for_good: the run does not go on.
        """
        with self._stopping:
            self.over = for_good
            if self.turn.interrupted and getattr(self.agent, "_interrupt_requested", False):
                self.agent.clear_interrupt()

    def tell_failed(self, *, will_retry: bool) -> None:
        """Tell of a failed model call of which nothing more became known."""
        failed, self.failed = self.failed, None
        if failed is not None:
            self.turn.llm_call_failed(
                attempt=1,
                kind=failed.kind,
                status=None,
                message=failed.message,
                will_retry=will_retry,
            )


CURRENT: Final[ContextVar[Run | None]] = ContextVar("sliphook_hermes_run", default=None)
"""The run that the code belongs to.

Hermes's session ids do not tell it: calls from `execute_code` have none, the background review has
its parent's, and a compression changes it in the middle of a run.
"""
