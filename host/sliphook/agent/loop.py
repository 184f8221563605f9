"""The loop of an agent: a user's message in, model calls and tool calls until the model is done, plugins' hooks around all of it.

This is all that an agent needs in order to host plugins; copy from it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import trio

from sliphook.quoting import quote
from sliphook_sdk.protocol import AlertLevel, Message, ModelTool, ToolCallRequest, ToolResult, Usage, nearest

from .conversation import Conversation, with_context
from .display import Display, PlainDisplay
from .model import MAX_QUOTED_CHARS, Finish, Model, ModelError, TextDelta, ToolCall

if TYPE_CHECKING:
    from sliphook.host import PluginHost
    from sliphook.session import Session
    from sliphook.turn import LlmGate, Turn, TurnOutcome

    from .person import Person

MAX_MODEL_CALLS: Final = 50
"""Model calls in one turn, unless the agent says otherwise."""

MAX_ATTEMPTS: Final = 3
FIRST_RETRY_S: Final = 0.5
"""The wait before the second attempt where the server names none; it doubles."""
MAX_RETRY_AFTER_S: Final = 60.0
"""The longest wait that a server can ask for."""


_CUT_SHORT: Final[dict[str | None, str]] = {"length": "it reached its limit of tokens", "content_filter": "the provider's filter ended it"}
"""Reasons to finish that the user should hear of."""


class AgentTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of the agent's own; plugins guard it like any other.

    Attributes:
        name: as the model calls it.
        description: what the model reads.
        input_schema: JSON Schema of the arguments.
        run: the tool: takes the arguments, gives the result or its text.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    run: Callable[[dict[str, Any]], Awaitable[ToolResult | str]]


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A model's whole answer.

    Attributes:
        message: what goes into the conversation.
        finish: how it ended.
        unreadable: by `call_id`, what the model wrote where arguments should be.
        on_offer: the tools that this answer may call: a plugin may have taken some away.
    """

    message: Message
    finish: Finish
    unreadable: dict[str, str]
    on_offer: list[str]


