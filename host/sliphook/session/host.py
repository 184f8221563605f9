"""What a session needs of the host."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from sliphook.agent_log import agent_log
from sliphook.dispatch.audience import Subscriber
from sliphook.dispatch.broadcast import Listeners
from sliphook.dispatch.hook_recorder import HookRecorder
from sliphook.dispatch.outcome import Outcome, Reason
from sliphook.forks import Home, call_ending_forks
from sliphook.plugin.supervision import Plugin
from sliphook.transport.deadlines import Deadlines

from .arguments.plain import check_flag
from .plugin_calls import PluginCalls
from .questions.form import Form

_log = agent_log(__name__)


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a person is asked to decide."""

    session_id: str
    turn_id: str
    call_id: str
    tool_name: str
    arguments: dict[str, Any]
    reasons: tuple[Reason, ...]
    prompt: str


Approver = Callable[[ApprovalRequest], Awaitable[bool]]
"""Asks a person; True allows. Runs inside the turn, so an interrupt cancels it.

One question of a session at a time.
"""


class AskRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a plugin asks a person. The texts are the plugin's: quote them.

    Attributes:
        session_id: the session.
        turn_id: the open turn.
        question_id: the same as plugins are told.
        call_id: the tool call that it is about, or None.
        plugin: who asks.
        prompt: the question.
        form: what the answer has to be.
    """

    session_id: str
    turn_id: str
    question_id: str
    call_id: str | None
    plugin: str
    prompt: str
    form: Form


Asker = Callable[[AskRequest], Awaitable[object]]
"""Asks a person for a plugin; returns a value that fits `form`, or None if the person declines.

`form.why_not` says whether a value fits. It is cancelled when the question is over. Raises
`HostError` if no one can be asked; plugins that may `approve` can still answer then.
"""
CanAsk = Callable[[AskRequest], bool]
"""Whether someone can be asked that now. Never waits."""


class People(NamedTuple):
    """How the agent asks people; `PluginHost` documents each.

    Attributes:
        approver: asks whether a tool may run, or None.
        approver_queues: it may be called while it still asks.
        asker: asks for a plugin, or None.
        can_ask: whether the asker can; None: always.
    """

    approver: Approver | None = None
    approver_queues: bool = False
    asker: Asker | None = None
    can_ask: CanAsk | None = None

    def asker_of(self, request: AskRequest) -> Asker | None:
        """Asks someone about this; None if no one can be asked."""
        try:
            can = self.can_ask is None or call_ending_forks(self.can_ask, request)
            # the coroutine of an async function would count as true
            check_flag("what it returns", can)
        except Exception:
            _log.exception("can_ask failed, so no one is asked")
            can = False
        return self.asker if can else None


class SessionHost(Protocol):
    """What a session needs of the host.

    Attributes:
        home: where the host was opened.
        people: how the agent asks people.
        deadlines: the timeouts of all calls.
        recorder: records hooks, or None.
        plugins_by_name: the plugins whose manifest is known.
        plugin_calls: runs the plugins' tools and commands.
    """

    home: Home
    people: People
    deadlines: Deadlines
    recorder: HookRecorder | None
    plugins_by_name: Mapping[str, Plugin]
    plugin_calls: PluginCalls

    def all_plugins(self) -> Sequence[Plugin]:
        """Those plugins, and removed ones that are still being ended: calls may be open there."""
        ...

    def subscribers(self, name: str) -> Sequence[Subscriber]:
        """The subscribers of a hook or event."""
        ...

    def listeners(self, name: str) -> Sequence[Listeners]:
        """The subscribers whose plugin is ready."""
        ...

    def hook_answered(self, name: str, outcome: Outcome) -> None:
        """Report the failed answers of a hook that is over, if nothing else shows them."""
        ...

    def refused_to_go_on(self, outcome: Outcome, times: int) -> None:
        """Report that a `continue_with` is ignored: the turn has gone on so many times."""
        ...

    def answered(self, plugin: Plugin, prompt: str, choice: str) -> None:
        """Tell the user that a plugin has answered a question in their place."""
        ...

    def asked_nobody(self, plugin: Plugin, prompt: str) -> None:
        """Tell the user that a plugin has asked, and that no one can be asked."""
        ...

    def start_soon(self, function: Callable[..., Awaitable[object]], *args: object) -> None:
        """Run an async function in a task of the host's; it may raise nothing but Cancelled."""
        ...
