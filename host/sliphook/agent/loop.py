"""The loop of an agent: it takes a user's message and calls the model and its tools to the end.

Plugins' hooks run around every step. This is all that an agent needs to host plugins: copy from it.
`model_call` makes one model call, `tool_calls` calls the tools of one answer, `delegate` runs a
child agent.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from sliphook.agent.models.base import MAX_QUOTED_CHARS, Model
from sliphook.agent.ui.display import Display, PlainDisplay
from sliphook.dispatch.outcome import Context
from sliphook.quoting import quote
from sliphook.session.arguments.plain import check_number
from sliphook.session.submission import Submission
from sliphook_sdk.protocol import ToolResult

from .conversation import Conversation
from .delegate import DELEGATE, delegate, delegate_tool
from .loop_detection import TIMES, Repeats
from .model_call import next_answer
from .tool_calls import call_tools
from .turn import AgentTool, AgentTurn, Ending

if TYPE_CHECKING:
    from sliphook.agent.models.choice import Models
    from sliphook.agent.ui.questions import Person
    from sliphook.host.host import PluginHost
    from sliphook.session.session import Session
    from sliphook.session.state import TurnOutcome
    from sliphook.session.turn import Turn

__all__ = ["MAX_DEPTH", "MAX_MODEL_CALLS", "RESERVED_TOOLS", "Agent", "AgentTool"]

MAX_MODEL_CALLS: Final = 50
"""The default for the model calls in one turn."""

MAX_DEPTH: Final = 2
"""How deep child agents go: a child may have children, but those may not."""

RESERVED_TOOLS: Final = (DELEGATE,)
"""Names of the tools that every agent has; give them to the host as `reserved_tools`."""


class Agent:
    """One conversation: a session of the host, a model, and the messages.

    Attributes:
        session: the host's session.
        model: the model that answers; another one counts from the next model call on.
        conversation: the messages; they live as long as the agent.
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
        max_depth: int = MAX_DEPTH,
        person: Person | None = None,
        models: Models | None = None,
    ) -> None:
        """Connect the parts; nothing begins yet.

        Args:
            host: its plugins' tools are offered to the model. Its `reserved_tools` must hold
                `RESERVED_TOOLS` and the names of `tools`.
            session: the turns are opened in it.
            model: gets the whole conversation with every call.
            display: shows things as they happen; None is stdout and stderr.
            tools: the agent's own tools.
            system: the agent's own system text, for a new conversation.
            conversation: a conversation that is recorded or continued; None begins a new one.
            max_model_calls: at least 1. After so many in one turn, `person` is asked whether to go
                on; a child agent ends.
            max_depth: how deep child agents may have children; 0 leaves out the tool `delegate`.
            person: the user in front of the agent; None if no user can be asked. Give their
                `approve` to the host as `approver`.
            models: keeps the connections to the servers that plugins route model calls to; None
                makes them for each call anew.
        """
        check_number("max_model_calls", max_model_calls, low=1, whole=True)
        check_number("max_depth", max_depth, whole=True)
        self.session = session
        self.conversation = conversation or Conversation(system)
        self._host = host
        self.model = model
        self._models = models
        self._display: Display = display or PlainDisplay()
        self._tools = {tool.name: tool for tool in tools}
        self._max_model_calls = max_model_calls
        self._max_depth = max_depth
        self._person = person
        self._child_numbers = itertools.count(1)

    async def run(
        self,
        text: str | Submission,
        *,
        source: Literal["user", "command", "queued"] = "user",
        ready: Callable[[], Awaitable[object]] | None = None,
    ) -> TurnOutcome:
        """Run one turn on a message of the user, or of a plugin.

        Args:
            text: what the user wrote, or a message that a plugin has submitted.
            source: where the user's message comes from; `queued` if it waited for the turn before.
            ready: awaited before the plugins get the prompt; an interrupt ends it.

        Returns:
            How the turn ended, a value of `turn_end.outcome`; `interrupted` if
            `session.interrupt()` was called.
        """
        async with self.session.turn(text, source=source) as turn:
            if isinstance(text, Submission):
                self._display.notice("info", f"{text.plugin}: {text.text}")
            if ready is not None:
                await ready()
            await self._converse(turn)
        assert turn.outcome is not None, "a turn whose block was left has ended"
        return turn.outcome

    async def _converse(self, turn: Turn) -> None:
        prompt = await turn.submit()
        if prompt.denied:
            self._display.denied("the prompt", prompt.reason)
            return
        text = prompt.text
        if turn.submitted_by is not None:
            text = Context(turn.submitted_by, text).labelled()
        self.conversation.add_user(text, prompt.context)
        await self._work(
            AgentTurn(
                host=self._host,
                turn=turn,
                chosen=lambda: self.model,
                models=self._models,
                conversation=self.conversation,
                system=await self.session.ready(),
                display=self._display,
                tools=self._tools,
            )
        )

    async def _work(self, now: AgentTurn) -> Ending | None:
        """Loop until the model is done (None) or the turn ends before; for child agents too."""
        now = self._with_delegate(now)
        repeats = Repeats()
        made = 0
        while True:
            # a multiple, not a limit: after a yes, the user is asked again as many calls later
            if made and made % self._max_model_calls == 0:
                happened = f"model calls in this turn: {made}"
                if not await self._may_go_on(now, "max_iterations", happened):
                    return _end(now, Ending("max_iterations", happened))
            made += 1
            answer = await next_answer(now)
            if isinstance(answer, Ending):
                return _end(now, answer)
            now.conversation.add_answer(answer.message)
            if answer.message.tool_calls:
                results = await call_tools(now, answer, answer.message.tool_calls)
                circle = repeats.add(answer.message.tool_calls, results)
                if circle:
                    calls = quote(", ".join(circle), MAX_QUOTED_CHARS)
                    happened = (
                        f"the model goes in circles: it has called {calls} {TIMES} times in a row,"
                        " with the same results"
                    )
                    if not await self._may_go_on(now, "question", happened):
                        return _end(now, Ending("loop_detected", happened))
                continue
            # a child fires no `stop`: the hook is about the answer that the user sees
            go_on = await now.turn.stop() if now.turn.agent_depth == 0 else None
            if go_on is None:
                return None
            now.display.notice("info", f"{', '.join(now.turn.continued_by)} goes on: {go_on}")
            now.conversation.add_user(go_on)

    async def _may_go_on(
        self, now: AgentTurn, kind: Literal["max_iterations", "question"], happened: str
    ) -> bool:
        """Pause and ask the user whether to go on.

        A child agent ends without a question: its parent decides.
        """
        if now.turn.agent_depth > 0:
            now.tell("warning", f"{happened}; the child agent ends")
            return False
        prompt = f"{happened}. Go on?"
        asks = None
        if self._person is not None:
            asks = self._person.go_on
            # plugins are told; the user sees the question instead
            now.turn.session.notification("warning", happened)
        choice = await now.turn.decide(kind, prompt, asks)
        if choice.why:
            now.tell("warning", f"{happened}; the turn ends, for {choice.why}")
        return choice.allowed

    def _with_delegate(self, now: AgentTurn) -> AgentTurn:
        """The agent with the tool `delegate`, unless it is too deep.

        If the agent's own tools have that name, they replace it.
        """
        if now.turn.agent_depth >= self._max_depth:
            return msgspec.structs.replace(now, tools=self._tools)

        async def run(arguments: dict[str, Any]) -> ToolResult:
            goal: str = arguments["goal"]
            display = self._display.child(next(self._child_numbers), goal)
            return await delegate(
                now, goal, system=self.conversation.system, display=display, work=self._work
            )

        return msgspec.structs.replace(now, tools={DELEGATE: delegate_tool(run), **self._tools})


def _end(now: AgentTurn, ending: Ending) -> Ending:
    now.turn.finish(ending.outcome)
    return ending
