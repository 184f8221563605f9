"""The members that return at once, of the faces that are no trio: hosts, sessions, turns, calls.

Each is the outside of an object of the trio face, which documents it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Literal, TypeVar

from sliphook.dispatch.outcome import Context
from sliphook.host.host import PluginHost
from sliphook.plugin.spec import PluginStatus
from sliphook.session.interrupt import InterruptReason
from sliphook.session.results import ToolOutcome
from sliphook.session.session import Session
from sliphook.session.tool_call import BegunTool
from sliphook.session.turn import Turn

from .blocks import OpenBlock
from .portal import HostClosed
from .proxies import AtOnce, Face, hand_over

R = TypeVar("R")


class BegunToolFace(Face[BegunTool]):
    """The members of a tool call that return at once."""

    def __init__(self, turn: Face[Any], inner: BegunTool) -> None:
        self.inner = inner
        self.block = turn.block

    @property
    def call_id(self) -> str:
        """The host's id of the call."""
        return self.inner.call_id

    @property
    def name(self) -> str:
        """The tool."""
        return self.inner.name

    @property
    def arguments(self) -> dict[str, Any]:
        """What the tool is to run with: plugins may have replaced it."""
        return self.inner.arguments

    @property
    def outcome(self) -> ToolOutcome | None:
        """What the call came to; None while it is open."""
        return self.inner.outcome


class HostFace(Face[PluginHost]):
    """The members of a host that return at once."""

    tools = AtOnce(PluginHost.tools, early=True)
    commands = AtOnce(PluginHost.commands)
    hears = AtOnce(PluginHost.hears)
    kill = AtOnce(PluginHost.kill)
    hide = AtOnce(PluginHost.hide, early=True)

    @property
    def plugins(self) -> list[PluginStatus]:
        """Every plugin, in the order of installation, as it is now."""
        return self.portal.at_once(lambda: self.inner.plugins)


def _interrupt(
    face: Face[Any],
    interrupt: Callable[[InterruptReason, str], R],
    reason: InterruptReason,
    invalidation_reason: str,
) -> R | Literal[False]:
    try:
        return face.portal.at_once(partial(interrupt, reason, invalidation_reason))
    # a signal handler may come when all is over: then there is nothing to interrupt
    except HostClosed:
        return False


class SessionFace(Face[Session]):
    """The members of a session that return at once.

    Attributes:
        open_turns: the faces of the turns that are entered, children's too.
    """

    def __init__(
        self,
        parent: Face[Any],
        inner: Session,
        deliver: Callable[[Callable[[], None]], None],
    ) -> None:
        self.inner = inner
        self.open_turns: set[Any] = set()
        self.block = OpenBlock(parent.portal, inner, on_given_up=self._abandon)
        if inner.on_interrupt is not None:
            inner.on_interrupt = partial(hand_over, deliver, inner.on_interrupt)

    def _abandon(self) -> None:
        # what was not left: a turn that was entered without a block, a child in the background
        if not self.inner.ended:
            self.inner.interrupt_all("shutdown")

    reset = AtOnce(Session.reset)
    end = AtOnce(Session.end)
    notification = AtOnce(Session.notification)
    drop_submission = AtOnce(Session.drop_submission)
    take_injected: AtOnce[Session, [], list[Context]] = AtOnce(Session.take_injected)

    def interrupt(
        self, reason: InterruptReason = "user_stop", invalidation_reason: str = "host_interrupt"
    ) -> bool:
        """Abandon the open turn now; may be called from any thread, from a signal handler too.

        When this returns, all is done that `Session.interrupt` of the trio face does. Calls of the
        turn that wait are being woken.

        Returns:
            False if no turn is open.
        """
        return _interrupt(self, self.inner.interrupt, reason, invalidation_reason)

    def interrupt_all(
        self, reason: InterruptReason = "user_stop", invalidation_reason: str = "host_interrupt"
    ) -> None:
        """The same, with the children that work in the background."""
        _interrupt(self, self.inner.interrupt_all, reason, invalidation_reason)

    @property
    def ended(self) -> bool:
        """`session_end` has been told."""
        return self.inner.ended

    @property
    def session_id(self) -> str:
        """Unique; another after `reset`."""
        return self.inner.session_id

    @property
    def session_key(self) -> str | None:
        """The agent's own name for the conversation."""
        return self.inner.session_key

    @property
    def turn_count(self) -> int:
        """Turns opened so far, children's not counted."""
        return self.inner.turn_count


class TurnFace(Face[Turn]):
    """The members of a turn that return at once.

    Attributes:
        home: the session's block, in which a child runs that works in the background.
        open_turns: the session's.
    """

    def __init__(
        self,
        parent: Face[Any],
        manager: AbstractAsyncContextManager[Turn],
        *,
        background: bool = False,
        on_cancelled: Callable[[], None] | None = None,
    ) -> None:
        assert isinstance(parent, SessionFace | TurnFace), "a session or a turn makes it"
        self.home: OpenBlock[Any] = parent.home if isinstance(parent, TurnFace) else parent.block
        self.open_turns: set[Any] = parent.open_turns
        self.block = OpenBlock(
            parent.portal,
            manager,
            parent=self.home if background else parent.block,
            on_cancelled=on_cancelled,
        )
        if isinstance(manager, Turn):
            self.inner = manager

    def interrupt(
        self, reason: InterruptReason = "user_stop", invalidation_reason: str = "host_interrupt"
    ) -> bool:
        """Abandon this turn now, a child's alone; from any thread (see `Session.interrupt`).

        Returns:
            False if it is not open.
        """
        return _interrupt(self, self.inner.interrupt, reason, invalidation_reason)

    post_llm_call = AtOnce(Turn.post_llm_call)
    llm_call_failed = AtOnce(Turn.llm_call_failed)
    finish = AtOnce(Turn.finish)
    tell_question = AtOnce(Turn.tell_question)
    end_question = AtOnce(Turn.end_question)

    # read in the caller's thread: single attributes, for which the loop need not be asked
    @property
    def turn_id(self) -> str:
        """Unique."""
        return self.inner.turn_id

    @property
    def index(self) -> int:
        """From 1, in the session."""
        return self.inner.index

    @property
    def agent_depth(self) -> int:
        """0 for the root agent."""
        return self.inner.agent_depth

    @property
    def outcome(self) -> str | None:
        """How it ended; None while it is open."""
        return self.inner.outcome

    @property
    def ended(self) -> bool:
        """Its end has been told: nothing more is asked for it."""
        return self.inner.ended

    @property
    def interrupted(self) -> bool:
        """The turn was abandoned.

        True as soon as `interrupt` has returned, while the block is still open.
        """
        return self.inner.interrupted

    @property
    def tools_begun(self) -> set[str]:
        """`model_call_id` of the tool calls that began to run."""
        return self.inner.tools_begun

    @property
    def continued_by(self) -> tuple[str, ...]:
        """The plugins because of which the turn last went on, see `stop`."""
        return self.inner.continued_by

    @property
    def last_assistant_message(self) -> str | None:
        """The model's last text, from `post_llm_call`."""
        return self.inner.last_assistant_message

    @property
    def context(self) -> list[Context]:
        """In a child: its system text, from `subagent_start`."""
        return self.inner.context

    @property
    def summary(self) -> str | None:
        """In a child: what it reports, to be set by the agent."""
        return self.inner.summary

    @summary.setter
    def summary(self, text: str | None) -> None:
        self.inner.summary = text
