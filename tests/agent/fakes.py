"""A host, a session and a turn in memory, as the loop uses them.

Each writes down what happens to it.
"""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

import msgspec
import trio

from sliphook.agent.models.base import Piece
from sliphook.agent.models.script import ScriptedReply
from sliphook.agent.models.scripted import ScriptedModel
from sliphook.dispatch.outcome import Context, Reason
from sliphook.session.results import Verdict, result_of
from sliphook_sdk.protocol import (
    LlmFailure,
    Message,
    ModelRoute,
    ModelTool,
    Part,
    ToolCallRequest,
    ToolResult,
    Usage,
)


class Offer(msgspec.Struct):
    name: str
    description: str = ""
    input_schema: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object"})
    plugin: str = "weather"


class Prompt(msgspec.Struct):
    text: str
    context: list[Context] = []
    denied: bool = False
    reason: str = ""


class Gate(msgspec.Struct):
    model: str | None
    messages: list[Message]
    tools: list[ModelTool]
    denied: bool = False
    reason: str = ""
    context: list[Context] = []
    substitute: Message | None = None
    substituted_by: str | None = None
    usage: Usage = Usage()
    finish_reason: str | None = None
    route: ModelRoute | None = None
    routed_by: str | None = None
    api_key: str | None = None
    asks_again: bool = False


class ToolOutcome(msgspec.Struct):
    status: str
    result: ToolResult
    context: list[Context] = []
    duration_ms: float = 0.0
    call_id: str = "c-1"
    denied_by: tuple[Reason, ...] = ()

    def text(self) -> str:
        return "\n\n".join([self.result.content, *(context.labelled() for context in self.context)])

    def in_parts(self) -> list[Part] | None:
        return list(self.result.parts) if self.result.parts else None


Tool = Callable[[dict[str, Any]], Awaitable[ToolOutcome]]


class FakeHost:
    """Offers `tools`, which the turn calls."""

    def __init__(self, **tools: Tool) -> None:
        self.offered = tools

    def tools(self, session_id: str | None = None) -> list[Offer]:
        assert session_id == "s-1"
        return [Offer(name) for name in self.offered]


class FakeSession:
    """One turn at a time.

    `gates` changes what comes of `pre_llm_call`, `stops` is what the stop hook says, in order.
    """

    def __init__(
        self, host: FakeHost, *, prompt: Prompt | None = None, start: Sequence[Context] = ()
    ) -> None:
        self.session_id = "s-1"
        self.host = host
        self.prompt = prompt
        self.start = list(start)
        self.gates: list[Callable[[Gate], Gate]] = []
        self.stops: list[str] = []
        self.injected: list[Context] = []
        self.log: list[tuple[Any, ...]] = []
        self.turns: list[FakeTurn] = []

    def turn(self, text: str, *, source: str = "user") -> FakeTurn:
        self.turns.append(FakeTurn(self, text))
        return self.turns[-1]

    async def ready(self) -> list[Context]:
        return self.start

    def take_injected(self) -> list[Context]:
        taken, self.injected = self.injected, []
        return taken

    def notification(self, level: str, message: str, source: str = "agent") -> None:
        self.log.append(("notification", level, message))


