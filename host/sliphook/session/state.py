"""The state of a session and its turns: ids, counters, open tool calls, hooks under way.

Session, turn, tool call and interrupt share this state. Only the methods here change it, with one
exception: `Hooks.ask` adds to and takes from `TurnState.fires` itself, to save a call.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

import trio

from sliphook.dispatch.fast_path import SingleFire
from sliphook.dispatch.fire import Fire
from sliphook.dispatch.outcome import Context
from sliphook.ids import new_id, now
from sliphook_sdk.protocol import CATALOGUE, Payload, SessionInfo, Usage
from sliphook_sdk.protocol.limits import MAX_INJECTS_WAITING, MAX_LAST_TEXT_CHARS

from .open_tool import OpenTool
from .questions.question import OpenQuestion
from .results import Interruption
from .submission import Submission, Waiting

TurnOutcome = Literal[
    "completed",
    "interrupted",
    "failed",
    "denied",
    "max_iterations",
    "loop_detected",
    "budget_exceeded",
]


class TurnState:
    """The state of one turn (see `Turn`).

    Args:
        agent_id: the session's agent; a child has another one.
        parent: the turn whose agent started this one's, or None.
        submission: the message of a plugin that the turn is for, or None.

    Attributes:
        ended: the end has been decided; `turn_end` may not be told yet.
        llm_under_way: a model call has been allowed and has not ended.
        open_tools: by `call_id`.
        told_to_stop: calls of tools that were over before they had ended, of child agents too.
        fires: hooks that a task of the turn waits for.
        questions: those to a person that are open or wait for their turn.
        scope: the turn's block; an interrupt cancels it.
        background: it may outlive its parent's turn, and ends with the session.
    """

    def __init__(
        self, agent_id: str, parent: TurnState | None, submission: Submission | None = None
    ) -> None:
        self.submission = submission
        self.turn_id = new_id()
        self.index = 0
        self.parent = parent
        self.agent_id = agent_id if parent is None else new_id()
        self.parent_agent_id = parent.agent_id if parent is not None else None
        self.agent_depth: int = parent.agent_depth + 1 if parent is not None else 0
        self.outcome: TurnOutcome | None = None
        self.context: list[Context] = []
        self.summary: str | None = None
        self.last_assistant_message: str | None = None
        self.began = self.ended = False
        self.interrupt_count = 0
        self.model_calls = 0
        self.usage = Usage()
        self.llm_under_way = False
        self.children: list[TurnState] = []
        self.open_tools: dict[str, OpenTool] = {}
        self.tools_begun: set[str] = set()
        self.told_to_stop: list[OpenTool] = []
        self.fires: set[Fire | SingleFire] = set()
        self.questions: set[OpenQuestion] = set()
        self.scope = trio.CancelScope()
        self._began_s = 0.0
        self.background = False
        self._siblings: list[TurnState] = []

    def mark_begun(self, index: int) -> None:
        """The block is entered."""
        self.index = index
        self.began = True
        self._began_s = trio.current_time()

    def mark_ended(self, outcome: TurnOutcome) -> None:
        """The turn is over; nothing more is asked for it."""
        self.ended = True
        self.outcome = outcome

    def count_interrupt(self) -> None:
        """The turn is interrupted, perhaps not for the first time."""
        self.interrupt_count += 1

    async def raise_if_ended(self) -> None:
        """Raise Cancelled inside the block of a turn that was interrupted, whenever that came."""
        if self.ended:
            await trio.lowlevel.checkpoint_if_cancelled()

    def duration_ms(self) -> float:
        """How long the turn has been open."""
        return round((trio.current_time() - self._began_s) * 1000, 3) if self.began else 0.0

    def over(self) -> dict[str, Any]:
        """The fields of `turn_end`."""
        return {
            "outcome": self.outcome,
            "interrupt_count": self.interrupt_count,
            "model_calls": self.model_calls,
            "usage": self.usage,
            "duration_ms": self.duration_ms(),
            "still_running": self.still_running(),
            "last_assistant_message": self.last_text(),
        }

    def last_text(self) -> str | None:
        """The beginning of the model's last text, which an interrupt has the time to tell."""
        text = self.last_assistant_message
        return text if text is None else text[:MAX_LAST_TEXT_CHARS]

    def still_running(self) -> list[str]:
        """`call_id` of each tool call that was told to stop and has not ended."""
        return [tool.call_id for tool in self.told_to_stop if tool.still_running]

    @property
    def submitted_by(self) -> str | None:
        """The plugin whose message the turn is for; None: the user's."""
        return self.submission.plugin if self.submission is not None else None

    def family(self) -> list[TurnState]:
        """This turn and its open children, innermost first."""
        return [turn for child in self.children for turn in child.family()] + [self]

    def join(self, siblings: list[TurnState], *, background: bool) -> None:
        """From now on what ends these ends this one: its parent's children, or the session's."""
        self.background, self._siblings = background, siblings
        siblings.append(self)

    def leave(self) -> None:
        """The turn has ended, or never began."""
        if self in self._siblings:
            self._siblings.remove(self)

    def llm_goes_on(self, goes_on: bool) -> None:
        """A model call is allowed, or will be tried again; False: it failed."""
        self.llm_under_way = goes_on

    def llm_answers(self, text: str | None, usage: Usage) -> None:
        """A model call succeeded; it is counted here and in every parent."""
        self.llm_under_way = False
        if text:
            self.last_assistant_message = text
        turn: TurnState | None = self
        while turn is not None:
            turn.model_calls += 1
            turn.usage = turn.usage.plus(usage)
            turn = turn.parent

    def open_tool(self, tool: OpenTool) -> None:
        """`pre_tool_call` is about to be fired."""
        self.open_tools[tool.call_id] = tool
        self.told_to_stop = [one for one in self.told_to_stop if one.still_running]

    def tool_begins(self, tool: OpenTool) -> None:
        """The tool begins to run."""
        tool.begin()
        if tool.model_call_id is not None:
            self.tools_begun.add(tool.model_call_id)

    def close_tool(self, tool: OpenTool) -> bool:
        """`post_tool_call` is about to be fired; False if it has been told already."""
        if self.open_tools.pop(tool.call_id, None) is None:
            return False
        if not self.ended:  # else all of its questions end, a little later
            for question in [one for one in self.questions if one.call_id == tool.call_id]:
                question.settle("interrupted")
        if not tool.has_begun and tool.model_call_id is not None:
            self.tools_begun.discard(tool.model_call_id)
        if tool.still_running:
            turn: TurnState | None = self
            while turn is not None:
                turn.told_to_stop.append(tool)
                turn = turn.parent
        return True