class Agent:
    """One conversation: a session of the host, a model, and what was said.

    Attributes:
        session: the host's session.
        conversation: what was said; lives as long as the agent.
    """

    def __init__(
        self,
        host: PluginHost,
        session: Session,
        model: Model,
        *,
        display: Display | None = None,
        tools: Sequence[AgentTool] = (),
        system: str | None = None,
        conversation: Conversation | None = None,
        max_model_calls: int = MAX_MODEL_CALLS,
        person: Person | None = None,
    ) -> None:
        """Bring the parts together; nothing begins yet.

        Args:
            host: whose plugins' tools are offered; give it `reserved_tools` with the names of `tools`.
            session: where the turns are opened.
            model: asked with the whole conversation each time.
            display: where things are shown as they happen; None is stdout and stderr.
            tools: the agent's own.
            system: the agent's own system text, for a conversation that begins here.
            conversation: one that is recorded, or goes on.
            max_model_calls: in one turn, before `person` is asked whether to go on.
            person: who sits in front of the agent; None is nobody. Their `approve` is for the host's `approver`.
        """
        self.session = session
        self.conversation = conversation or Conversation(system)
        self._host = host
        self._model = model
        self._display: Display = display or PlainDisplay()
        self._tools = {tool.name: tool for tool in tools}
        self._max_model_calls = max_model_calls
        self._person = person

    async def run(self, text: str, *, source: Literal["user", "command", "queued"] = "user") -> TurnOutcome:
        """Take one message of the user to its end.

        Args:
            text: what the user wrote.
            source: how it came; `queued` where it had to wait for the turn before.

        Returns:
            How the turn ended, in the words of `turn_end.outcome`; `interrupted` where `session.interrupt()` was called meanwhile.
        """
        async with self.session.turn(text, source=source) as turn:
            await self._converse(turn)
        assert turn.outcome is not None, "a turn whose block was left has ended"
        return turn.outcome

    async def _converse(self, turn: Turn) -> None:
        prompt = await turn.submit()
        if prompt.denied:
            self._display.denied("the prompt", prompt.reason)
            return
        self.conversation.add_user(prompt.text, prompt.context)
        for _ in range(self._max_model_calls):
            answer = await self._next_answer(turn)
            if answer is None:
                return
            self.conversation.add_answer(answer.message)
            if answer.message.tool_calls:
                await self._call_tools(turn, answer, answer.message.tool_calls)
                continue
            go_on = await turn.stop()
            if go_on is None:
                return
            self.conversation.add_user(go_on)
        self._tell("warning", f"stopped after {self._max_model_calls} model calls in one turn")
        turn.finish("max_iterations")

    async def _next_answer(self, turn: Turn) -> _Answer | None:
        """One model call with its hooks; None where it came to nothing: the user knows why, and so does the turn."""
        self.conversation.add_injected(self.session.take_injected())
        gate = await turn.pre_llm_call(
            provider=self._model.provider,
            model=self._model.name,
            messages=self.conversation.for_model(await self.session.ready()),
            tools=self._on_offer(),
        )
        if gate.denied:
            self._display.denied("the model call", gate.reason)
            turn.finish("denied")
            return None
        if gate.substitute is not None:
            return self._substitute(turn, gate, gate.substitute)
        return await self._ask(turn, gate)

    async def _ask(self, turn: Turn, gate: LlmGate) -> _Answer | None:
        """Ask the model, more than once where that may help."""
        for attempt in range(1, MAX_ATTEMPTS + 1):
            began_s = trio.current_time()
            try:
                answer = await self._attempt(gate)
            except ModelError as error:
                will_retry = error.transient and attempt < MAX_ATTEMPTS
                turn.llm_call_failed(attempt=attempt, kind=error.kind, status=error.status, message=error.message, will_retry=will_retry)
                if not will_retry:
                    self._tell("error", error.message)
                    break
                wait_s = _wait_before_retry(error, attempt)
                self._tell("warning", f"{error.message}; asking again in {wait_s:.3g} s")
                await trio.sleep(wait_s)
                continue
            turn.post_llm_call(
                provider=self._model.provider,
                model=answer.finish.model or gate.model,
                response=answer.message,
                finish_reason=answer.finish.reason,
                usage=answer.finish.usage,
                duration_ms=(trio.current_time() - began_s) * 1000,
            )
            if answer.finish.reason in _CUT_SHORT:
                self._tell("warning", f"the model's answer was cut: {_CUT_SHORT[answer.finish.reason]}")
            return answer
        turn.finish("failed")
        return None

    async def _attempt(self, gate: LlmGate) -> _Answer:
        """Ask the model once, and show the text as it comes. What an interrupted answer had said so far stays in the conversation."""
        text: list[str] = []
        calls: list[ToolCall] = []
        finish = Finish()
        try:
            async with self._model.stream(with_context(gate.messages, gate.context), gate.tools, model=gate.model) as pieces:
                async for piece in pieces:
                    if isinstance(piece, TextDelta):
                        text.append(piece.text)
                        await self.conversation.say(piece.text)
                        self._display.text(piece.text)
                    elif isinstance(piece, ToolCall):
                        calls.append(piece)
                    else:
                        finish = piece
        except trio.Cancelled:
            if text:
                self.conversation.add_answer(Message(role="assistant", content="".join(text)), interrupted=True)
            raise
        except ModelError:
            self.conversation.abandon_answer()
            raise
        finally:
            if text:
                self._display.text_end()
        requests = [ToolCallRequest(call_id=call.call_id, name=call.name, arguments=call.arguments) for call in calls]
        message = Message(role="assistant", content="".join(text) or None, tool_calls=requests or None)
        unreadable = {call.call_id: call.unreadable for call in calls if call.unreadable is not None}
        return _Answer(message=message, finish=finish, unreadable=unreadable, on_offer=[tool.name for tool in gate.tools])

    def _substitute(self, turn: Turn, gate: LlmGate, message: Message) -> _Answer:
        """A plugin answers in the model's place."""
        if message.content:
            self._display.text(message.content)
            self._display.text_end()
        turn.post_llm_call(
            provider=self._model.provider,
            model=gate.model,
            response=message,
            finish_reason=None,
            usage=Usage(),
            duration_ms=0.0,
            substituted_by=gate.substituted_by,
        )
        return _Answer(message=message, finish=Finish(), unreadable={}, on_offer=[tool.name for tool in gate.tools])

    async def _call_tools(self, turn: Turn, answer: _Answer, calls: Sequence[ToolCallRequest]) -> None:
        """Call all tools of one answer at the same time; their results go to the model in the order of the calls."""

        async def call_one(call: ToolCallRequest) -> None:
            self.conversation.add_result(call, await self._call_tool(turn, answer, call))

        try:
            async with trio.open_nursery() as nursery:
                for call in calls:
                    nursery.start_soon(call_one, call)
                    # else trio begins them in any order; users and plugins see them in the model's
                    await trio.lowlevel.checkpoint()
        finally:
            self.conversation.close_calls()

    async def _call_tool(self, turn: Turn, answer: _Answer, call: ToolCallRequest) -> str | None:
        """Call one tool and give the text for the model, None if it was interrupted; what the model got wrong is told to the model."""
        self._display.tool_started(call)
        wrong = _mistake(call, answer)
        if wrong is not None:
            self._display.tool_ended(call, "error", wrong, None)
            return wrong
        own = self._tools.get(call.name)
        outcome = await turn.call_tool(
            call.name,
            call.arguments,
            model_call_id=call.call_id,
            run=own.run if own else None,
            input_schema=own.input_schema if own else None,
        )
        if outcome.status == "denied":
            self._display.denied(call.name, "; ".join(f"{reason.plugin}: {reason.text}" for reason in outcome.denied_by))
        else:
            self._display.tool_ended(call, outcome.status, outcome.result.content, outcome.duration_ms)
        return None if outcome.status == "cancelled" else outcome.text()

    def _on_offer(self) -> list[ModelTool]:
        """The tools that the model may call now: the agent's own, then the plugins'."""
        own = [ModelTool(name=tool.name, description=tool.description, input_schema=tool.input_schema) for tool in self._tools.values()]
        offers = self._host.tools(self.session.session_id)
        return own + [ModelTool(name=offer.name, description=offer.description, input_schema=offer.input_schema) for offer in offers]

    def _tell(self, level: AlertLevel, message: str) -> None:
        """Show an error or a warning to the user, and tell the plugins that the user was shown it."""
        self._display.notice(level, message)
        self.session.notification(level, message)


def _wait_before_retry(error: ModelError, attempt: int) -> float:
    if error.retry_after_s is not None:
        return min(error.retry_after_s, MAX_RETRY_AFTER_S)
    return FIRST_RETRY_S * 2.0 ** (attempt - 1)


def _mistake(call: ToolCallRequest, answer: _Answer) -> str | None:
    """What is wrong with a tool call before anybody needs to be asked, or None."""
    names = answer.on_offer
    if call.name not in names:
        near = nearest(call.name, names)
        hint = f"did you mean {near}?" if near else f"there are: {', '.join(names)}" if names else "there are none"
        return f"there is no tool {call.name!r}; {hint}"
    if call.call_id in answer.unreadable:
        return f"the arguments of {call.name} are no JSON object: {quote(answer.unreadable[call.call_id], MAX_QUOTED_CHARS)}"
    return None
