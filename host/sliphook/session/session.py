"""One conversation: from `session_start` to `session_end`, and the turns in between.

Nothing that closes it ever waits.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import trio

from sliphook.dispatch.broadcast import tell
from sliphook.dispatch.fast_path import SingleFire, asked_single
from sliphook.dispatch.fire import Fire
from sliphook.dispatch.outcome import Context, Outcome, cancelled_outcome
from sliphook.wire import envelope
from sliphook_sdk.protocol import CATALOGUE, AlertLevel, Payload, SessionInfo, Usage
from sliphook_sdk.protocol.limits import MAX_INJECTS_WAITING

from .ids import new_id, now
from .interrupt import close_turn, interrupt_turns
from .scope_exit import exit_kind
from .turn import Turn, TurnOutcome
from .usage import add_usage

if TYPE_CHECKING:
    from .host import SessionHost

EndReason = Literal["exit", "reset", "signal", "error", "shutdown"]
StartSource = Literal["startup", "resume", "reset"]
InterruptReason = Literal[
    "user_stop", "reset", "new_message", "signal", "plugin", "shutdown", "timeout"
]


class Session:
    """One conversation. Made by `PluginHost.session`, used as `async with`.

    Entering puts `session_start` to the plugins and does not wait for the answers (see `ready`).
    Leaving, however it happens, tells `session_end` exactly once, after the `turn_end` of a turn
    that was open.

    Attributes:
        session_id: unique; another after `reset`.
        session_key: the agent's own name for the conversation.
        turn_count: turns opened so far, children's not counted.
        asking: held while a person is asked: one question of a session at a time.
    """

    def __init__(
        self,
        host: SessionHost,
        *,
        session_key: str | None,
        platform: str | None,
        user_id: str | None,
        cwd: str | os.PathLike[str] | None,
        model: str | None,
        source: StartSource,
        meta: dict[str, Any] | None,
        session_id: str | None,
    ) -> None:
        self.host = host
        self.session_id = session_id or new_id()
        self.session_key = session_key
        self.platform = platform
        self.user_id = user_id
        self.cwd = os.path.abspath(cwd) if cwd is not None else os.getcwd()
        self.model = model
        envelope.encode(meta)  # an agent's mistake comes out here, not in the middle of a turn
        self.meta = meta
        self.agent_id = new_id()
        self.asking = trio.Lock()
        self.open_turn: Turn | None = None
        self.ended = False
        self._source: StartSource = source
        self._end_reason: EndReason | None = None
        self._start: Fire | None = None
        self._injected: list[Context] = []
        self._common_of: Turn | None = None
        self._common: dict[str, Any] = {}
        self._begin_counting()

    def _begin_counting(self) -> None:
        self.seq = 0
        self.turn_count = 0
        self.model_calls = 0
        self.tool_calls = 0
        self.usage = Usage()

    # -- the scope
    # -------------------------------------------------------------------------------------------------

    @trio.lowlevel.enable_ki_protection
    async def __aenter__(self) -> Session:
        self.host.session_opened(self, None)
        self._fire_start(self._source)
        return self

    @trio.lowlevel.enable_ki_protection
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        reasons: dict[str, EndReason] = {
            "none": "exit",
            "cancelled": "shutdown",
            "signal": "signal",
            "error": "error",
        }
        self._close(self._end_reason or reasons[exit_kind(error)])

    def info(self) -> SessionInfo:
        """What a plugin that starts meanwhile is told."""
        return SessionInfo(
            session_id=self.session_id, session_key=self.session_key, platform=self.platform
        )

    @trio.lowlevel.enable_ki_protection
    async def ready(self) -> list[Context]:
        """Wait for the answers to `session_start`; returns the system text of the session, one context a text."""
        if self._start is None:
            return []
        return list((await self._start.wait(owned=False)).context)

    def turn(
        self,
        text: str,
        *,
        source: Literal["user", "command", "queued"] = "user",
        interrupt: bool = False,
    ) -> Turn:
        """A turn for the user's `text`, to be used as `async with`.

        Args:
            text: what the user wrote; `Turn.submit` puts it to the plugins.
            source: how it came.
            interrupt: a turn that is open is interrupted first (`new_message`).

        Raises:
            TurnOpen: on entering, where a turn is open and `interrupt` is not set.
            HostError: on entering, where the session has ended.
        """
        return Turn(self, text, source=source, interrupt=interrupt)

    @trio.lowlevel.enable_ki_protection
    def interrupt(
        self, reason: InterruptReason = "user_stop", invalidation_reason: str = "host_interrupt"
    ) -> bool:
        """Abandon the open turn, here and now; nothing is waited for.

        When this returns, the plugins have been told or their messages are queued before all
        others, every request of the turn is settled, `turn_end` is said, and the turn's block is
        being cancelled. The next turn may begin at once.

        Args:
            reason: why.
            invalidation_reason: what exactly, free.

        Returns:
            False where no turn is open.
        """
        turn = self.open_turn
        if turn is None:
            return False
        interrupt_turns(turn, reason, invalidation_reason)
        return True

    @trio.lowlevel.enable_ki_protection
    def reset(self, cause: str = "new_command") -> None:
        """Begin anew (`/new`): interrupt, `session_end`, `session_reset`, `session_start`.

        Nothing is waited for: see `ready`.
        """
        if self.ended:
            return
        self.interrupt("reset", cause)
        old_id = self.session_id
        self._end("reset")
        self.session_id = new_id()
        self._injected.clear()
        self._begin_counting()
        self.host.session_opened(self, old_id)
        self.tell("session_reset", old_session_id=old_id, cause=cause)
        self._fire_start("reset")

    def end(self, reason: EndReason) -> None:
        """Say beforehand what `session_end` will give as the reason."""
        self._end_reason = reason

    @trio.lowlevel.enable_ki_protection
    def close(self, reason: EndReason) -> None:
        """End the session now, from outside of its block; leaving the block later does nothing more."""
        self._close(reason)

    def _close(self, reason: EndReason) -> None:
        if self.ended:
            return
        self.interrupt(
            "signal" if reason == "signal" else "shutdown",
            "sigint" if reason == "signal" else "host_interrupt",
        )
        self._end(reason)
        self.ended = True
        self.host.session_closed(self)

    def _end(self, reason: EndReason) -> None:
        if self._start is not None:
            self._start.withdraw()
            self._start = None
        self.tell(
            "session_end",
            reason=reason,
            turns=self.turn_count,
            model_calls=self.model_calls,
            tool_calls=self.tool_calls,
            usage=self.usage,
        )

    # -- what is said
    # ----------------------------------------------------------------------------------------------

    def notification(self, level: AlertLevel, message: str, source: str = "agent") -> None:
        """The agent shows the user an error or a warning; the plugins are told."""
        if not self.ended:
            self.tell("notification", self.open_turn, level=level, message=message, source=source)

    def inject(self, context: Context) -> bool:
        """Keep a text for the next model call; False where too many wait."""
        if len(self._injected) >= MAX_INJECTS_WAITING:
            return False
        self._injected.append(context)
        return True

    def take_injected(self) -> list[Context]:
        """The texts that wait for the next model call; they are then taken."""
        taken, self._injected = self._injected, []
        return taken

    @trio.lowlevel.enable_ki_protection
    async def run_command(self, name: str, arguments: str = "") -> str:
        """Run a plugin's slash command; returns what the user reads.

        Raises:
            HostError: there is no such command, or it failed; str() is one line.
        """
        return await self.host.tool_host.run_command(self, name, arguments)

    def count(
        self, *, model_calls: int = 0, tool_calls: int = 0, usage: Usage | None = None
    ) -> None:
        """Add to what `session_end` reports."""
        self.model_calls += model_calls
        self.tool_calls += tool_calls
        if usage is not None:
            self.usage = add_usage(self.usage, usage)

    # -- payloads and fires
    # ----------------------------------------------------------------------------------------

    def common(self, turn: Turn | None) -> dict[str, Any]:
        """The common fields of a payload, but for `event_id`, `seq` and `time`; the same dict all through a turn."""
        if turn is None or turn is not self._common_of:
            self._common_of, self._common = turn, self._common_fields(turn)
        return self._common

    def _common_fields(self, turn: Turn | None) -> dict[str, Any]:
        return {
            "session_id": self.session_id,
            "session_key": self.session_key,
            "platform": self.platform,
            "user_id": self.user_id,
            "cwd": self.cwd,
            "turn_id": turn.turn_id if turn is not None else None,
            "agent_id": turn.agent_id if turn is not None else self.agent_id,
            "parent_agent_id": turn.parent_agent_id if turn is not None else None,
            "agent_depth": turn.agent_depth if turn is not None else 0,
            "meta": self.meta,
        }

    def stamp(self, name: str, turn: Turn | None, **fields: Any) -> Payload:
        """The payload of a new fire, with the next `seq`."""
        return self._stamp(name, turn, fields)

    def _stamp(self, name: str, turn: Turn | None, fields: dict[str, Any]) -> Payload:
        self.seq += 1
        return CATALOGUE[name].payload(
            event_id=f"{self.session_id}-{self.seq}",
            seq=self.seq,
            time=now(),
            **self.common(turn),
            **fields,
        )

    def reload_payload(self, *, before: int | None) -> Payload:
        """`session_start` for one plugin that came back; it takes no number of its own, as the others do not hear of it.

        Args:
            before: the `seq` of what the plugin will hear next, where that is known already.
        """
        payload = self.stamp("session_start", None, source="reload", model=self.model)
        self.seq -= 1  # what is fired next has this number, and an `event_id` made of it
        return msgspec.structs.replace(
            payload, event_id=new_id(), seq=self.seq if before is None else before - 1
        )

    @trio.lowlevel.enable_ki_protection
    def tell(
        self, name: str, turn: Turn | None = None, *, urgent: bool = False, **fields: Any
    ) -> None:
        """Put an event, or a hook that nobody may answer any more, to all who subscribed."""
        payload = self.stamp(name, turn, **fields)
        listeners = self.host.listeners(name)
        recorder = self.host.recorder
        span = recorder.told(name, payload) if recorder is not None else None
        told = (
            tell(CATALOGUE[name], payload, listeners, urgent=urgent, traceparent=span)
            if listeners
            else []
        )
        if not told and recorder is not None:
            recorder.unheard(name, payload)

    @trio.lowlevel.enable_ki_protection
    def begin(self, name: str, turn: Turn | None, **fields: Any) -> Fire:
        """Put a hook to all who subscribed; whoever wants the outcome waits for the fire."""
        fire = self._fire(name, turn, self.stamp(name, turn, **fields), None)
        fire.begin()
        return fire

    @trio.lowlevel.enable_ki_protection
    async def ask(
        self, name: str, turn: Turn, *, budget_s: float | None = None, **fields: Any
    ) -> Outcome:
        """Put a hook to all who subscribed and wait for the outcome."""
        if turn.ended:
            payload = CATALOGUE[name].payload(
                event_id="", seq=self.seq, time=now(), **self.common(turn), **fields
            )
            return await _unless_ended(turn, cancelled_outcome(payload))
        payload = self._stamp(name, turn, fields)
        lone = self._single_fire(name, turn, payload) if budget_s is None else None
        fire = lone or self._fire(name, turn, payload, budget_s)
        fire.begin()
        if fire.outcome is None:
            turn.fires.add(fire)
            try:
                await fire.wait()
            finally:
                turn.fires.discard(fire)
        assert fire.outcome is not None
        self.host.hook_answered(name, fire.outcome)
        return await _unless_ended(turn, fire.outcome) if turn.ended else fire.outcome

    def _fire(self, name: str, turn: Turn | None, payload: Payload, budget_s: float | None) -> Fire:
        host = self.host
        return Fire(
            CATALOGUE[name],
            payload,
            host.subscribers(name),
            host.plugins_by_name,
            host.deadlines,
            turn_id=turn.turn_id if turn is not None else None,
            budget_s=budget_s,
            record=host.recorder.hook(name, payload) if host.recorder is not None else None,
        )

    def _single_fire(self, name: str, turn: Turn, payload: Payload) -> SingleFire | None:
        """The fast path, where it can be taken."""
        host, entry = self.host, CATALOGUE[name]
        lone = asked_single(entry, host.subscribers(name), host.plugins_by_name)
        if lone is None:
            return None
        record = host.recorder.hook(name, payload) if host.recorder is not None else None
        return SingleFire(entry, payload, *lone, host.deadlines, record)

    def turn_opened(self, turn: Turn) -> None:
        """A turn of the root agent begins (see `Turn`)."""
        self.turn_count += 1
        self.open_turn = turn

    def turn_closed(self, turn: Turn) -> None:
        """A turn of the root agent has been said to be over (see `Turn`)."""
        if self.open_turn is turn:
            self.open_turn = None

    def close_turn(self, turn: Turn, outcome: TurnOutcome) -> None:
        """Say that a turn is over, without an interrupt (see `Turn`)."""
        close_turn(turn, outcome)

    def _fire_start(self, source: StartSource) -> None:
        self._start = self.begin("session_start", None, source=source, model=self.model)


async def _unless_ended(turn: Turn, outcome: Outcome) -> Outcome:
    """The outcome, but `cancelled` where the turn has ended meanwhile, even between the last answer and this task's turn to run."""
    if not turn.ended:
        return outcome
    await trio.lowlevel.checkpoint_if_cancelled()
    return outcome if outcome.cancelled else cancelled_outcome(outcome.payload)
