"""What an interrupt does, in one call that never waits; and how a turn is closed without one.

The order, for each plugin, is the protocol's promise (protocol.md, Cancel and interrupt):

1. the turns are marked ended; their requests that are not yet written are taken out of the queue
  and settled;
2. the session's events that still wait move to the urgent lane, so that `seq` always rises; then
  `agent_loop_stopped`;
3. a `$/cancelRequest` for each request that was written; the request is settled at once;
4. `post_tool_call` for each open tool call, `turn_end`, and for a child `subagent_stop`, innermost
  first;
5. the turn's questions to a person are over, and its cancel scope is cancelled.
"""

from __future__ import annotations

from typing import Final, Literal, cast

import msgspec
import trio

from sliphook.agent_log import agent_log
from sliphook.dispatch.fast_path import SingleFire
from sliphook.dispatch.fire import Fire
from sliphook.forks import call_ending_forks
from sliphook.plugin.supervision import Plugin
from sliphook.transport.call import Call
from sliphook.transport.connection import Connection
from sliphook.transport.outbox import WRITE_BYTES
from sliphook_sdk.protocol import CATALOGUE, Inflight

from .asking import end_questions
from .hooks import Hooks
from .results import Interruption
from .state import SessionState, TurnOutcome, TurnState
from .urgent.event import UrgentEvent

_log = agent_log(__name__)

InterruptReason = Literal[
    "user_stop", "reset", "new_message", "signal", "plugin", "shutdown", "timeout"
]
_STOPPED = CATALOGUE["agent_loop_stopped"]
_WRITTEN_BYTES: Final = 1024 * 1024
"""Of all plugins together, in the interrupt itself, at 1 ns each; what is more leaves right after.
"""


