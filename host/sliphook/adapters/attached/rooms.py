"""One session of another agent: our session, its turns and children, kept open between hooks."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import Any, Final

import msgspec
import trio

from sliphook import Interruption, Session, Turn
from sliphook.adapters.dialects.answer import HookAnswer
from sliphook.adapters.dialects.dialect import Dialect
from sliphook.adapters.dialects.told import (
    BatchDone,
    ElicitationAnswered,
    Elicited,
    Happening,
    ModelAnswered,
    Notified,
    PermissionAsked,
    Prompted,
    SessionEnded,
    SessionStarted,
    StopAsked,
    SubagentStarted,
    SubagentStopped,
    ToolAsked,
    ToolDone,
    TurnFailed,
    TurnInterrupted,
)
from sliphook.adapters.relayed.served import Served, SharedOffers
from sliphook.agent_log import agent_log
from sliphook_sdk.protocol import Message, Usage

from .calls import Calls
from .children import Children
from .gaps import transcript_place
from .held import Beginning, Held, hold
from .payload import unheard
from .prompts import Prompts

_log = agent_log(__name__)

MOST_NOTICES: Final = 20
"""Alerts of plugins that wait for the next answer."""
_MOST_TEXT: Final = 1_000_000


class Room:
    """One agent session, from its first hook to its end.

    Args:
        dialect: the agent's.
        offered: the host, with what its plugins offer.
        nursery: holds the blocks.
    """

    def __init__(self, dialect: Dialect, offered: SharedOffers, nursery: trio.Nursery) -> None:
        self._dialect = dialect
        self._nursery = nursery
        self._host = offered.host
        self._beginning = Beginning(dialect, offered.host, nursery)
        self._session: Held[Session] | None = None
        self._turn: Held[Turn] | None = None
        self._children = Children(nursery)
        self._calls = Calls(nursery)
        self.served = Served(offered, dialect.tools, self._calls, self)
        self._prompts = Prompts()
        self._opening = trio.Lock()
        self._notices: deque[str] = deque(maxlen=MOST_NOTICES)
        self.stopping: str | None = None
        self._going_on: str | None = None
        self._said = ""
        self.transcript_path: str | None = None
        self.was_reset = False

    @property
    def session_id(self) -> str | None:
        """Of our session; None if it is not open."""
        return self._session.value.session_id if self._session is not None else None

    @property
    def turn_is_open(self) -> bool:
        """Whether the agent is at work, as far as it has told."""
        return self._turn is not None and not self._turn.value.ended

    def notice(self, plugin: str, level: str, message: str) -> None:
        """Show the person a plugin's alert with the next answer."""
        self._notices.append(f"{plugin}: {message}")

    async def take(self, told: Happening) -> HookAnswer:
        """One hook of the agent, and what it is answered."""
        path = told.transcript_path or self.transcript_path
        self.transcript_path = path or transcript_place(self._dialect.transcript, told.session_id)
        answer = await self._take(told)
        if isinstance(told, SessionEnded):
            return answer
        takes = answer.denied is None and self._dialect.takes_context(told)
        if takes and self._session is not None:
            injected = tuple(one.labelled() for one in self._session.value.take_injected())
            answer = msgspec.structs.replace(answer, context=(*answer.context, *injected))
        message = "\n".join(self._notices) or None
        self._notices.clear()
        return msgspec.structs.replace(answer, message=message)

    async def _take(self, told: Happening) -> HookAnswer:
        match told:
            case SessionStarted():
                return await self._start(told)
            case SessionEnded():
                self.was_reset = told.reason == "reset"
                return HookAnswer()
            case Prompted():
                return await self._prompt(told)
            case ToolAsked():
                return await self._ask_tool(told)
            case PermissionAsked():
                turn = await self.turn_of(told)
                call = self._calls.that_waits(told)
                self._prompts.permission(turn, f"Run {told.tool_name}?", call)
            case ToolDone(status="interrupted"):
                if self._calls.has(told):  # else its end was found in another way
                    await self.interrupt("agent_told")
                return self._or_end(self._unheard(told))
            case ToolDone():
                self._prompts.answered(True)
                answer = await self._calls.end(told)
                return self._or_end(self._unheard(told) if answer is None else answer)
            case BatchDone():
                self._prompts.answered(None)
                await self._calls.end_batch(told.calls)
            case StopAsked():
                return await self._stop(told)
            case TurnFailed():
                await self._end_turn("failed")
            case TurnInterrupted():
                await self.interrupt("agent_told")
            case SubagentStarted():
                return await self._start_child(told)
            case SubagentStopped():
                await self._stop_child(told)
            case Notified():
                session = await self.session_of(told)
                session.notification("info", told.message, self._dialect.name)
                if told.asks:
                    turn = await self.turn_of(told)
                    self._prompts.permission(turn, told.message, self._calls.that_waits(None))
            case Elicited():
                self._prompts.elicited(told, await self.turn_of(told))
            case ElicitationAnswered():
                self._prompts.elicitation_answered(told)
            case ModelAnswered():
                await self._model_said(told)
            case _:
                pass
        return self._or_end(HookAnswer())

    # -- the session

    async def _start(self, told: SessionStarted) -> HookAnswer:
        self._beginning.tell(told)
        session = await self.session_of(told)
        if told.source == "reset" and self._beginning.first is not told:
            session.reset("clear")
            self._forget_turns()
            await self._calls.give_up()
            self.was_reset = False
        if told.source == "compacted":
            session.notification("info", "The conversation was compacted.", self._dialect.name)
            return HookAnswer()
        return HookAnswer(context=tuple(one.labelled() for one in await session.ready()))

    async def session_of(self, told: Happening) -> Session:
        """The session, which is opened if its start was missed."""
        if self._session is None:
            async with self._opening:
                # another hook may have opened it meanwhile
                if self._session is None:
                    self._session = await self._beginning.open(told, self._interrupted)
        return self._session.value

    async def end(self, reason: Any) -> None:
        """End the session; its open turn is interrupted."""
        async with self._opening:  # what waits for its start is told before the end
            held = self._session
        if held is not None:
            held.value.close(reason)
            self._forget_turns()
            await self._calls.give_up()
            await held.release()

    # -- turns

    async def _prompt(self, told: Prompted) -> HookAnswer:
        if told.agent_id is not None:
            return HookAnswer()  # a child's task, which `subagent_start` has told
        going_on, self._going_on = self._going_on, None
        if self.turn_is_open and told.text == going_on:
            return HookAnswer()  # a plugin's text, which some agents take as a prompt
        session = await self.session_of(told)
        if self.turn_is_open:
            # nothing told how the last one ended, so it was interrupted
            await self.interrupt("next_prompt")
        self.stopping = None
        async with self._opening:  # what waited with it comes behind it
            turn = await self._open_turn(session, told.text, queued=told.queued)
        prompt = await turn.submit()
        if prompt.denied:
            await self._end_turn("denied")
            return HookAnswer(denied=prompt.reason)
        if prompt.text != told.text:
            _log.warning("%s takes no other text for a prompt", self._dialect.title)
        return HookAnswer(context=tuple(one.labelled() for one in prompt.context))

    async def _open_turn(self, session: Session, text: str, *, queued: bool = False) -> Turn:
        block = session.turn(text, source="queued" if queued else "user", interrupt=True)
        self._turn = await hold(self._nursery, block)
        return self._turn.value

    async def turn_of(self, told: Happening) -> Turn:
        """The turn of the root or of the child in which it happened; one that was missed begins."""
        if told.agent_id is not None:
            child = self._children.turn_of(told.agent_id)
            if child is not None:
                return child
            if self.turn_is_open or self._session is None:
                found = await self._enter_child(told, "")
                if found is not None:
                    return found
        session = await self.session_of(told)
        if self._turn is not None and not self._turn.value.ended:
            return self._turn.value
        async with self._opening:
            if self._turn is not None and not self._turn.value.ended:
                return self._turn.value
            return await self._open_turn(session, "")

    async def _stop(self, told: StopAsked) -> HookAnswer:
        if not self.turn_is_open or self._turn is None:
            return HookAnswer()
        turn = self._turn.value
        self._prompts.answered(None)
        await self._calls.give_up(lambda call: call.turn is turn)
        if told.last_assistant_message is not None:
            turn.last_assistant_message = told.last_assistant_message
        self._going_on = text = await turn.stop()
        if text is None:
            await self._end_turn("completed")
        return HookAnswer(continue_with=text)

    async def _end_turn(self, outcome: Any) -> None:
        held = self._turn
        if held is None:
            return
        turn = held.value
        await self._calls.give_up(lambda call: call.turn is turn)
        turn.finish(outcome)
        await held.release()
        if self._turn is held:  # another hook may have opened the next one meanwhile
            self._turn = None

    async def interrupt(self, how: str) -> None:
        """The person has stopped the agent; `how` this was found."""
        if self._session is not None:
            self._session.value.interrupt("user_stop", how)
        self._forget_turns()
        await self._calls.give_up()

    def _forget_turns(self) -> None:
        self._turn = None
        self._children.forget()

    def _interrupted(self, told: Interruption) -> None:
        if told.reason == "plugin":
            # the agent itself cannot be stopped now: its next hook says so
            self.stopping = "a plugin has stopped the turn"

    def _or_end(self, answer: HookAnswer) -> HookAnswer:
        if self.stopping is None:
            return answer
        return msgspec.structs.replace(answer, end=self.stopping)

    # -- calls

    async def _ask_tool(self, told: ToolAsked) -> HookAnswer:
        if self.stopping is not None:
            return HookAnswer(denied=f"sliphook: {self.stopping}", end=self.stopping)
        turn = await self.turn_of(told)
        self._prompts.answered(True)
        goal = self._dialect.tools.goal(told.tool_name, told.arguments)
        if goal is not None:
            self._children.is_asked_for(goal)
        return self._or_end(await self._calls.begin(told, turn))

    def _unheard(self, told: ToolDone) -> HookAnswer:
        if self.served.name_of(told) is not None:
            return HookAnswer()  # they were told when our MCP server had the result
        return unheard(self._host, told, "were not told of it: the call was over for them")

    # -- children

    async def _start_child(self, told: SubagentStarted) -> HookAnswer:
        await self.session_of(told)
        goal = self._children.next_goal()
        turn = await self._enter_child(told, told.goal if told.goal is not None else goal)
        context = turn.context if turn is not None else []
        return self._or_end(HookAnswer(context=tuple(one.labelled() for one in context)))

    async def _enter_child(self, told: Happening, goal: str) -> Turn | None:
        if told.agent_id is None:
            return None
        parent = await self.turn_of(msgspec.structs.replace(told, agent_id=None))
        return await self._children.begin(told.agent_id, parent, goal)

    async def _stop_child(self, told: SubagentStopped) -> None:
        child = await self._children.begun(told.agent_id or "")
        await self._calls.give_up(lambda call: call.turn is child)
        await self._children.end(told)

    # -- the model

    async def _model_said(self, told: ModelAnswered) -> None:
        self._said = (self._said + told.text)[:_MOST_TEXT]
        if not told.last:
            return
        text, self._said = self._said, ""
        if not self.turn_is_open:
            return  # Claude Code may show the last text after its Stop
        turn = await self.turn_of(told)
        usage = Usage()
        if told.usage is not None:
            usage = Usage(input_tokens=told.usage[0], output_tokens=told.usage[1])
        with suppress(ValueError, TypeError):
            turn.post_llm_call(
                provider=None,
                model=told.model,
                response=Message(role="assistant", content=text),
                finish_reason=None,
                usage=usage,
                duration_ms=None,
            )
