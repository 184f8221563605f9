"""What `sliphook.blocking` and `sliphook.aio` have in common: all that returns at once.

Both are faces of the same objects in a trio loop (see `portal`). Each method of a face is named
once here; signature and docstring are those of the trio method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, TypedDict, TypeVar, cast

from sliphook.dispatch.hook_recorder import Spans
from sliphook.dispatch.outcome import Context
from sliphook.host.host import PluginHost
from sliphook.host.submissions import PluginMessages
from sliphook.plugin.spec import PluginStatus
from sliphook.session.interrupt import InterruptReason
from sliphook.session.reports import Progress
from sliphook.session.results import ToolOutcome
from sliphook.session.session import Session
from sliphook.session.submission import Submission
from sliphook.session.tool_call import BegunTool
from sliphook.session.turn import Turn
from sliphook.trace.record import TraceSink

from .blocks import OpenBlock
from .portal import HostClosed, Portal

T = TypeVar("T")
R = TypeVar("R")
M = TypeVar("M")
F = TypeVar("F")
P = ParamSpec("P")


class HostSettings(TypedDict, total=False):
    """The settings of `PluginHost` that are the same in every face; it documents them."""

    name: str
    on_notify: Callable[[str, str, str], None] | None
    on_progress: Callable[[Progress], None] | None
    on_log: Callable[[str, str, str], None] | None
    on_problem: Callable[[str, str], None] | None
    on_submit: Callable[[Submission], object] | None
    plugin_messages: PluginMessages
    providers: Mapping[str, str | None] | None
    reserved_tools: Iterable[str]
    reserved_commands: Iterable[str]
    timeout_cap_s: float | None
    trace: TraceSink | None
    spans: Spans | None
    data_home: Path | None
    log_dir: Path | None


def delivered(
    settings: HostSettings, deliver: Callable[[Callable[[], None]], None]
) -> HostSettings:
    """The same settings, with callbacks that hand each call to `deliver`."""
    changed = cast("dict[str, Any]", settings.copy())
    for name in ("on_notify", "on_progress", "on_log", "on_problem", "on_submit"):
        if changed.get(name) is not None:
            changed[name] = partial(_hand_over, deliver, changed[name])
    return cast("HostSettings", changed)


def _hand_over(
    deliver: Callable[[Callable[[], None]], None], callback: Callable[..., None], *args: Any
) -> None:
    deliver(partial(callback, *args))


class Face(Generic[T]):
    """The outside of one object in the loop.

    Attributes:
        inner: the object of the trio face; for a child's turn only after it is entered.
        block: its block in the loop.
    """

    inner: T
    block: OpenBlock[T]

    @property
    def portal(self) -> Portal:
        """The loop."""
        return self.block.portal


class AtOnce(Generic[T, P, R]):
    """A plain method of the trio face: returns when the loop has run it; waits for no plugin."""

    def __init__(self, method: Callable[Concatenate[T, P], R]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, face: Face[Any], owner: type[Face[Any]]) -> Callable[P, R]:
        method = self._method

        @wraps(method)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            return face.portal.at_once(partial(method, face.inner, *args, **kwargs))

        return call


class Opens(Generic[T, P, M, F]):
    """A method of the trio face that makes something to be entered: returns the face of that."""

    def __init__(
        self, method: Callable[Concatenate[T, P], M], face: Callable[[Face[Any], M], F]
    ) -> None:
        self._method = method
        self._face = face
        self.__doc__ = method.__doc__

    def __get__(self, face: Face[Any], owner: type[Face[Any]]) -> Callable[P, F]:
        method, inside = self._method, self._face

        @wraps(method)
        def make(*args: P.args, **kwargs: P.kwargs) -> F:
            return inside(face, method(face.inner, *args, **kwargs))

        return make


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

    tools = AtOnce(PluginHost.tools)
    commands = AtOnce(PluginHost.commands)
    kill = AtOnce(PluginHost.kill)
    hide = AtOnce(PluginHost.hide)

    @property
    def plugins(self) -> list[PluginStatus]:
        """Every plugin, in the order of installation, as it is now."""
        return self.portal.at_once(lambda: self.inner.plugins)


class SessionFace(Face[Session]):
    """The members of a session that return at once."""

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
        try:
            return self.portal.at_once(partial(self.inner.interrupt, reason, invalidation_reason))
        # a signal handler may come when all is over: then there is nothing to interrupt
        except HostClosed:
            return False

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
    """The members of a turn that return at once."""

    post_llm_call = AtOnce(Turn.post_llm_call)
    llm_call_failed = AtOnce(Turn.llm_call_failed)
    finish = AtOnce(Turn.finish)

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
