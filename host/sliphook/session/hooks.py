"""Puts the hooks and events of one session to the plugins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import trio

from sliphook.dispatch.audience import Subscriber
from sliphook.dispatch.broadcast import Listeners, tell
from sliphook.dispatch.fast_path import SingleFire, asked_single
from sliphook.dispatch.fire import Fire
from sliphook.dispatch.outcome import Outcome, cancelled_outcome
from sliphook.dispatch.streamed import StreamedText
from sliphook.transport.call import CallEnd
from sliphook.transport.unfinished import words_of_end
from sliphook.wire import envelope
from sliphook.wire.shared_params import SHARED_BYTES
from sliphook_sdk.protocol import CATALOGUE, LateEnd, Payload

from .arguments.structs import CheckedLists
from .host import SessionHost
from .open_tool import OpenTool
from .state import SessionState, TurnOutcome, TurnState
from .submission import Submission, Unanswered
from .urgent.bundles import Bundles
from .urgent.event import UrgentEvent


class Hooks:
    """The hooks and events of one session.

    Args:
        state: the session's; numbers the payloads.
        host: knows the plugins.

    Attributes:
        lists: what the root agent has given to its model calls.
    """

    def __init__(self, state: SessionState, host: SessionHost) -> None:
        self.state = state
        self.host = host
        self.lists = CheckedLists()
        self._meta_text: bytes | None = None
        self._bundles = Bundles(joined=host.recorder is None)
        self.send_urgent = self._bundles.send

    def keep_meta(self) -> None:
        """Keep what a large `meta` is in JSON now: an interrupt has no time to encode it.

        Raises:
            TypeError: it cannot be encoded any more; the agent's fault.
        """
        text = envelope.encode(self.state.meta)
        self._meta_text = text if len(text) > SHARED_BYTES else None

    def keep_arguments(self, tool: OpenTool, text: bytes | None = None) -> None:
        """The same for the arguments of a call, if someone will be told that it was cancelled.

        Args:
            tool: the call.
            text: the arguments in JSON; None: they are encoded.
        """
        if self.host.subscribers("post_tool_call") or self.host.recorder is not None:
            tool.text = envelope.encode(tool.arguments) if text is None else text

    def stamp_urgent(self, name: str, turn: TurnState | None, fields: dict[str, Any]) -> Payload:
        """As `SessionState.stamp`; a large `meta` is `Raw`, as it was kept."""
        payload = self.state.stamp(name, turn, fields)
        if self._meta_text is None:
            return payload
        return msgspec.structs.replace(payload, meta=msgspec.Raw(self._meta_text))

    # Ctrl+C half way would leave some of the plugins untold
    @trio.lowlevel.enable_ki_protection
    def tell(
        self,
        name: str,
        turn: TurnState | None = None,
        *,
        urgent: bool = False,
        only: Sequence[Listeners] | None = None,
        **fields: Any,
    ) -> list[str]:
        """Tell an event to its subscribers, or a hook whose answers would come too late.

        Returns the names of the plugins that are told.

        Args:
            name: the event.
            turn: the turn that it belongs to.
            urgent: use the urgent lane; the caller calls `send_urgent` and flushes.
            only: those of its subscribers that are told; None: all.
            fields: the event's own fields.
        """
        if self.host.home.is_elsewhere:
            self.host.home.refuse_elsewhere()
        # stamped even if no plugin listens: `seq` counts the fires, for the trace too
        stamp = self.stamp_urgent if urgent else self.state.stamp
        payload = stamp(name, turn, fields)
        listeners = self.host.listeners(name) if only is None else only
        recorder = self.host.recorder
        span = recorder.told(name, payload) if recorder is not None else None
        told: list[str] = []
        if urgent:
            event = UrgentEvent(CATALOGUE[name], payload, span)
            for same in listeners:
                if (item := event.item_for(same.one)) is not None:
                    told += same.names
                    self._bundles.add(CATALOGUE[name], same, item)
        elif listeners:
            told = tell(CATALOGUE[name], payload, listeners, traceparent=span)
        if not told and recorder is not None:
            recorder.unheard(name, payload)
        return told

    def tell_if_open(self, name: str, turn: TurnState, **fields: Any) -> list[str]:
        """Tell an event, unless the turn has ended: nothing comes behind `turn_end`."""
        return [] if turn.ended else self.tell(name, turn, **fields)

    def tell_cancelled(self, turn: TurnState, tool: OpenTool, *, urgent: bool = False) -> None:
        """Tell `post_tool_call` for a call that will have no result."""
        # an interrupt and the task of the call both come here; the first one tells. A fork tells no
        # one, so that what was raised in it goes on, such as its exit
        if turn.close_tool(tool) and not self.host.home.is_elsewhere:
            self.tell("post_tool_call", turn, urgent=urgent, **tool.over("cancelled", None))

    def tell_submission_end(
        self,
        submission: Submission,
        outcome: TurnOutcome | Unanswered | None,
        turn: TurnState | None = None,
        *,
        urgent: bool = False,
    ) -> None:
        """Tell how a message of a plugin ended, with its turn or without one."""
        self.tell(
            "submission_end",
            turn,
            urgent=urgent,
            message_id=submission.message_id,
            by=submission.plugin,
            outcome=outcome,
            reply=None
            if turn is None
            else turn.last_text()
            if urgent  # in an interrupt, which has no time for more
            else turn.last_assistant_message,
        )

    def tell_late_end(
        self, tool: tuple[str, str, str], session_id: str, end: CallEnd, late_s: float
    ) -> None:
        """Tell that a call ended whose `post_tool_call` said that it still runs.

        Args:
            tool: the `call_id`, the tool and its plugin; no `OpenTool`, as that holds the call.
            session_id: the session that made the call.
            end: how it ended.
            late_s: how long after it was told to stop.
        """
        # after `reset` or `session_end` the call is none of this session's
        if self.state.ended or self.state.session_id != session_id:
            return
        call_id, name, origin = tool
        self.tell(
            "notification",
            level="info" if end == "stopped" else "warning",
            message=f"the tool {name} of {origin}: {words_of_end(end, late_s)}",
            source="host",
            late_end=LateEnd(
                call_id=call_id, tool_name=name, how=end, after_ms=round(late_s * 1000, 3)
            ),
        )

    @trio.lowlevel.enable_ki_protection
    def begin(self, name: str, turn: TurnState | None, **fields: Any) -> Fire:
        """Put a hook to its subscribers; `Fire.wait` gives the outcome."""
        self.host.home.refuse_elsewhere()
        fire = self._fire(name, turn, self.state.stamp(name, turn, fields))
        fire.begin()
        return fire

    @trio.lowlevel.enable_ki_protection
    async def ask(
        self,
        name: str,
        turn: TurnState,
        *,
        budget_s: float | None = None,
        subscribers: Sequence[Subscriber] | None = None,
        streamed: StreamedText | None = None,
        **fields: Any,
    ) -> Outcome:
        """Put a hook to its subscribers and wait for the outcome.

        Args:
            name: the hook.
            turn: the turn that asks; if it ends, the outcome is `cancelled`.
            budget_s: the most that all of it may take; None: the largest timeout of the
                subscriptions.
            subscribers: those of its subscribers that may be asked; None: all.
            streamed: takes the text that a plugin sends before its answer, or None.
            fields: the hook's own fields.
        """
        if self.host.home.is_elsewhere:
            self.host.home.refuse_elsewhere()
        if turn.ended:
            # not stamped: what is put to no plugin must not take a `seq`
            unsent = self.state.unnumbered(turn) | {"event_id": ""}
            payload = CATALOGUE[name].payload(**unsent, **fields)
            return await _unless_ended(turn, cancelled_outcome(payload))
        payload = self.state.stamp(name, turn, fields)
        # `SingleFire` has no timer for the whole, so a budget needs a `Fire`
        single = self._single_fire(name, payload, subscribers) if budget_s is None else None
        fire = single or self._fire(name, turn, payload, budget_s, subscribers, streamed)
        fire.begin()
        if fire.outcome is None:
            # an interrupt ends only what still waits; a fire that is over at once never gets here
            turn.fires.add(fire)
            try:
                await fire.wait()
            finally:
                turn.fires.discard(fire)
        assert fire.outcome is not None
        self.host.hook_answered(name, fire.outcome)
        # asked here too: the usual case does without another coroutine
        return await _unless_ended(turn, fire.outcome) if turn.ended else fire.outcome

    def _fire(
        self,
        name: str,
        turn: TurnState | None,
        payload: Payload,
        budget_s: float | None = None,
        subscribers: Sequence[Subscriber] | None = None,
        streamed: StreamedText | None = None,
    ) -> Fire:
        host = self.host
        return Fire(
            CATALOGUE[name],
            payload,
            host.subscribers(name) if subscribers is None else subscribers,
            host.plugins_by_name,
            host.deadlines,
            turn_id=turn.turn_id if turn is not None else None,
            budget_s=budget_s,
            record=host.recorder.hook(name, payload) if host.recorder is not None else None,
            streamed=streamed,
        )

    def _single_fire(
        self, name: str, payload: Payload, subscribers: Sequence[Subscriber] | None
    ) -> SingleFire | None:
        """The fast path, if it can be taken."""
        host, entry = self.host, CATALOGUE[name]
        if subscribers is None:
            subscribers = host.subscribers(name)
        asked = asked_single(entry, payload, subscribers, host.plugins_by_name)
        if asked is None:
            return None
        record = host.recorder.hook(name, payload) if host.recorder is not None else None
        return SingleFire(entry, payload, asked, host.deadlines, record)


async def _unless_ended(turn: TurnState, outcome: Outcome) -> Outcome:
    """The outcome, but `cancelled` if the turn has ended.

    It may end even between the last answer and the moment at which this task runs again.
    """
    if not turn.ended:
        return outcome
    # inside the turn's block this raises; a task outside it gets the outcome `cancelled`
    await trio.lowlevel.checkpoint_if_cancelled()
    return outcome if outcome.cancelled else cancelled_outcome(outcome.payload)