class SessionState:
    """The state of one session (see `Session`).

    Attributes:
        seq: the number of the last payload.
        waiting: the messages of plugins that have had no turn.
        open_root: the open turn of the root agent, or None.
        background: the open turns of children that may outlive the turn that started them.
        on_interrupt: told of each interrupt, or None.
        ended: `session_end` has been told.
    """

    def __init__(
        self,
        *,
        session_key: str | None,
        platform: str | None,
        user_id: str | None,
        cwd: str | os.PathLike[str] | None,
        model: str | None,
        meta: dict[str, Any] | None,
        session_id: str | None,
        on_interrupt: Callable[[Interruption], None] | None,
    ) -> None:
        self.session_id = session_id or new_id()
        self.session_key = session_key
        self.platform = platform
        self.user_id = user_id
        self.cwd: str | None = None
        with suppress(FileNotFoundError):  # the current folder was removed
            self.cwd = os.path.abspath(cwd if cwd is not None else os.curdir)
        self.model = model
        self.meta = meta
        self.agent_id = new_id()
        self.asking = trio.Lock()
        self.waiting = Waiting()
        self.on_interrupt = on_interrupt
        self.open_root: TurnState | None = None
        self.background: list[TurnState] = []
        self.ended = False
        self._injected: list[Context] = []
        self._common_of: TurnState | None = None
        self._common: dict[str, Any] = {}
        self._begin_counting()

    def _begin_counting(self) -> None:
        self.seq = 0
        self.turn_count = 0
        self.model_calls = 0
        self.tool_calls = 0
        self.usage = Usage()

    def begin_anew(self, session_id: str | None) -> str:
        """Take a new id, this one if it is given, forget texts and counts; returns the old id."""
        old_id, self.session_id = self.session_id, session_id or new_id()
        self._injected.clear()
        self._begin_counting()
        return old_id

    def info(self) -> SessionInfo:
        """What a plugin is told that starts while the session is open."""
        return SessionInfo(
            session_id=self.session_id, session_key=self.session_key, platform=self.platform
        )

    def mark_ended(self) -> None:
        """`session_end` has been told."""
        self.ended = True

    def root_opened(self, turn: TurnState) -> None:
        """A turn of the root agent begins; a HostError if its message does not wait any more."""
        if turn.submission is not None:
            self.waiting.begin(turn.submission)
        self.turn_count += 1
        self.open_root = turn

    def root_closed(self, turn: TurnState) -> None:
        """`turn_end` has been told for a turn of the root agent."""
        if self.open_root is turn:
            self.open_root = None

    def count(
        self, *, model_calls: int = 0, tool_calls: int = 0, usage: Usage | None = None
    ) -> None:
        """Add to what `session_end` reports."""
        self.model_calls += model_calls
        self.tool_calls += tool_calls
        if usage is not None:
            self.usage = self.usage.plus(usage)

    def totals(self) -> dict[str, Any]:
        """The fields of `session_end`, but for the reason."""
        return {
            "turns": self.turn_count,
            "model_calls": self.model_calls,
            "tool_calls": self.tool_calls,
            "usage": self.usage,
        }

    def inject(self, context: Context) -> bool:
        """Keep a text for the next model call; False if too many wait."""
        if len(self._injected) >= MAX_INJECTS_WAITING:
            return False
        self._injected.append(context)
        return True

    def take_injected(self) -> list[Context]:
        """Take the texts that wait for the next model call."""
        taken, self._injected = self._injected, []
        return taken

    def stamp(self, name: str, turn: TurnState | None, fields: dict[str, Any]) -> Payload:
        """The payload of a new hook or event, with the next `seq`."""
        self.seq += 1
        return CATALOGUE[name].payload(
            event_id=f"{self.session_id}-{self.seq}",
            seq=self.seq,
            time=now(),
            **self.common(turn),
            **fields,
        )

    def unnumbered(self, turn: TurnState | None) -> dict[str, Any]:
        """The common fields of a message that takes no number: it has the `seq` of the last one."""
        return {"event_id": new_id(), "seq": self.seq, "time": now(), **self.common(turn)}

    def reload_payload(self, *, before: int | None) -> Payload:
        """`session_start` for one plugin that came back; unnumbered, as the others do not get it.

        Args:
            before: the `seq` of what the plugin is sent next; None if that is not known.
        """
        fields: dict[str, Any] = {"source": "reload", "model": self.model}
        if before is not None:
            fields["seq"] = before - 1  # the plugin gets this first, and `seq` must rise
        return CATALOGUE["session_start"].payload(**self.unnumbered(self.open_root) | fields)

    def common(self, turn: TurnState | None) -> dict[str, Any]:
        """The common fields but `event_id`, `seq` and `time`; one dict serves a whole turn."""
        if turn is None or turn is not self._common_of:  # `reset` may have come
            self._common_of, self._common = turn, self._common_fields(turn)
        return self._common

    def _common_fields(self, turn: TurnState | None) -> dict[str, Any]:
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
