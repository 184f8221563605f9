"""What an interrupt does, all of it in one call that never waits; and how a turn is closed without one.

The order, for each plugin, is the protocol's promise (protocol.md, Interrupts):

1. the turns are marked ended; their requests that are not yet written are taken out of the queue
  and settled;
2. the session's events that still wait move to the urgent lane, so that `seq` always rises; then
  `agent_loop_stopped`;
3. a `$/cancelRequest` for each request that was written, which is settled here and now;
4. `post_tool_call` for each open tool call, `turn_end`, and for a child `subagent_stop`, innermost
  first;
5. the turn's cancel scope is cancelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from sliphook.dispatch.broadcast import Broadcast
from sliphook_sdk.protocol import CATALOGUE, Inflight

if TYPE_CHECKING:
    from sliphook.dispatch.fast_path import SingleFire
    from sliphook.dispatch.fire import Fire
    from sliphook.plugin.supervision import Plugin
    from sliphook.transport.call import Call

    from .turn import Turn, TurnOutcome

_STOPPED = CATALOGUE["agent_loop_stopped"]


def interrupt_turns(root: Turn, reason: str, invalidation_reason: str) -> None:
    """Interrupt a session's open turn and its children's.

    A turn that was interrupted before is only counted.
    """
    root.interrupt_count += 1
    if root.ended:
        return
    session = root.session
    turns = root.family()
    open_tools = [tool.call_id for turn in turns for tool in turn.open_tools.values()]
    llm = any(turn.llm_under_way for turn in turns)
    for turn in turns:
        turn.ended = True
        turn.outcome = "interrupted"
    fires = _abandon_fires(turns)
    turn_ids = {turn.turn_id for turn in turns}
    subscribers = {one.plugin: one for one in session.host.subscribers(_STOPPED.name)}
    stopped = session.stamp(
        _STOPPED.name,
        root,
        reason=reason,
        invalidation_reason=invalidation_reason,
        inflight=Inflight(llm=llm, tools=[], requests=[]),
    )
    recorder = session.host.recorder
    span = recorder.span_of(stopped) if recorder is not None else None
    announcements: dict[
        tuple[int, ...], Broadcast
    ] = {}  # by the requests that are under way at a plugin
    try:
        for plugin in session.host.everybody():
            written = withdraw(plugin, turn_ids)
            connection = plugin.open_connection
            if connection is not None:
                connection.hasten(session.session_id)
            if connection is not None and plugin.ready and plugin.name in subscribers:
                requests = tuple(call.id for call in written)
                if requests not in announcements:
                    inflight = Inflight(llm=llm, tools=open_tools, requests=list(requests))
                    announcements[requests] = Broadcast(
                        _STOPPED, msgspec.structs.replace(stopped, inflight=inflight), span
                    )
                item = announcements[requests].item_for(subscribers[plugin.name])
                if item is not None:
                    connection.tell(item, urgent=True)
            if connection is not None:
                for call in written:
                    connection.cancel(call, urgent=True)
        _release(fires)
        if not subscribers and recorder is not None:
            recorder.unheard(_STOPPED.name, stopped)
        for turn in turns:
            _say_over(turn, urgent=True)
    finally:
        # also where the agent's own reason cannot be sent, the turn is over
        for plugin in session.host.everybody():
            connection = plugin.open_connection
            if connection is not None:
                connection.flush()
        session.turn_closed(root)
        for turn in turns:
            turn.scope.cancel()  # a child's too: it may run in a task outside of the root's block


def close_turn(turn: Turn, outcome: TurnOutcome) -> None:
    """End a turn that was not interrupted: children that are open, requests that nobody waits for any more, then `turn_end`."""
    turns = turn.family()
    for one in turns:
        one.ended = True
        one.outcome = outcome if one is turn else "interrupted"
    fires = _abandon_fires(turns)
    turn_ids = {one.turn_id for one in turns}
    for plugin in turn.session.host.everybody():
        connection = plugin.open_connection
        for call in withdraw(plugin, turn_ids):
            if connection is not None:
                connection.cancel(call)
    _release(fires)
    for one in turns:
        _say_over(one, urgent=False)
        if one is not turn:
            one.scope.cancel()
    if turn.parent is None:
        turn.session.turn_closed(turn)


def withdraw(plugin: Plugin, turn_ids: set[str]) -> list[Call]:
    """Settle the plugin's requests of these turns that are not written; returns those that are."""
    plugin.pending.withdraw(turn_ids)
    connection = plugin.open_connection
    return connection.withdraw(connection.calls_of(turn_ids)) if connection is not None else []


def _abandon_fires(turns: list[Turn]) -> list[Fire | SingleFire]:
    """In the order of `seq`: what has to be told all the same is told in that order."""
    fires = sorted((fire for turn in turns for fire in turn.fires), key=lambda fire: fire.seq)
    for fire in fires:
        fire.abandon()
    return fires


def _release(fires: list[Fire | SingleFire]) -> None:
    """What a plugin owes that the host has parted with meanwhile: nobody waits for it to end."""
    for fire in fires:
        fire.withdraw()


def _say_over(turn: Turn, *, urgent: bool) -> None:
    session = turn.session
    for tool in list(turn.open_tools.values()):
        turn.close_tool(tool, urgent=urgent)
    if turn.began:
        session.tell(
            "turn_end",
            turn,
            urgent=urgent,
            outcome=turn.outcome,
            interrupt_count=turn.interrupt_count,
            model_calls=turn.model_calls,
            usage=turn.usage,
            duration_ms=turn.duration_ms(),
            last_assistant_message=turn.last_assistant_message,
        )
    if turn.parent is not None:
        status = {"completed": "completed", "denied": "denied", "interrupted": "cancelled"}.get(
            turn.outcome or "", "failed"
        )
        session.tell(
            "subagent_stop",
            turn.parent,
            urgent=urgent,
            child_agent_id=turn.agent_id,
            status=status,
            summary=turn.summary,
            duration_ms=turn.duration_ms(),
        )