class FakeTurn:
    """Leaves by `interrupt` as the real turn does: the block is cancelled and stops Cancelled."""

    def __init__(self, session: FakeSession, text: str) -> None:
        self.outcome = "completed"
        self.session = session
        self.agent_depth = 0
        self.submitted_by: str | None = None
        self.tools_begun: set[str] = set()
        self.continued_by = ("eager",)
        self._session = session
        self._text = text
        self._scope = trio.CancelScope()
        self._say = session.log.append

    async def __aenter__(self) -> FakeTurn:
        self._scope.__enter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        if self._scope.cancel_called:
            self.outcome = "interrupted"
        self._say(("turn_end", self.outcome))
        return self._scope.__exit__(exc_type, exc, trace)

    def interrupt(self) -> None:
        self._scope.cancel()

    def finish(self, outcome: str) -> None:
        self.outcome = outcome

    async def submit(self) -> Prompt:
        await trio.lowlevel.checkpoint()
        prompt = self._session.prompt or Prompt(self._text)
        if prompt.denied:
            self.finish("denied")
        return prompt

    async def pre_llm_call(
        self,
        *,
        provider: str,
        model: str,
        messages: list[Message],
        tools: list[ModelTool],
        route: ModelRoute,
        attempt: int,
        failure: LlmFailure | None,
        on_text: Callable[[str], None],
    ) -> Gate:
        await trio.lowlevel.checkpoint()
        if attempt == 1:
            self._say(("pre_llm_call", provider, model, [tool.name for tool in tools]))
        gate = Gate(model=model, messages=messages, tools=tools, route=route)
        if attempt > 1:
            return gate
        return self._session.gates.pop(0)(gate) if self._session.gates else gate

    def post_llm_call(
        self,
        *,
        provider: str,
        model: str,
        response: Message,
        finish_reason: str | None,
        usage: Usage,
        duration_ms: float,
        substituted_by: str | None = None,
        routed_by: str | None = None,
    ) -> None:
        self._say(
            (
                "post_llm_call",
                model,
                response,
                finish_reason,
                usage,
                round(duration_ms),
                substituted_by,
            )
        )

    def llm_call_failed(
        self, *, attempt: int, kind: str, status: int | None, message: str, will_retry: bool
    ) -> None:
        self._say(("llm_call_failed", attempt, kind, status, message, will_retry))

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        model_call_id: str | None = None,
        run: Callable[[dict[str, Any]], Awaitable[object]] | None = None,
        input_schema: dict[str, Any] | None = None,
        tool_kind: str | None = None,
        origin: str = "agent",
        ask: bool = False,
    ) -> ToolOutcome:
        self._say(("call_tool", name, arguments, model_call_id, input_schema))
        if model_call_id is not None:
            self.tools_begun.add(model_call_id)
        if run is None:
            return await self._session.host.offered[name](arguments)
        result = await run(arguments)
        return ToolOutcome("ok", result_of(result))

    async def decide(
        self, kind: str, prompt: str, asks: Callable[[str], Awaitable[bool]] | None
    ) -> Verdict:
        await trio.lowlevel.checkpoint()
        self._say(("decide", kind, prompt))
        return Verdict(allowed=False, by="none", why="nobody can be asked")

    async def stop(self) -> str | None:
        await trio.lowlevel.checkpoint()
        self._say(("stop",))
        return self._session.stops.pop(0) if self._session.stops else None


class RecordingModel(ScriptedModel):
    """A scripted model that keeps what it was asked."""

    def __init__(self, *replies: ScriptedReply) -> None:
        super().__init__(replies)
        self.asked: list[list[Message]] = []
        self.offered: list[list[str]] = []
        self.models: list[str | None] = []
        self.parameters: list[Mapping[str, Any] | None] = []

    @asynccontextmanager
    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[ModelTool],
        *,
        model: str | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[AsyncIterator[Piece]]:
        self.asked.append(list(messages))
        self.offered.append([tool.name for tool in tools])
        self.models.append(model)
        self.parameters.append(parameters)
        async with super().stream(messages, tools, model=model) as pieces:
            yield pieces


class RecordingDisplay:
    """Keeps what is shown."""

    def __init__(self) -> None:
        self.shown: list[tuple[Any, ...]] = []
        self.children: list[RecordingDisplay] = []

    def text(self, delta: str) -> None:
        self.shown.append(("text", delta))

    def text_end(self) -> None:
        self.shown.append(("text_end",))

    def tool_started(self, call: ToolCallRequest) -> None:
        self.shown.append(("started", call.name, call.arguments))

    def tool_ended(
        self, call: ToolCallRequest, status: str, result: str, duration_ms: float | None
    ) -> None:
        self.shown.append(("ended", call.name, status, result))

    def denied(self, what: str, reason: str) -> None:
        self.shown.append(("denied", what, reason))

    def notice(self, level: str, message: str) -> None:
        self.shown.append(("notice", level, message))

    def text_abandoned(self) -> None:
        self.shown.append(("text_abandoned",))

    def child(self, number: int, goal: str) -> RecordingDisplay:
        self.shown.append(("child", number, goal))
        self.children.append(RecordingDisplay())
        return self.children[-1]