def interrupt_turns(hooks: Hooks, root: TurnState, reason: str, invalidation_reason: str) -> None:
    """Interrupt a turn and its children's: the session's open one, or a child's alone.

    If the turn was interrupted before, this only counts.
    """
    root.count_interrupt()
    if root.ended:
        return
    session, host = hooks.state, hooks.host
    turns = root.family()
    open_tools = [tool.call_id for turn in turns for tool in turn.open_tools.values()]
    llm = any(turn.llm_under_way for turn in turns)
    for turn in turns:
        # first of all: what is woken below must find the turn ended and ask nothing more for it
        turn.mark_ended("interrupted")
    # before their calls are settled: a call that is settled would begin the next round
    fires = _abandon_fires(turns)
    turn_ids = {turn.turn_id for turn in turns}
    subscribers = {one.plugin: one for one in host.subscribers(_STOPPED.name)}
    stopped = hooks.stamp_urgent(
        _STOPPED.name,
        root,
        {
            "reason": reason,
            "invalidation_reason": invalidation_reason,
            "inflight": Inflight(llm=llm, tools=[], requests=[]),
        },
    )
    span = host.recorder.span_of(stopped) if host.recorder is not None else None
    # each plugin is told which of its own requests are cancelled; equal messages are encoded once
    by_requests: dict[tuple[int, ...], UrgentEvent] = {}
    try:
        for plugin in host.all_plugins():
            connection = plugin.open_connection
            written = withdraw(plugin, connection, turn_ids)
            if connection is None:
                continue
            connection.hasten(session.session_id)
            if plugin.ready and plugin.name in subscribers:
                requests = tuple([call.id for call in written])
                if requests not in by_requests:
                    inflight = Inflight(llm=llm, tools=open_tools, requests=list(requests))
                    by_requests[requests] = UrgentEvent(
                        _STOPPED, msgspec.structs.replace(stopped, inflight=inflight), span
                    )
                item = by_requests[requests].item_for(subscribers[plugin.name])
                if item is not None:
                    connection.tell_urgently(item)
            # after `agent_loop_stopped`: the plugin reads why before it reads what to stop
            connection.give_up(written)
        _withdraw_fires(fires)
        if not subscribers and host.recorder is not None:
            host.recorder.unheard(_STOPPED.name, stopped)
        for turn in turns:
            _tell_end(hooks, turn, urgent=True)
    finally:
        # the turn is over even if the agent's own reason cannot be encoded
        hooks.send_urgent()
        connections = [plugin.open_connection for plugin in host.all_plugins()]
        share = min(WRITE_BYTES, _WRITTEN_BYTES // max(1, len(connections)))
        for connection in connections:
            if connection is not None:
                # here and now: the task that writes would have to be scheduled first
                connection.flush(share)
        session.root_closed(root)
        end_questions(turns, hooks.host.deadlines)
        root.leave()  # its parent must not end it once more
        for turn in turns:
            turn.scope.cancel()  # a child's too: it may run in a task outside of the root's block
        _call_back(session, root, reason, invalidation_reason)


def _call_back(
    session: SessionState, root: TurnState, reason: str, invalidation_reason: str
) -> None:
    """Tell the agent: it may not have been the agent that interrupted the turn."""
    if session.on_interrupt is None:
        return
    told = Interruption(
        session_id=session.session_id,
        turn_id=root.turn_id,
        reason=reason,
        invalidation_reason=invalidation_reason,
    )
    try:
        call_ending_forks(session.on_interrupt, told)
    except Exception:
        _log.exception("on_interrupt failed")


def close_turn(hooks: Hooks, turn: TurnState, outcome: TurnOutcome) -> None:
    """End a turn that was not interrupted.

    Its open children are interrupted and its open requests cancelled, then `turn_end` is told.
    """
    turns = turn.family()
    for one in turns:
        one.mark_ended(outcome if one is turn else "interrupted")
    fires = _abandon_fires(turns)
    turn_ids = {one.turn_id for one in turns}
    for plugin in hooks.host.all_plugins():
        connection = plugin.open_connection
        for call in withdraw(plugin, connection, turn_ids):
            if connection is not None:
                # not urgent: nothing is overtaken, so what was told stays in its order
                connection.cancel(call)
    _withdraw_fires(fires)
    end_questions(turns, hooks.host.deadlines)
    for one in turns:
        _tell_end(hooks, one, urgent=False)
        if one is not turn:
            # the turn's own block is being left already
            one.scope.cancel()
    if turn.parent is None:
        hooks.state.root_closed(turn)


def withdraw(plugin: Plugin, connection: Connection | None, turn_ids: set[str]) -> list[Call]:
    """Settle the plugin's requests of these turns that are not written; returns those that are."""
    plugin.pending.withdraw(turn_ids)
    return connection.withdraw(turn_ids) if connection is not None else []


def _abandon_fires(turns: list[TurnState]) -> list[Fire | SingleFire]:
    """Abandon in the order of `seq`: a hook that must not be lost is then told as an event."""
    fires = sorted((fire for turn in turns for fire in turn.fires), key=lambda fire: fire.seq)
    for fire in fires:
        fire.abandon()
    return fires


def _withdraw_fires(fires: list[Fire | SingleFire]) -> None:
    """Cancel the calls still open at plugins that the host has already removed."""
    for fire in fires:
        fire.withdraw()


def _tell_end(hooks: Hooks, turn: TurnState, *, urgent: bool) -> None:
    # a copy, because `tell_cancelled` removes the tool
    for tool in list(turn.open_tools.values()):
        hooks.tell_cancelled(turn, tool, urgent=urgent)
    if turn.submission is not None:
        hooks.tell_submission_end(turn.submission, turn.outcome, turn, urgent=urgent)
    # a child whose `subagent_start` is still being asked had no `turn_start`
    if turn.began:
        hooks.tell("turn_end", turn, urgent=urgent, **turn.over())
    if turn.parent is not None:
        # nothing comes behind the `turn_end` of a turn, and a background child may outlive it
        parent = None if turn.background and turn.parent.ended else turn.parent
        # the protocol has four words here: `max_iterations` and its like are `failed`
        status = {"completed": "completed", "denied": "denied", "interrupted": "cancelled"}.get(
            turn.outcome or "", "failed"
        )
        hooks.tell(
            "subagent_stop",
            parent,
            urgent=urgent,
            child_agent_id=turn.agent_id,
            status=status,
            still_running=turn.still_running(),
            # the agent's own attribute, which takes any value
            summary=None if turn.summary is None else str(turn.summary),
            duration_ms=turn.duration_ms(),
        )


def exit_kind(error: BaseException | None) -> Literal["none", "cancelled", "signal", "error"]:
    """What left a block; in a group a fault counts first, then a signal, then a cancellation."""
    if error is None:
        return "none"
    if isinstance(error, BaseExceptionGroup):
        inside = cast("BaseExceptionGroup[BaseException]", error).exceptions
        kinds = {exit_kind(inner) for inner in inside}
        return "error" if "error" in kinds else "signal" if "signal" in kinds else "cancelled"
    if isinstance(error, trio.Cancelled):
        return "cancelled"
    return "signal" if isinstance(error, KeyboardInterrupt) else "error"
